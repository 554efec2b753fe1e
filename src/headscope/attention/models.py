"""Load a model and its tokeniser from a folder or from the hub, or say why not."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headscope.attention.anatomy import WORKING_FAMILIES
from headscope.errors import ModelError, OptionError

DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
_WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json")
# Parts that read the attention's result and do not shape it: they may be missing from a checkpoint.
_MAY_BE_MISSING = ("pooler", "lm_head", "cls.", "classifier", "score.", "position_ids", "inv_freq")


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model with its tokeniser.

    Attributes:
        model: a transformers model without task head, in eval mode.
        tokeniser: its tokeniser.
        name: how it was asked for; the folder's own name for a local folder.
        revision: the hub revision asked for.
    """

    model: Any
    tokeniser: Any
    name: str
    revision: str | None = None

    @property
    def family(self) -> str:
        """The architecture's name in transformers, as `bert`."""
        return str(self.model.config.model_type)


def embedded_folder() -> Path:
    """Return the folder of the embedded default model.

    Raises:
        ModelError: the package that holds it is not installed.
    """
    try:
        import headscope_minilm
    except ImportError as error:
        raise ModelError(
            "no model was named and the embedded one is not installed; install it with "
            "pip install 'headscope[demo]', or give --model a hub name or a local folder"
        ) from error
    folder: Path = headscope_minilm.folder()
    return folder


def load_model(
    name: str | Path | None = None,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
) -> LoadedModel:
    """Load a model and its tokeniser; safetensors weights only, no code from the checkpoint is run.

    Args:
        name: a hub name (`google-bert/bert-base-uncased`), a local folder, or None for the embedded model.
        revision: branch, tag or commit on the hub.
        dtype: the precision to compute in; `float32` whatever the checkpoint's own is.
        device: `auto` (cuda, else mps, else cpu) or a torch device.

    Raises:
        ModelError: nothing there, no weights, no tokeniser, no such family, or the hub cannot be reached.
        OptionError: an unknown dtype or device.
    """
    if dtype not in DTYPES:
        raise OptionError(f"--dtype {dtype!r} is not known; choose one of {', '.join(DTYPES)}")
    target = choose_device(device)
    folder, label = _locate(name)
    from transformers import AutoModel, AutoTokenizer

    with _quiet_transformers():
        try:
            tokeniser = AutoTokenizer.from_pretrained(folder, revision=revision)
            model, info = AutoModel.from_pretrained(
                folder,
                revision=revision,
                dtype=DTYPES[dtype],
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        except Exception as error:
            raise _explain(error, name=str(name), revision=revision) from error
    missing = sorted(k for k in info["missing_keys"] if not any(part in k for part in _MAY_BE_MISSING))
    if missing:
        raise ModelError(
            f"{label}: the checkpoint lacks {len(missing)} of the model's weights ({missing[0]}, ...), which would be "
            "random; expected a whole checkpoint of this architecture"
        )
    return LoadedModel(model=model.to(target).eval(), tokeniser=tokeniser, name=label, revision=revision)


def load_tokeniser(name: str | Path | None = None, *, revision: str | None = None) -> tuple[Any, str]:
    """Load a model's tokeniser alone; return it with the model's name.

    Args:
        name: as `load_model` takes it.
        revision: branch, tag or commit on the hub.

    Raises:
        ModelError: nothing there, no tokeniser, or the hub cannot be reached.
    """
    folder, label = _locate(name, weights=False)
    from transformers import AutoTokenizer

    with _quiet_transformers():
        try:
            return AutoTokenizer.from_pretrained(folder, revision=revision), label
        except Exception as error:
            raise _explain(error, name=str(name), revision=revision) from error


def _locate(name: str | Path | None, *, weights: bool = True) -> tuple[str | Path, str]:
    """Return where a model lies (a folder, checked, or a name on the hub) and what to call it."""
    if name is None:
        return embedded_folder(), "headscope-minilm"
    if Path(name).is_dir():
        _check_folder(Path(name), weights=weights)
        return Path(name), Path(name).resolve().name
    if str(name).startswith((".", "/", "~")) or str(name).count("/") > 1:
        raise ModelError(
            f"no model folder at {name}; give a folder with config.json, or a hub name as org/name"
        )
    return name, str(name)


def choose_device(device: str) -> torch.device:
    """Turn an option into a torch device.

    Raises:
        OptionError: no such device here.
    """
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(
            f"--device {device!r} is not there ({str(error).splitlines()[0]}); choose auto, cpu, cuda, cuda:0 ... or mps"
        ) from error
    return chosen


def weights_hash(model: nn.Module) -> str:
    """Hash a model's weights: BLAKE2b over names, shapes, types and bytes, 32 hex digits."""
    digest = blake2b(digest_size=16)
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).reshape(-1).numpy().data)
    return digest.hexdigest()


