"""The location of a model: an embedded one, a folder, or the hub, whose files come as one folder of one commit."""

from pathlib import Path

from headscope.corpora.remote import Trouble, trouble_of
from headscope.errors import ModelError
from headscope.installing import EMBEDDED, EMBEDDED_MODELS, embedded_package, how_to_install, how_to_install_companion
from headscope.models.folder.check import check_folder
from headscope.models.folder.weight_files import WeightFiles
from headscope.visible import shown

_TOKENIZER_FILES = ["*.json", "*.txt", "*.model", "*.spm", "bpe.codes", "prophetnet.tokenizer"]
_WEIGHTS = ["*.safetensors"]
# Copies of the same weights in other formats, and files of other tools.
_LEFT_OUT = ["*/*", "*.fp16.safetensors", "*.fp32.safetensors", "flax_*", "tf_*"]
_TROUBLES: dict[Trouble, str] = {
    "revision": "the hub has {name} but no revision {revision}; look up its branches, tags and commits",
    "permission": "{name} asks for permission: accept its terms on its hub page and run `hf auth login`",
    "name": "{quoted} is neither a folder nor a hub name; give a folder with config.json, or a hub name as org/name",
    "repository": "the hub has no model {name}; give its full name, as google-bert/bert-base-uncased",
    "away": "the hub cannot be reached, and {name} is not in its cache; what works offline: no --model (the embedded "
    "headscope-minilm), a local folder, or a model fetched before",
}


def fetch(name: str, *, revision: str | None = None, weights: bool = True) -> Path:
    """Return the folder of a hub model, fetched now or before; its name is the commit.

    Only safetensors weights and the tokenizer's and configuration's files are fetched. If the hub cannot be
    reached, files in the cache are used.

    Args:
        name: `org/name`.
        revision: branch, tag or commit; the main branch if None.
        weights: whether the weights are needed.

    Raises:
        ModelError: no such model or revision, no permission, or the hub cannot be reached and the model was not
            fetched before.
    """
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            name,
            revision=revision,
            allow_patterns=_TOKENIZER_FILES + (_WEIGHTS if weights else []),
            ignore_patterns=_LEFT_OUT,
        )
    except Exception as error:
        trouble = trouble_of(error)
        if trouble is None:  # a full disk, a cache without rights
            raise
        sentence = _TROUBLES.get(trouble, _TROUBLES["away"])
        raise ModelError(sentence.format(name=name, quoted=shown(repr(name)), revision=revision)) from error
    return Path(folder)


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
