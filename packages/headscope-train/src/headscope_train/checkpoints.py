"""Checkpoints: model folders that reports can read, and the state from which a stopped training resumes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from headscope.errors import InputError
from headscope.models.identity import tensors_hash
from headscope.models.task_heads import save_folder
from headscope.storage.atomic import whole_or_absent, write_bytes
from headscope.storage.bounded import UnreadableFileError, check_regular

RESUME = "resume.safetensors"
_HASH = "hash"
_DAMAGED = "{path} is damaged: the training cannot go on from it; delete that file and train again"


def checkpoint_path(out: Path, step: int) -> Path:
    """Return the folder of a step's checkpoint: `checkpoint-000500`; names sort as steps do."""
    return out / f"checkpoint-{step:06d}"


def checkpoints_of(out: Path) -> dict[int, Path]:
    """Return a training's checkpoints by step, in order."""
    checkpoints = {}
    for path in out.glob("checkpoint-*"):
        number = path.name.removeprefix("checkpoint-")
        if path.is_dir() and number.isdecimal():
            checkpoints[int(number)] = path
    return dict(sorted(checkpoints.items()))


def write_checkpoint(folder: Path, model: Any, tokenizer: Any) -> None:
    """Write a model and its tokenizer as a folder for `load_model`, atomically."""
    with whole_or_absent(folder, replace=True, owned=True) as part:
        save_folder(part, model, tokenizer)


def publish(checkpoint: Path, out: Path) -> dict[str, str]:
    """Copy a checkpoint's files next to the card, so that `out` is a model folder; return their hashes."""
    files = (path.relative_to(checkpoint) for path in sorted(checkpoint.rglob("*")) if path.is_file())
    return {str(file): write_bytes(out / file, (checkpoint / file).read_bytes()) for file in files}


def write_resume(out: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> None:
    """Write the state of a training and its metadata to one file, which atomically replaces the previous one."""
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(out / RESUME, save(kept, metadata={**about, _HASH: tensors_hash(sorted(kept.items()))}))


def read_resume(out: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """Read the state of a training, or return None if there is none.

    Raises:
        InputError: the file is damaged.
    """
    path = out / RESUME
    try:
        check_regular(path)
        with safe_open(str(path), framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            about = dict(file.metadata() or {})
    except FileNotFoundError:
        return None
    except (SafetensorError, UnreadableFileError) as error:
        raise InputError(_DAMAGED.format(path=path)) from error
    if about.pop(_HASH, None) != tensors_hash(sorted(tensors.items())):
        raise InputError(_DAMAGED.format(path=path))
    return tensors, about
