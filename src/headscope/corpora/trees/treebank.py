"""Treebanks from any mixture of files and formats."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from headscope.corpora.annotation import AnnotatedDocument
from headscope.corpora.files import InputFile, Paths, expand, open_text
from headscope.corpora.formats import TREES, tree_format
from headscope.corpora.identity import distinct
from headscope.corpora.opening import is_pipe, source_name
from headscope.errors import InputError

GIVE_TREEBANK = (
    "give a .conllu file, a .txt file of word head-label lines, a .json file with words, heads and relns, or a "
    "directory of them"
)
SUFFIXES = tuple(TREES)


def read_treebank(paths: Paths, *, left_out: Counter[str] | None = None) -> Iterator[AnnotatedDocument]:
    """Return the documents of treebanks of any format, in order, with ids that are unique over all of them.

    The ending, without a final `.gz`, gives the format: `.conllu` is CoNLL-U (`conllu.read_conllu`), `.json` and
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
        name, form = source_name(file), tree_format(form_of(file))
        for document in form.documents(open_text(file, expected=form.expected), name=name, left_out=left_out):
            yield replace(document, file=(number, name))
