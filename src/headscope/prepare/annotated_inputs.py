"""The annotated corpora of a run, opened and hashed."""

from dataclasses import dataclass
from typing import Any

from headscope.declarations.run_options import RunOptions
from headscope.prepare.annotated import AnnotatedCorpus, GapCorpus, has_mentions
from headscope.prepare.overlap import check_overlap


@dataclass(frozen=True, kw_only=True)
class AnnotatedInputs:
    """The annotated corpora of a run; None where the run does not read one, or the files contain none.

    Attributes:
        treebank: to measure on.
        treebank_train: to train probes on.
        coreference: documents with mentions.
        gap: rows of GAP.
        hashes: their part of the signature: name and hash of each corpus.
    """

    treebank: AnnotatedCorpus | None
    treebank_train: AnnotatedCorpus | None
    coreference: AnnotatedCorpus | None
    gap: GapCorpus | None
    hashes: dict[str, dict[str, str]]


def open_annotated(options: RunOptions) -> AnnotatedInputs:
    """Open the annotated corpora that a run reads, and read each once for its hash.

    Raises:
        InputError: a corpus cannot be read, or the treebanks for training and measuring overlap.
    """
    treebank = treebank_train = coreference = gap = None
    how: dict[str, Any] = {"strict": options.strict_input, "spacing": options.spacing}
    if options.reads("treebank"):
        treebank = AnnotatedCorpus.treebank(options.treebank, **how)
    if options.reads("treebank_train") and options.treebank_train:
        treebank_train = AnnotatedCorpus.treebank(options.treebank_train, **how)
    if options.reads("coreference"):
        if has_mentions(options.coref):
            coreference = AnnotatedCorpus.coreference(options.coref, **how)
        gap = GapCorpus.of(options.coref, spacing=options.spacing)
    named = {
        "treebank": treebank,
        "treebank_train": treebank_train,
        "coreference": coreference,
        "gap": gap,
    }
    hashes = {
        name: {"name": corpus.name, "hash": corpus.digest()}
        for name, corpus in named.items()
        if corpus is not None
    }
    if treebank_train is not None and treebank is not None and not options.allow_overlap:
        check_overlap(treebank_train.files, treebank.files)
    return AnnotatedInputs(
        treebank=treebank,
        treebank_train=treebank_train,
        coreference=coreference,
        gap=gap,
        hashes=hashes,
    )
