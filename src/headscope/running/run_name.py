"""The default folder of a run: it is named after the corpora and the model, and never holds another run."""

import re
from itertools import count
from pathlib import Path

from headscope.corpora.hub_names import FORM
from headscope.corpora.opening import is_pipe
from headscope.declarations.run_options import RunOptions
from headscope.errors import InputError
from headscope.storage.places import contents
from headscope.study.manifest import read_manifest

_LONGEST = 60  # characters of each part
_ENDING = re.compile(r"(\.(txt|jsonl?|csv|tsv|parquet|conllu?|conllup))?(\.gz)?$", re.IGNORECASE)


def run_name(options: RunOptions, model: str) -> str:
    """Return the folder name of a run: `my-headscope-minilm` for `my.txt` and the embedded model.

    Args:
        options: options of the run; its first file gives the name, followed by the number of further files.
        model: name of the model.
    """
    read = options.text or options.treebank or options.coref or (() if options.maps is None else (str(options.maps),))
    first = _plain(_source(read[0])) if read else "demonstration"
    more = f"-and-{len(read) - 1}-more" if len(read) > 1 else ""
    return f"{first}{more}-{_plain(Path(model).name)}"


def free_folder(name: str, signature: str, *, beside: Path = Path()) -> Path:
    """Return the folder `name`, or `name-2`, `name-3` ...: the first that is free or holds this same run.

    Args:
        name: name from `run_name`.
        signature: id of the run; a stopped run is resumed in its folder.
        beside: parent folder.
    """
    for number in count(1):
        folder = beside / (name if number == 1 else f"{name}-{number}")
        if _is_free(folder, signature):
            return folder
    raise AssertionError("numbers do not end")


def _is_free(folder: Path, signature: str) -> bool:
    if not folder.exists() and not folder.is_symlink():
        return True
    if not folder.is_dir():
        return False
    try:
        sealed = read_manifest(folder)
    except InputError:
        return False
    if sealed is None:
        return not any(contents(folder))
    return sealed.whole and sealed.content["signature"].get("id") == signature


def _source(name: str) -> str:
    """Return the name of a corpus: its file without folder and ending, or `standard-input` if it has no name."""
    if name == "-" or is_pipe(name):
        return "standard-input"
    path = Path(name)
    if FORM.fullmatch(name) and not path.exists():  # a corpus by name, such as ud:en_ewt/test
        return name
    return _ENDING.sub("", path.resolve().name if path.name in ("", "..") else path.name)


def _plain(name: str) -> str:
    """Keep only the characters of a name that every file system and shell accepts."""
    return re.sub(r"[^\w.]+", "-", name)[:_LONGEST].strip("-.") or "run"
