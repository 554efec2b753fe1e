"""The location of a model: an embedded one, a folder, or the hub."""

from pathlib import Path

from headscope.embedded import EMBEDDED, EMBEDDED_MODELS, embedded_package
from headscope.errors import ModelError
from headscope.installing import how_to_install, how_to_install_companion
from headscope.models.folder.check import check_folder
from headscope.models.folder.shown import shown
from headscope.models.folder.weight_files import WeightFiles
from headscope.models.loading.hub import fetch


def embedded_folder(name: str | None = None) -> Path:
    """Return the folder of an embedded model, given its name; None for the default one.

    Raises:
        ModelError: the package with the model is not installed.
    """
    try:
        package = embedded_package(name or EMBEDDED)
    except ImportError as error:
        if name is None:
            raise ModelError(
                f"no model was named and the embedded one is not installed; {how_to_install('demo')}, or give --model "
                "a hub name or a local folder"
            ) from error
        raise ModelError(f"{name} is a package of its own; {how_to_install_companion(name)}") from error
    return Path(package.folder())


def is_embedded(name: str | Path) -> bool:
    """Return True if a name is that of an embedded model; folders are given by paths, such as `./headscope-decoder`."""
    return name in EMBEDDED_MODELS


def local_folder(name: str | Path | None) -> tuple[Path, str] | None:
    """Return the folder of a model on this machine, and the model's name; None for a name on the hub.

    Raises:
        ModelError: the name is empty, or belongs to a folder that does not exist.
    """
    called = str(name or EMBEDDED)
    if name is None or is_embedded(name):
        return embedded_folder(None if name is None else called), called
    if not str(name).strip():
        raise ModelError(
            f"{shown(repr(name))} names no model; give a hub name as org/name, or a folder with config.json (leave "
            "--model out for the embedded one)"
        )
    if _is_folder(name):
        return Path(name), Path(name).resolve().name
    if called.startswith((".", "/", "~")) or called.count("/") > 1:
        raise ModelError(f"no model folder at {shown(name)}; give a folder with config.json, or a hub name as org/name")
    return None


def locate(
    name: str | Path | None, *, revision: str | None, weights: bool = True
) -> tuple[Path, str, WeightFiles | None]:
    """Return the folder of a model after checking it, the model's name, and a summary of its weights.

    Raises:
        ModelError: the model is missing, the folder cannot be loaded, or the hub cannot be reached.
    """
    called = str(name or EMBEDDED)
    folder, label = local_folder(name) or (fetch(called, revision=revision, weights=weights), called)
    return folder, label, check_folder(folder, weights=weights, name=called)


def origin_of(name: str | Path | None) -> str:
    """Return the origin of a model that was found: `embedded`, `folder` or `hub`."""
    if name is None or is_embedded(name):
        return "embedded"
    return "folder" if _is_folder(name) else "hub"


def _is_folder(name: str | Path) -> bool:
    try:
        return Path(name).is_dir()
    except OSError:  # a name that no file system takes
        return False
