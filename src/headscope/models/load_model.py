"""Load a model and its tokenizer from a folder or from the hub; an error gives the reason of a refusal."""

import copy
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from headscope.encoding.choices import DTYPE_CHOICES
from headscope.encoding.tokenizer.bounds import within_time
from headscope.errors import OptionError
from headscope.models.anatomy import Anatomy
from headscope.models.folder.files import without_paths
from headscope.models.folder.weight_files import check_implied, read_config
from headscope.models.locating import locate, origin_of
from headscope.models.placement import Offloading, choose_device
from headscope.models.refusals import check_complete, check_ids, check_reads_text, in_words, missing_package
from headscope.models.temporary_changes import environment, quiet_libraries

_NO_CACHE = {
    "TIKTOKEN_CACHE_DIR": ""
}  # tiktoken keeps a copy of each file in the shared temporary folder, and reads that


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A model with its tokenizer.

    Attributes:
        model: a transformers model, in eval mode; without task head unless it was loaded for a task.
        tokenizer: its tokenizer.
        name: the name that the user gave; for a local folder, the name of the folder.
        origin: `hub`, `folder`, `embedded` or `memory`.
        revision: the hub revision that the user gave.
        untrained: names of weights that the checkpoint lacks and that attention does not depend on (a pooler).
    """

    model: Any
    tokenizer: Any
    name: str
    origin: str = "folder"
    revision: str | None = None
    untrained: frozenset[str] = frozenset()

    @property
    def family(self) -> str:
        """Name of the architecture in transformers, such as `bert`."""
        return str(self.model.config.model_type)


def load_model(
    name: str | Path | None = None,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
    device_map: str | None = None,
) -> LoadedModel:
    """Load a model and its tokenizer; only safetensors weights are read, and no code from the checkpoint is run.

    Args:
        name: a hub name (`google-bert/bert-base-uncased`), a local folder, or None for the embedded model.
        revision: branch, tag or commit on the hub.
        dtype: precision of the computation; `float32` whatever the checkpoint's precision, or `auto` to keep it.
        device: `auto` (cuda, else cpu) or a torch device.
        device_map: `auto` keeps weights that do not fit the device in memory and on disk; None loads the whole model
            there.

    Raises:
        ModelError: the model, its weights or its tokenizer are missing, the family is unknown, or the hub is
            unreachable.
        OptionError: an unknown dtype or device.
    """
    loaded = read_model("AutoModel", name, revision=revision, dtype=dtype, device=device, device_map=device_map)
    check_complete(loaded.name, loaded.untrained)
    return loaded


def read_model(
    auto: str,
    name: str | Path | None,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
    device_map: str | None = None,
) -> LoadedModel:
    """Load a model by one of transformers' auto classes, also where the checkpoint lacks weights.

    Args:
        auto: name of the auto class, such as `AutoModel`.
        name: a hub name, a local folder or None, as in `load_model`.
        revision: branch, tag or commit on the hub.
        dtype: precision of the computation.
        device: `auto` or a torch device.
        device_map: as `load_model` takes it.

    Raises:
        ModelError: as `load_model`, except that weights may be missing: they are `untrained`.
        OptionError: an unknown dtype or device.
    """
    if dtype not in DTYPE_CHOICES:
        raise OptionError(f"--dtype {dtype!r} is not known; choose one of {', '.join(DTYPE_CHOICES)}")
    target = choose_device(device)
    offloading = None if device_map is None else Offloading(target)
    with quiet_libraries():
        folder, label, weight_files = locate(name, revision=revision)
        called = str(name or label)
        with in_words(called, part="its config.json"):
            config = read_config(folder)
        tokenizer = _read_tokenizer(folder, called)
        import transformers

        with in_words(called):
            cls = getattr(transformers, auto)
            if weight_files is not None:
                check_implied(cls, config, folder, weight_files)
            model, info = cls.from_pretrained(
                folder,
                dtype=dtype if dtype == "auto" else getattr(torch, dtype),
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **({} if offloading is None else offloading.options),
            )
    if offloading is not None:
        offloading.keep_for(model)
    elif not getattr(model, "is_quantized", False):  # a quantized model stays where it was made
        model.to(target)
    check_reads_text(model)
    check_ids(model, tokenizer, label)
    return LoadedModel(
        model=model.eval(),
        tokenizer=tokenizer,
        name=label,
        origin=origin_of(name),
        revision=revision,
        untrained=frozenset(info["missing_keys"]) - computed_tables(model, info["missing_keys"]),
    )


def load_tokenizer(name: str | Path | None = None, *, revision: str | None = None) -> tuple[Any, str]:
    """Load only a model's tokenizer; return it with the model's name.

    Args:
        name: as `load_model` takes it.
        revision: branch, tag or commit on the hub.

    Raises:
        ModelError: the model or its tokenizer is missing, or the hub cannot be reached.
    """
    with quiet_libraries():
        folder, label, _ = locate(name, revision=revision, weights=False)
        return _read_tokenizer(folder, str(name or label)), label


def _read_tokenizer(folder: Path, name: str) -> Any:
    """Load a folder's tokenizer, or raise an error with the reason."""
    from transformers import AutoTokenizer

    with in_words(name, part="its tokenizer"):
        try:
            with environment(_NO_CACHE):
                options = without_paths(folder)
                tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False, **options)
            # Errors in tokenizer.json appear only when the tokenizer is used, for one text or for a pair.
            within_time(lambda: [tokenizer("a"), tokenizer("a", "b")], letters=2)
        except Exception as error:
            missing = missing_package(folder, error, name=name)
            if missing is None:
                raise
            raise missing from error
    return tokenizer


def longest_input(loaded: LoadedModel, anatomy: Anatomy) -> int:
    """Return the maximum number of tokens that a model's positions and its tokenizer allow."""
    positions = positions_of(loaded.model.config) - anatomy.first_position
    return int(min(positions, getattr(loaded.tokenizer, "model_max_length", None) or 1 << 30))


def positions_of(config: Any) -> int:
    """Return the number of positions of a model; XLNet's -1, like a missing number, means no limit."""
    positions = getattr(config, "max_position_embeddings", None) or -1
    return int(positions) if positions > 0 else 1 << 30


def computed_tables(model: Any, missing: Collection[str]) -> frozenset[str]:
    """Return the missing weights that the model's own initializer computes, so that none of them is random.

    transformers declares such tables in `_keys_to_ignore_on_save`, but only on the class with a head, so that the base
    model reports them as missing.

    Args:
        model: a transformers model that was just loaded.
        missing: the names of the weights that its checkpoint lacks.
    """
    modules = {f"{name}.weight": module for name, module in model.named_modules()}
    return frozenset(name for name in missing if name in modules and _is_computed(model, modules[name]))


@torch.no_grad()
def _is_computed(model: Any, module: nn.Module) -> bool:
    """Return True if a table gets the same numbers each time it is initialized, and they differ from row to row."""
    if not isinstance(module, nn.Embedding):
        return False
    draws = []
    with torch.random.fork_rng(devices=[]):
        for _ in range(2):
            table = copy.deepcopy(module).to_empty(device="cpu")
            table.weight.fill_(float("nan"))  # stays NaN if the initializer does not compute it
            model._init_weights(table)
            draws.append(table.weight)
    return torch.equal(*draws) and not torch.equal(draws[0][:1].expand_as(draws[0]), draws[0])
