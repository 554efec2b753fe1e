"""A model's files from the hub, in the hub's cache, as one folder of one commit."""

from pathlib import Path

from headscope.corpora.fetch.hub_trouble import Trouble, trouble_of
from headscope.errors import ModelError
from headscope.models.folder.shown import shown

_TOKENIZER_FILES = ["*.json", "*.txt", "*.model", "*.spm", "bpe.codes", "prophetnet.tokenizer"]
_WEIGHTS = ["*.safetensors"]
# Copies of the same weights in other formats, and files of other tools.
_LEFT_OUT = ["*/*", "*.fp16.safetensors", "*.fp32.safetensors", "flax_*", "tf_*"]


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
        raise ModelError(_sentence(trouble, name, revision)) from error
    return Path(folder)


def _sentence(trouble: Trouble, name: str, revision: str | None) -> str:
    if trouble == "revision":
        return f"the hub has {name} but no revision {revision}; look up its branches, tags and commits"
    if trouble == "permission":
        return f"{name} asks for permission: accept its terms on its hub page and run `hf auth login`"
    if trouble == "name":
        return (
            f"{shown(repr(name))} is neither a folder nor a hub name; give a folder with config.json, or a hub name as "
            "org/name"
        )
    if trouble == "repository":
        return f"the hub has no model {name}; give its full name, as google-bert/bert-base-uncased"
    return (
        f"the hub cannot be reached, and {name} is not in its cache; what works offline: no --model (the embedded "
        "headscope-minilm), a local folder, or a model fetched before"
    )
