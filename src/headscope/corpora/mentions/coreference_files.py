"""Coreference corpora of all supported formats: classification of the files, and their documents in order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headscope.corpora.annotation import AnnotatedDocument
from headscope.corpora.document import distinct
from headscope.corpora.files import Paths, expand, open_lines
from headscope.corpora.mentions.conll2012 import CONLL2012_SUFFIXES, conll2012_documents
from headscope.corpora.mentions.gap_rows import GAP_SUFFIXES
from headscope.corpora.opening import is_pipe, source_name
from headscope.corpora.trees.conllu import conllu_file
from headscope.errors import InputError

SUFFIXES = (".conllu", *CONLL2012_SUFFIXES, *GAP_SUFFIXES)
GIVE_COREFERENCE = (
    "give CoNLL-U with Entity= (.conllu), CoNLL-2012 (.conll, .gold_conll), GAP (.tsv), or a directory of them"
)


@dataclass(frozen=True, kw_only=True)
class CoreferenceFiles:
    """The coreference files that a user gave, by the kind of evaluation.

    Attributes:
        annotated: files whose documents have mentions of entities, in order.
        gap: files of GAP, in order.
    """

    annotated: tuple[Path, ...]
    gap: tuple[Path, ...]


def coreference_files(paths: Paths) -> CoreferenceFiles:
    """Return the coreference files of `paths`.

    A directory is replaced by all its files with a known ending: `.conllu`, CoNLL-2012's (`.conll`,
    `.gold_conll`, `.v4_gold_conll`, `.auto_conll`, `.v4_auto_conll`) and GAP's `.tsv`, also gzipped (`.gz`).

    Raises:
        InputError: as in `files.expand`; or a file has another ending, standard input is given, or no path at all.
    """
    annotated: list[Path] = []
    gap: list[Path] = []
    for path in expand(paths, suffixes=SUFFIXES, what="coreference file", give=GIVE_COREFERENCE):
        if path == "-":
            raise InputError(f"coreference is read from files, whose endings say what they are; {GIVE_COREFERENCE}")
        ending = _ending(path)
        if not ending:
            raise InputError(
                f"{source_name(path)}: expected a name that ends in {', '.join(SUFFIXES)} (or that with .gz); "
                f"{'write the pipe to a file named' if is_pipe(path) else 'rename the file'} by its format"
            )
        (gap if ending in GAP_SUFFIXES else annotated).append(path)
    if not annotated and not gap:
        raise InputError(f"no coreference file: {GIVE_COREFERENCE}")
    return CoreferenceFiles(annotated=tuple(annotated), gap=tuple(gap))


def read_coreference(paths: Paths) -> Iterator[AnnotatedDocument]:
    """Yield the documents of the annotated files among `paths`, in order, with ids unique over them all.

    Raises:
        InputError: as in `coreference_files` and the readers; or a CoNLL-U file has no `Entity=` and so no coreference;
            or a CoNLL-2012 document is in two files.
    """
    yield from distinct(_documents(coreference_files(paths).annotated))


def _documents(files: Iterable[Path]) -> Iterator[AnnotatedDocument]:
    names: dict[str, str] = {}
    for path in files:
        if _ending(path) == ".conllu":
            yield from _with_entities(path)
        else:
            yield from conll2012_documents(open_lines(path), name=source_name(path), names=names)


def _with_entities(path: Path) -> Iterator[AnnotatedDocument]:
    """Yield a CoNLL-U file's documents, holding them back until one has a mention or an unmatched bracket."""
    without_mentions: list[AnnotatedDocument] = []
    has_mentions = False
    for document in conllu_file(path):
        has_mentions = has_mentions or bool(document.mentions or document.unmatched)
        without_mentions.append(document)
        if has_mentions:
            yield from without_mentions
            without_mentions.clear()
    if not has_mentions:
        raise InputError(
            f"{source_name(path)} has no Entity= in its last column: expected coreference as in GUM or CorefUD; "
            "give it as a treebank, or give a file with Entity="
        )


def _ending(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    return next((ending for ending in SUFFIXES if name.endswith(ending)), "")
