"""Look up the files and folders that a user named before torch is imported, which takes seconds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.corpora.fetch.by_name import is_remote
from headscope.corpora.fetch.from_url import is_address
from headscope.corpora.mentions.coreference_files import coreference_files
from headscope.corpora.reading import read_corpus
from headscope.corpora.trees.treebank import read_treebank
from headscope.declarations.vectors_file import check_vectors
from headscope.maps.index import INDEX
from headscope.maps.index_reader import read_index
from headscope.models.folder.check import check_folder
from headscope.models.loading.locating import local_folder

_NAMES = ("text", "treebank", "treebank_train", "coref", "column", "maps", "vectors", "model")


def check_option_names(options: Any) -> None:
    """Check the files of a run's or a training's options, and the folder of its model; see `check_names`."""
    check_names(**{name: value for name in _NAMES if (value := getattr(options, name, None)) is not None})


def check_names(
    *,
    text: Sequence[str] = (),
    treebank: Sequence[str] = (),
    treebank_train: Sequence[str] = (),
    coref: Sequence[str] = (),
    column: str | None = None,
    maps: Path | None = None,
    vectors: Path | None = None,
    model: str | None = None,
) -> None:
    """Raise an error for a missing file or folder; nothing is read or fetched, so names on a hub are not checked.

    Args:
        text, treebank, treebank_train, coref: files and folders, as the options take them.
        column: the column of tables; with it, a folder of text means its tables as well.
        maps: folder of saved maps.
        vectors: file of word vectors.
        model: hub name or folder; None for the embedded model.

    Raises:
        HeadscopeError: a name is missing or unusable; the error is the one that its reader would raise.
    """
    if files := _local(text):
        read_corpus(files, column=column)
    for trees in filter(None, (_local(treebank), _local(treebank_train))):
        read_treebank(trees)
    if coref:
        coreference_files(coref)
    if maps is not None and not (maps / INDEX).is_file():
        read_index(maps)
    if vectors is not None:
        check_vectors(vectors)
    located = None if model is None else local_folder(model)
    if located is not None and not (located[0] / "config.json").is_file():
        check_folder(located[0], weights=False, name=str(model))


def _local(paths: Sequence[str]) -> list[str]:
    """Return the local paths: those that are neither hub names nor addresses."""
    return [path for path in paths if not is_address(path) and not is_remote(path)]
