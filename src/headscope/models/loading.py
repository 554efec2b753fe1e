"""Load a model and its tokeniser from a folder or from the hub, or say why not."""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import torch

from headscope.errors import ModelError, OptionError
from headscope.installing import how_to_install
from headscope.models.anatomy import Anatomy
from headscope.models.dtypes import DTYPES
from headscope.models.folder.check import check_folder
from headscope.models.folder.implied_size import check_implied, read_config
from headscope.models.folder.prompts import nothing_asks
from headscope.models.folder.shown import shown
from headscope.models.folder.weight_files import WeightFiles
from headscope.models.hub import fetch
from headscope.models.loading_errors import in_words

EMBEDDED = "headscope-minilm"
# Parts that read the attention's result and do not shape it: they may be missing from a checkpoint.
_MAY_BE_MISSING = ("pooler", "lm_head", "cls.", "classifier", "score.", "position_ids", "inv_freq")


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model with its tokeniser.

    Attributes:
        model: a transformers model, in eval mode; without task head unless it was loaded for a task.
        tokeniser: its tokeniser.
        name: how it was asked for; the folder's own name for a local folder.
        origin: `hub`, `folder` or `embedded`.
        revision: the hub revision asked for.
        untrained: names of weights that the checkpoint lacks and that do not shape attention (a pooler).
    """

    model: Any
    tokeniser: Any
    name: str
    origin: str = "folder"
    revision: str | None = None
    untrained: frozenset[str] = frozenset()

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
            f"no model was named and the embedded one is not installed; {how_to_install('demo')}, or give --model a "
            "hub name or a local folder"
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
    loaded = read_model("AutoModel", name, revision=revision, dtype=dtype, device=device)
    missing = sorted(k for k in loaded.untrained if not any(part in k for part in _MAY_BE_MISSING))
    if missing:
        raise ModelError(
            f"{loaded.name}: the checkpoint lacks {len(missing)} of the model's weights ({missing[0]}, ...), which "
            "would be random; expected a whole checkpoint of this architecture"
        )
    return loaded


def read_model(
    auto: str,
    name: str | Path | None,
    *,
    revision: str | None,
    dtype: str,
    device: str,
) -> LoadedModel:
    """Load a model as one of transformers' auto classes makes it, whatever its checkpoint lacks.

    Args:
        auto: name of the auto class, as `AutoModel`.
        name: as `load_model` takes it; so are the others.
        revision: branch, tag or commit on the hub.
        dtype: the precision to compute in.
        device: `auto` or a torch device.

    Raises:
        ModelError: as `load_model`, except that weights may be missing: they are `untrained`.
        OptionError: an unknown dtype or device.
    """
    if dtype not in DTYPES:
        raise OptionError(f"--dtype {dtype!r} is not known; choose one of {', '.join(DTYPES)}")
    target = choose_device(device)
    with quiet_libraries(), nothing_asks():
        folder, label, found = _locate(name, revision=revision)
        called = label if name is None else str(name)
        with in_words(called, part="its config.json"):
            config = read_config(folder)
        tokeniser = _read_tokeniser(folder, called)
        import transformers

        with in_words(called):
            cls = getattr(transformers, auto)
            if found is not None:
                check_implied(cls, config, folder, found)
            model, info = cls.from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
    _check_ids(model, tokeniser, label)
    return LoadedModel(
        model=model.to(target).eval(),
        tokeniser=tokeniser,
        name=label,
        origin="embedded" if name is None else "folder" if Path(name).is_dir() else "hub",
        revision=revision,
        untrained=frozenset(info["missing_keys"]),
    )


def _check_ids(model: Any, tokeniser: Any, label: str) -> None:
    """Refuse a tokeniser that writes numbers for which the model has no embedding."""
    written = [tokeniser(*texts, return_token_type_ids=True) for texts in (("a",), ("a", "b"))]
    rows = model.get_input_embeddings().weight.shape[0]
    highest = max(
        [*tokeniser.get_vocab().values(), *(i for each in written for i in each["input_ids"])], default=0
    )
    if highest >= rows:
        raise ModelError(
            f"{shown(label)}: the tokeniser has token ids up to {highest}, and the model knows {rows}; expected the "
            "tokeniser that the model was trained with"
        )
    kinds = getattr(model.config, "type_vocab_size", None) or 0
    kind = max((i for each in written for i in each["token_type_ids"]), default=0)
    if 1 < kinds <= kind:  # a model of one type is not told any
        raise ModelError(
            f"{shown(label)}: the tokeniser writes token types up to {kind}, and the model knows {kinds}; expected the "
            "tokeniser that the model was trained with"
        )


def load_tokeniser(name: str | Path | None = None, *, revision: str | None = None) -> tuple[Any, str]:
    """Load a model's tokeniser alone; return it with the model's name.

    Args:
        name: as `load_model` takes it.
        revision: branch, tag or commit on the hub.

    Raises:
        ModelError: nothing there, no tokeniser, or the hub cannot be reached.
    """
    with quiet_libraries(), nothing_asks():
        folder, label, _ = _locate(name, revision=revision, weights=False)
        return _read_tokeniser(folder, label if name is None else str(name)), label


def _read_tokeniser(folder: Path, name: str) -> Any:
    """Load a folder's tokeniser, or say in words why not."""
    from transformers import AutoTokenizer

    with in_words(name, part="its tokeniser"):
        tokeniser = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        tokeniser("a", "b")  # what its tokenizer.json gets wrong comes out when it is used
    return tokeniser


