"""Where a model lies: the embedded one, a folder, or the hub."""

from pathlib import Path

from headscope.errors import ModelError
from headscope.installing import how_to_install
from headscope.models.folder.check import check_folder
from headscope.models.folder.shown import shown
from headscope.models.folder.weight_files import WeightFiles
from headscope.models.hub import fetch

EMBEDDED = "headscope-minilm"


def embedded_folder() -> Path:
    """Return the folder of the embedded default model.

    Raises:
        ModelError: the package that holds it is not installed.
    """
    try:
        import headscope_minilm
    except ImportError as error:
        raise ModelError(
            f"no model was named and the embedded one is not installed; {how_to_install('demo')}, or give --model a "
            "hub name or a local folder"
        ) from error
    folder: Path = headscope_minilm.folder()
    return folder


def locate(
    name: str | Path | None, *, revision: str | None, weights: bool = True
) -> tuple[Path, str, WeightFiles | None]:
    """Return the folder that a model lies in, checked, what to call the model, and what its weights hold.

    Raises:
        ModelError: nothing there, a folder that cannot be loaded, or the hub cannot be reached.
    """
    if name is None:
        folder = embedded_folder()
        return folder, EMBEDDED, check_folder(folder, weights=weights, name=EMBEDDED)
    if not str(name).strip():
        raise ModelError(
            f"{shown(repr(name))} names no model; give a hub name as org/name, or a folder with config.json (leave "
            "--model out for the embedded one)"
        )
    if _is_folder(name):
        found = check_folder(Path(name), weights=weights, name=str(name))
        return Path(name), Path(name).resolve().name, found
    if str(name).startswith((".", "/", "~")) or str(name).count("/") > 1:
        raise ModelError(
            f"no model folder at {shown(name)}; give a folder with config.json, or a hub name as org/name"
        )
    folder = fetch(str(name), revision=revision, weights=weights)
    return folder, str(name), check_folder(folder, weights=weights, name=str(name))


def _is_folder(name: str | Path) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # a name that no file system takes
        return False
