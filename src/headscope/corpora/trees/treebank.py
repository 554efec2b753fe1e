"""Files of annotated documents: trees read from any format and written in one, and coreference files of all formats."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.corpora.document import distinct
from headscope.corpora.files import InputFile, Paths, expand, open_lines, open_text
from headscope.corpora.formats import TREES, load_format
from headscope.corpora.mentions.conll2012 import CONLL2012_SUFFIXES, conll2012_documents
from headscope.corpora.mentions.gap_rows import GAP_SUFFIXES
from headscope.corpora.opening import is_pipe, source_name
from headscope.corpora.trees.conllu import conllu_file
from headscope.errors import InputError, OptionError

GIVE_TREEBANK = (
    "give a .conllu file, a .txt file of word head-label lines, a .json file with words, heads and relns, or a "
    "directory of them"
)
SUFFIXES = tuple(TREES)
FORMS = (".conllu", ".txt", ".json")
# Characters that would end a column, a line, or the reading of a file.
_UNFIT_FOR_COLUMN = re.compile(r"[\t\n\r\0]+")
# The same for the format of lines: white space of str.split, and a mark that readers drop at the beginning.
_UNFIT_FOR_LINE = re.compile(r"[\s\0\ufeff]+")
COREFERENCE_SUFFIXES = (".conllu", *CONLL2012_SUFFIXES, *GAP_SUFFIXES)
GIVE_COREFERENCE = (
    "give CoNLL-U with Entity= (.conllu), CoNLL-2012 (.conll, .gold_conll), GAP (.tsv), or a directory of them"
)


def read_treebank(paths: Paths, *, left_out: Counter[str] | None = None) -> Iterator[AnnotatedDocument]:
    """Return the documents of treebanks of any format, in order, with ids that are unique over all of them.

    The ending, without a final `.gz`, gives the format: `.conllu` is CoNLL-U (`conllu.conllu_documents`), `.json` and
    `.jsonl` are the original's features with `words`, `heads` and `relns`, one document per entry; any other file has
    `word head-label` lines (`relation_lines.relation_line_documents`). A directory is replaced by its `.conllu` files,
    or if there are none by its other files with these endings and `.txt`, because treebanks are distributed together
    with licenses and plain text. Standard input is CoNLL-U, and so is a pipe without such an ending (`<(...)`). Files
    are opened one after another as the documents are drawn.

    Args:
        paths: files, directories, or `-`; they are checked at once, before the first document is drawn.
        left_out: counter of parts of the formats that a document cannot hold, by name, filled as documents are drawn.

    Raises:
        InputError: no path is given, a path does not exist, a reader raises it, or an entry's lists are not a tree over
            its words.
    """
    path_list = [paths] if isinstance(paths, str | Path) else paths
    list(expand([path for path in path_list if str(path) == "-"]))  # raises an error for a repeated standard input
    files = [file for path in path_list for file in _files_of(path)]
    if not files:
        raise InputError(f"the treebank has no file: {GIVE_TREEBANK}")
    return distinct(_documents(files, Counter() if left_out is None else left_out))


def _files_of(path: str | Path) -> list[InputFile]:
    files = list(expand(path, suffixes=SUFFIXES, what="treebank", give=GIVE_TREEBANK))
    return [file for file in files if form_of(file) == ".conllu"] or files


def form_of(path: str | Path) -> str:
    """Return the ending that gives a file's format, in lower case and without `.gz`; a nameless pipe is CoNLL-U."""
    ending = Path(Path(path).name.lower().removesuffix(".gz")).suffix
    return ".conllu" if str(path) == "-" or (ending not in SUFFIXES and is_pipe(path)) else ending


def _documents(files: Iterable[InputFile], left_out: Counter[str]) -> Iterator[AnnotatedDocument]:
    for number, file in enumerate(files):
        name, form = source_name(file), load_format(TREES, form_of(file))
        for document in form.documents(open_text(file, expected=form.expected), name=name, left_out=left_out):
            yield replace(document, file=(number, name))