def _locate(
    name: str | Path | None, *, revision: str | None, weights: bool = True
) -> tuple[Path, str, WeightFiles | None]:
    """Return the folder that a model lies in, checked, what to call the model, and what its weights hold."""
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
            f"--device {device!r} is not there ({str(error).splitlines()[0]}); "
            "choose auto, cpu, cuda, cuda:0 ... or mps"
        ) from error
    return chosen


def longest_input(loaded: LoadedModel, anatomy: Anatomy) -> int:
    """Return how many tokens a model reads at most: what its positions and its tokeniser allow."""
    positions = getattr(loaded.model.config, "max_position_embeddings", None) or 1 << 30
    return int(
        min(
            positions - anatomy.first_position,
            getattr(loaded.tokeniser, "model_max_length", None) or 1 << 30,
        )
    )


def weights_hash(loaded: LoadedModel) -> str:
    """Hash a model's weights: BLAKE2b over names, shapes, types and bytes, 32 hex digits.

    Weights that the checkpoint lacks are random in every run and are left out.
    """
    trained = {name: t for name, t in loaded.model.state_dict().items() if name not in loaded.untrained}
    return tensors_hash(trained)


def tensors_hash(tensors: Mapping[str, torch.Tensor]) -> str:
    """Hash named tensors in any order: BLAKE2b over names, shapes, types and bytes, 32 hex digits."""
    digest = blake2b(digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Keep load reports, warnings and progress bars off the output; a terminal still sees a download's bar."""
    from huggingface_hub.utils import logging as hub_noise
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )
    from transformers.utils import logging as noise

    level, hub_level = noise.get_verbosity(), hub_noise.get_verbosity()
    bars, hub_bars = noise.is_progress_bar_enabled(), not are_progress_bars_disabled()
    noise.set_verbosity(logging.CRITICAL)
    hub_noise.set_verbosity(logging.CRITICAL)
    noise.disable_progress_bar()  # type: ignore[no-untyped-call]
    if hub_bars and sys.stderr.isatty():
        enable_progress_bars()  # transformers' switch turns the hub's bars off as well
    elif not sys.stderr.isatty():
        disable_progress_bars()
    try:
        yield
    finally:
        noise.set_verbosity(level)
        hub_noise.set_verbosity(hub_level)
        if bars:
            noise.enable_progress_bar()  # type: ignore[no-untyped-call]
        if hub_bars:
            enable_progress_bars()
