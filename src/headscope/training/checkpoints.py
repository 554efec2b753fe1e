"""Checkpoints: model folders that a report can be made of, and the state from which a stopped training goes on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from headscope.attention.models import quiet_libraries
from headscope.attention.partial import whole_or_absent

RESUME = "resume.safetensors"


def checkpoint_path(out: Path, step: int) -> Path:
    """Return the folder of a step's checkpoint: `checkpoint-000500`; names sort as steps do."""
    return out / f"checkpoint-{step:06d}"


def checkpoints_of(out: Path) -> dict[int, Path]:
    """Return a training's checkpoints by step, in order."""
    found = {}
    for path in out.glob("checkpoint-*"):
        number = path.name.removeprefix("checkpoint-")
        if path.is_dir() and number.isdecimal():
            found[int(number)] = path
    return dict(sorted(found.items()))


def write_checkpoint(folder: Path, model: Any, tokeniser: Any) -> None:
    """Write a model and its tokeniser as a folder that `load_model` takes; whole or absent."""
    with whole_or_absent(folder, replace=True) as partial, quiet_libraries():
        model.save_pretrained(partial)
        tokeniser.save_pretrained(partial)
        for file in partial.iterdir():
            file.chmod(0o644)  # safetensors lets nobody else read what it writes


def publish(checkpoint: Path, out: Path) -> None:
    """Copy a checkpoint's files beside the card, so that `out` is the trained model's own folder."""
    for file in sorted(checkpoint.iterdir()):
        with whole_or_absent(out / file.name, replace=True) as partial:
            partial.write_bytes(file.read_bytes())


def write_resume(out: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> None:
    """Write the state of a training and words about it in one file; it replaces the one before once it is whole."""
    with whole_or_absent(out / RESUME, replace=True) as partial:
        save_file({name: tensor.cpu() for name, tensor in tensors.items()}, partial, metadata=dict(about))
        partial.chmod(0o644)


def read_resume(out: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """Read the state of a training back, or return None where there is none."""
    path = out / RESUME
    if not path.is_file():
        return None
    with safe_open(str(path), framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