def _check_folder(folder: Path, *, weights: bool = True) -> None:
    """Say in plain words what a model folder lacks."""
    if not (folder / "config.json").is_file():
        raise ModelError(f"{folder} has no config.json; expected a model folder as save_pretrained writes it")
    try:
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{folder / 'config.json'} is not JSON ({error}); save the model again") from error
    if weights and not any((folder / file).is_file() for file in _WEIGHT_FILES):
        pickled = (
            " (its pytorch_model.bin is a pickle, which is not read)" if any(folder.glob("*.bin")) else ""
        )
        raise ModelError(
            f"{folder} has no weights: expected model.safetensors{pickled}; save the model with "
            "save_pretrained, which writes safetensors"
        )
    if not any(
        (folder / f).is_file()
        for f in ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
    ):
        raise ModelError(
            f"{folder} has no tokeniser: expected tokenizer.json; save the tokeniser with save_pretrained "
            "into the same folder"
        )


def _explain(error: Exception, *, name: str, revision: str | None) -> ModelError:
    """Turn what transformers and the hub raise into one sentence."""
    from huggingface_hub.errors import (
        GatedRepoError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__

    def among(*kinds: type[BaseException]) -> bool:
        return any(isinstance(each, kinds) for each in chain)

    text = str(error)
    if among(RevisionNotFoundError):
        return ModelError(
            f"the hub has {name} but no revision {revision}; look up its branches, tags and commits"
        )
    if among(GatedRepoError):
        return ModelError(
            f"{name} asks for permission: accept its terms on its hub page and run `hf auth login`"
        )
    if among(RepositoryNotFoundError):
        return ModelError(
            f"the hub has no model {name}; give its full name, as google-bert/bert-base-uncased"
        )
    offline = (
        among(LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError) or "couldn't connect" in text
    )
    if offline:
        return ModelError(
            f"the hub cannot be reached, and {name} is not in its cache; what works offline: no --model (the "
            "embedded headscope-minilm), a local folder, or a model fetched before"
        )
    if "Unrecognized" in text or "model type" in text or "does not recognize" in text:
        return ModelError(
            f"{name} is of a family that transformers does not know; these work: {WORKING_FAMILIES}"
        )
    if "safetensors" in text or "trust_remote_code" in text:
        reason = (
            "it needs code of its own" if "trust_remote_code" in text else "it has no safetensors weights"
        )
        return ModelError(
            f"{name} is refused: {reason}; expected safetensors and a family of transformers itself"
        )
    return ModelError(
        f"{name} could not be loaded: {text.strip().splitlines()[0] if text.strip() else error!r}"
    )


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Keep transformers' load reports and progress bars off the terminal; the library never prints."""
    from transformers.utils import logging as noise

    level, bars = noise.get_verbosity(), noise.is_progress_bar_enabled()
    noise.set_verbosity(logging.CRITICAL)
    noise.disable_progress_bar()
    try:
        yield
    finally:
        noise.set_verbosity(level)
        if bars:
            noise.enable_progress_bar()
