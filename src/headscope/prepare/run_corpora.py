"""The corpora of a run, opened and hashed: its text and the annotated corpora."""

from dataclasses import dataclass
from typing import Any

from headscope.declarations.option import UNSET
from headscope.declarations.run_options import RunOptions
from headscope.errors import OptionError
from headscope.installing import demo_text
from headscope.prepare.annotated import AnnotatedCorpus, AnnotatedText, GapCorpus, mention_corpora
from headscope.prepare.overlap import check_overlap
from headscope.prepare.text_corpus import TextCorpus, TextInMemory
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.visible import count

Text = TextCorpus | TextInMemory | AnnotatedText


@dataclass(frozen=True, kw_only=True)
class RunCorpora:
    """The corpora of a run; None for a corpus that the run does not read or that the files do not contain.

    Attributes:
        text: text on which heads are read.
        treebank: treebank to measure on.
        treebank_train: treebank to train probes on.
        coreference: documents with mentions.
        gap: rows of GAP.
        documents: number of documents in the text; 0 if the run does not read it.
        facts: part of the signature: name and hash of each corpus that is read.
        lines_chosen: note for the user if each line is read as a document because there are few documents.
    """

    text: Text
    treebank: AnnotatedCorpus | None
    treebank_train: AnnotatedCorpus | None
    coreference: AnnotatedCorpus | None
    gap: GapCorpus | None
    documents: int
    facts: dict[str, Any]
    lines_chosen: str | None = None

    def notes(self) -> list[str]:
        """Return notes on the corpora for the user."""
        corpora = (self.text, self.treebank, self.treebank_train, self.coreference, self.gap)
        # A file with trees and mentions is two corpora.
        return list(dict.fromkeys(note for corpus in corpora if corpus is not None for note in corpus.notes()))


def open_corpora(options: RunOptions, *, text_read: tuple[int, str] | None = None) -> RunCorpora:
    """Open the corpora that a run reads, and read each once for its hash.

    Args:
        options: options of the run.
        text_read: number of documents and hash of the text, if it was read before and is not read here.

    Raises:
        InputError: a corpus cannot be read, or the treebanks for training and measuring overlap.
        OptionError: the run reads a text, and no corpus has one.
    """
    annotated: dict[str, Any] = dict.fromkeys(("treebank", "treebank_train", "coreference", "gap"))
    how: dict[str, Any] = {"strict": options.strict_input, "spacing": options.spacing}
    if "treebank" in options.corpora_read:
        annotated["treebank"] = AnnotatedCorpus.treebank(options.treebank, **how)
    if "treebank_train" in options.corpora_read and options.treebank_train:
        annotated["treebank_train"] = AnnotatedCorpus.treebank(options.treebank_train, **how)
    if "coreference" in options.corpora_read:
        annotated["coreference"], annotated["gap"] = mention_corpora(options.coref, **how)
    facts: dict[str, Any] = {
        name: {"name": corpus.name, "hash": corpus.digest()} for name, corpus in annotated.items() if corpus is not None
    }
    train, evaluated = annotated["treebank_train"], annotated["treebank"]
    if train is not None and evaluated is not None and not options.allow_overlap:
        check_overlap(train.files, evaluated.files)
    text, documents = _open_text(options, treebank=evaluated, coreference=annotated["coreference"]), 0
    chosen = None
    if "text" in options.corpora_read:
        documents, digest = text_read or text.digest()
        if _lines_are_better(options, text, documents):
            assert not isinstance(text, AnnotatedText)
            chosen = (
                f"the text has {count(documents, 'document')} and intervals need at least {FEWEST_DOCUMENTS}, so each "
                f"of its {text.lines:,} lines is read as a document; give --documents blocks to keep the blocks "
                "between blank lines"
            )
            text.split_lines()
            documents, digest = text.digest()
        facts = {"name": text.name, "hash": digest, "documents": documents, **facts}
    return RunCorpora(text=text, documents=documents, facts=facts, lines_chosen=chosen, **annotated)


def _lines_are_better(options: RunOptions, text: Text, documents: int) -> bool:
    """Return True if the options do not define documents, and splitting by line gives enough for intervals."""
    is_open = options.documents == UNSET and options.packing in (UNSET, "single") and options.compat is None
    return is_open and documents < FEWEST_DOCUMENTS <= text.lines


def _open_text(options: RunOptions, *, treebank: AnnotatedCorpus | None, coreference: AnnotatedCorpus | None) -> Text:
    """Open the text of the options, else the sentences of the annotated corpora, else the demonstration."""
    as_written = options.compat is not None  # with compat, cuts are drawn from one stream over the corpus
    if options.documents_in_memory:
        in_memory = TextInMemory(options.documents_in_memory, as_written=as_written)
        if options.documents == "lines":
            in_memory.split_lines()
        return in_memory
    if options.text or not (options.treebank or options.coref):
        return TextCorpus(
            options.text or (str(demo_text()),),
            by_line=options.documents == "lines",
            column=options.column,
            labels=options.labels,
            as_written=as_written,
            max_inputs=options.max_inputs,
        )
    candidates = [treebank, None if options.coref == options.treebank else coreference]
    corpora = [corpus for corpus in candidates if corpus is not None]
    if not corpora and "text" in options.corpora_read:
        raise OptionError("GAP has no text to read heads on; give --text too, or use headscope coref")
    return AnnotatedText(corpora)
