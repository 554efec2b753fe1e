"""Look up the files and folders that a user named before torch is imported, which takes seconds."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headscope.corpora.by_name import is_remote
from headscope.corpora.reading import read_corpus
from headscope.corpora.remote import is_address
from headscope.corpora.trees.treebank import coreference_files, read_coreference, read_treebank
from headscope.errors import OptionError
from headscope.maps.index import INDEX
from headscope.maps.index_reader import read_index
from headscope.models.folder.check import ADAPTER, check_folder
from headscope.models.folder.files import MOST_TOKENIZER, read_object
from headscope.models.locating import local_folder
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.declarations.user_functions import check_vectors

_NAMES = ("text", "treebank", "treebank_train", "coref", "column", "maps", "vectors", "model", "other")


def check_option_names(options: Any) -> None:
    """Check the files of a run's or a training's options, and the folder of its model; see `check_names`.

    Raises:
        HeadscopeError: as in `check_names`; or inputs are longer than a model in a folder can read.
    """
    check_names(**{name: value for name in _NAMES if (value := getattr(options, name, None)) is not None})
    if not isinstance(options, RunOptions) or options.max_length is None:
        return
    # Saved maps have their own lengths, and a model in memory is checked when it is examined.
    if options.maps is None and options.loaded_model is None:
        _check_length(options.max_length, options.model)


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
    other: str | None = None,
) -> None:
    """Raise an error for a missing or empty file, or a missing folder.

    Nothing else is read, and nothing is fetched, so names on a hub are not checked.

    Args:
        text, treebank, treebank_train, coref: files and folders, as the options take them.
        column: the column of tables; with it, a folder of text means its tables as well.
        maps: folder of saved maps.
        vectors: file of word vectors.
        model: hub name or folder; None for the embedded model.
        other: the same of the model that is compared with it, or the folder of an adapter; None for none.

    Raises:
        HeadscopeError: a name is missing or unusable; the error is the one that its reader would raise.
    """
    if files := _local(text):
        _check_files(files, partial(read_corpus, column=column))
    for trees in filter(None, (_local(treebank), _local(treebank_train))):
        _check_files(trees, read_treebank)
    if coref:
        _check_files(coref, _coreference)
    if maps is not None and not (maps / INDEX).is_file():
        read_index(maps)
    if vectors is not None:
        check_vectors(vectors)
    for name in (model, other):
        located = None if name is None else local_folder(name)
        if located is None or (located[0] / "config.json").is_file():
            continue
        if name is model or not (located[0] / ADAPTER).is_file():
            check_folder(located[0], weights=False, name=str(name))


def _check_files(paths: Sequence[str], read: Callable[[Sequence[str]], Iterable[Any]]) -> None:
    """Raise the error of a reader for a file that is missing or empty."""
    read(paths)
    for path in paths:
        if path != "-" and Path(path).is_file() and not Path(path).stat().st_size:
            next(iter(read([path])), None)


def _coreference(paths: Sequence[str]) -> Iterable[Any]:
    """Return the documents of coreference files; GAP's have none."""
    return read_coreference(paths) if coreference_files(paths).annotated else ()


def check_longest(max_length: int, most: int, *, name: str) -> None:
    """Raise an error if inputs are longer than a model can read.

    Raises:
        OptionError: the length is above `most`, the number of tokens that the model named `name` can read.
    """
    if max_length > most:
        raise OptionError(f"--max-length {max_length} is more than {name} can read; expected at most {most} tokens")


def _check_length(max_length: int, model: str | None) -> None:
    """Check a length against the files of a model in a folder; what they leave open is checked with the model."""
    folder, name = local_folder(model) or (None, "")
    if folder is None:
        return
    limits = (("config.json", "max_position_embeddings"), ("tokenizer_config.json", "model_max_length"))
    numbers = [
        read_object(folder / file, most=MOST_TOKENIZER).get(key) for file, key in limits if (folder / file).is_file()
    ]
    most = min(
        (int(number) for number in numbers if isinstance(number, int | float) and number > 0), default=max_length
    )
    check_longest(max_length, most, name=name)


def _local(paths: Sequence[str]) -> list[str]:
    """Return the local paths: those that are neither hub names nor addresses."""
    return [path for path in paths if not is_address(path) and not is_remote(path)]
