"""The corpora of a run, opened and hashed: its text and the annotated corpora; and the overlap of its treebanks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.errors import OptionError
from headscope.installing import demo_text
from headscope.scans.declarations.option import UNSET
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.annotated import AnnotatedCorpus, AnnotatedText, GapCorpus, mention_corpora
from headscope.scans.prepare.text_corpus import TextCorpus, TextInMemory
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


def shared_files(train: Mapping[str, str], evaluated: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of files, one of each treebank, that contain the same sentences.

    Args:
        train, evaluated: names by hash, from `FileContents.names`.
    """
    return [(name, evaluated[key]) for key, name in train.items() if key in evaluated]


def check_overlap(train: Mapping[str, str], evaluated: Mapping[str, str]) -> None:
    """Check that probes are not evaluated on their training data; arguments as in `shared_files`.

    Raises:
        OptionError: both treebanks, or a file of each, contain the same sentences; the message names them.
    """
    for first, second in shared_files(train, evaluated):
        which = f"{first}, in both" if first == second else f"{first} and {second}"
        raise OptionError(
            f"--treebank-train and --treebank hold the same sentences ({which}): probes would be measured on their "
            "training data; give one of the two other files, or --allow-overlap to measure them all the same"
        )


def overlap_facts(
    train: Iterable[Sequence[str]], evaluated: Iterable[Sequence[str]], files: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Return the manifest's facts on evaluated sentences that are also training sentences, word for word.

    Args:
        train: words of each training sentence.
        evaluated: words of each evaluated sentence.
        files: result of `shared_files`.
    """
    trained = set(map(tuple, train))
    sentences = [tuple(words) for words in evaluated]
    shared = [words for words in sentences if words in trained]
    words, all_words = sum(map(len, shared)), sum(map(len, sentences))
    return {
        "sentences": len(shared),
        "share": len(shared) / max(1, len(sentences)),
        "words": words,
        "words_share": words / max(1, all_words),
        # Shown to the user, so without folders, as everywhere in a manifest.
        "files": [[Path(name).name for name in pair] for pair in files],
    }


def overlap_line(facts: Mapping[str, Any]) -> str:
    """Return a sentence on the evaluated sentences that are also training sentences, from `overlap_facts`."""
    number = int(facts["sentences"])
    if not number:
        return "no measured sentence is in train"
    shares = f"{_percent(facts['share'])}, {_percent(facts['words_share'])} of the words"
    verb = "is" if number == 1 else "are"
    said = f"{number:,} of the measured sentences ({shares}) {verb} in train too, word for word"
    same = ", ".join(str(pair[1]) for pair in facts["files"])
    return f"{said}; train holds the sentences of {same}, which --allow-overlap let in" if same else said


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.0005 else "under 0.1%"