def treebank_text(documents: Iterable[AnnotatedDocument], *, form: str) -> Iterator[str]:
    """Yield a treebank's text, in pieces.

    Args:
        documents: documents whose sentences all have trees.
        form: `.conllu`, `.txt` (`word head-label` lines) or `.json` (objects with `words`, `heads` and `relns`).

    Raises:
        OptionError: `form` is not one of these.
    """
    if form not in FORMS:
        raise OptionError(f"expected one of {', '.join(FORMS)} as the form of a treebank, found {form!r}")
    marks, before = False, "[\n"
    for document in documents:
        if form == ".conllu":
            # Before the first mark each sentence is a document, so no marks are needed until a document has several.
            marks = marks or len(document.sentences) > 1
            yield to_conllu(document, newdoc=marks)
            continue
        for sentence in document.sentences:
            yield to_relation_lines(sentence) if form == ".txt" else before + to_entry(sentence)
            before = ",\n"
    if form == ".json":
        yield "[]\n" if before == "[\n" else "\n]\n"


def to_conllu(document: AnnotatedDocument, *, newdoc: bool = True) -> str:
    """Return a document as CoNLL-U: words, tags (as universal ones), heads, relations, spaces and the original text.

    `newdoc` controls whether its beginning is marked. Tabs and line ends within a word become `_`. Mentions are not
    written.
    """
    out = ["# newdoc\n"] if newdoc else []
    for sentence in document.sentences:
        if sentence.text:
            out.append(f"# text = {_UNFIT_FOR_COLUMN.sub(' ', sentence.text)}\n")
        tags = sentence.tags or ("_",) * len(sentence)
        spaces = sentence.spaces or (True,) * len(sentence)
        rows = zip(sentence.words, tags, sentence.heads, sentence.relations, spaces, strict=True)
        for number, (word, tag, head, relation, apart) in enumerate(rows, 1):
            form, follows = fit_word(word, form=".conllu"), "_" if apart else "SpaceAfter=No"
            out.append(f"{number}\t{form}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t{follows}\n")
        out.append("\n")
    return "".join(out)


def to_relation_lines(sentence: AnnotatedSentence) -> str:
    """Return a sentence as `word head-label` lines with a blank line after them.

    White space within a word becomes `_`, because the format cannot represent it.
    """
    rows = zip(sentence.words, sentence.heads, sentence.relations, strict=True)
    lines = (f"{fit_word(word, form='.txt')} {head}-{relation}\n" for word, head, relation in rows)
    return "".join(lines) + "\n"


def to_entry(sentence: AnnotatedSentence) -> str:
    """Return a sentence as the JSON of an entry of the original's features."""
    return json.dumps({"words": sentence.words, "heads": sentence.heads, "relns": sentence.relations})


def fit_word(word: str, *, form: str) -> str:
    """Return a word as a format can represent it, with `_` in place of unsupported white space (and NUL)."""
    if form == ".json":
        return word
    return (_UNFIT_FOR_COLUMN if form == ".conllu" else _UNFIT_FOR_LINE).sub("_", word)


def lost_in(document: AnnotatedDocument, *, form: str) -> Counter[str]:
    """Count the parts of a document that a format cannot represent, by name."""
    lost: Counter[str] = Counter()
    if form != ".conllu":
        lost["tags"] = sum(len(sentence.tags) for sentence in document.sentences)
        as_written = [sentence for sentence in document.sentences if sentence.text or sentence.spaces]
        lost["sentences as they were written"] = len(as_written)
        lost["bounds of documents (each sentence is one of its own)"] = int(len(document.sentences) > 1)
    lost["mentions"] = len(document.mentions)
    lost["brackets of mentions that match no other"] = len(document.unmatched)
    return +lost


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
    for path in expand(paths, suffixes=COREFERENCE_SUFFIXES, what="coreference file", give=GIVE_COREFERENCE):
        if path == "-":
            raise InputError(f"coreference is read from files, whose endings say what they are; {GIVE_COREFERENCE}")
        ending = _ending(path)
        if not ending:
            raise InputError(
                f"{source_name(path)}: expected a name that ends in {', '.join(COREFERENCE_SUFFIXES)} (or that with "
                f".gz); {'write the pipe to a file named' if is_pipe(path) else 'rename the file'} by its format"
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
    yield from distinct(_coreference_documents(coreference_files(paths).annotated))


def _coreference_documents(files: Iterable[Path]) -> Iterator[AnnotatedDocument]:
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
    return next((ending for ending in COREFERENCE_SUFFIXES if name.endswith(ending)), "")
