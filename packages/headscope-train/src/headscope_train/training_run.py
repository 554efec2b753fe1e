"""Training as one call: from text to a folder of checkpoints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.errors import OutputError
from headscope.models.placement import choose_device
from headscope.storage.atomic import hash_of_file
from headscope.storage.lock import folder_held
from headscope.storage.places import contents, sweep
from headscope_train.checkpoints import RESUME, checkpoints_of
from headscope_train.loop import reproducible
from headscope_train.prepared_training import Prepared, prepare
from headscope_train.record import read_facts, read_log
from headscope_train.session import Session, TrainingWatcher
from headscope_train.size import Size
from headscope_train.training_options import TrainOptions


@dataclass(frozen=True)
class Training:
    """A finished training.

    Attributes:
        path: its folder, which is also a model folder for `load_model` and `headscope report --model`.
        facts: contents of `training.json`.
    """

    path: Path
    facts: Mapping[str, Any]

    @property
    def checkpoints(self) -> dict[int, Path]:
        """The checkpoints by step, the first before any training (0), each a model folder."""
        return checkpoints_of(self.path)

    @property
    def log(self) -> pd.DataFrame:
        """The curves: `step epoch tokens split measure value ci_low ci_high n learning_rate seconds`."""
        return read_log(self.path)


def train(
    model: str | Path | None = None,
    *,
    out: str | Path,
    text: "str | Path | Sequence[str | Path] | None" = None,
    treebank: "str | Path | Sequence[str | Path] | None" = None,
    size: str | Size | None = None,
    watch: TrainingWatcher | None = None,
    **options: Any,
) -> Training:
    """Continue training a model, or train a small one from scratch.

    Args:
        model: hub name or folder; None for the embedded model, or with `size` for a new one.
        out: folder of the training: new, empty, or of the same training, which is then resumed.
        text: a file or folder, or several.
        treebank: a file or folder, or several, with sentences to train on.
        size: size of a new BERT (or Llama), as `4x4x128`: layers, heads, width.
        watch: receives progress.
        **options: `objective` (`mlm`, masked words, or `clm`, the next token), `steps` or `minutes`, `every`,
            `batch_size`, `learning_rate`, `max_length`, `seed`, `device` and more; see `TrainOptions`.

    Returns:
        The training: its checkpoints, its log, its facts.

    Raises:
        HeadscopeError: a problem that the user can fix; the message explains how.
        TypeError: an unknown option.
    """
    train_options = TrainOptions(
        model=None if model is None else str(model),
        text=_paths(text),
        treebank=_paths(treebank),
        size=Size.read(size) if isinstance(size, str) else size,
        **options,
    )
    return run_training(train_options, out=Path(out), watch=watch)


def run_training(options: TrainOptions, *, out: Path, watch: TrainingWatcher | None = None) -> Training:
    """Run the training of `train`, from prepared options."""
    _found(out)
    # The lock is taken at the start: a second training fails now, and not after reading its corpus.
    with reproducible(choose_device(options.device)), folder_held(out):
        before = _found(out)
        sweep(out)
        prepared = prepare(options)
        notes: list[str] = []
        if before is not None:
            _check_same(before, prepared, out)
            if before["complete"]:
                damaged = _damaged(before, out)
                (out / RESUME).unlink(missing_ok=True)  # a kill may have come before it was deleted
                if not damaged:
                    return Training(out, before)
                notes = [f"{', '.join(damaged)} was not as it was written: the training began again"]
        return Training(out, Session(prepared, out, before, watch, notes=notes).finish())


def _found(out: Path) -> dict[str, Any] | None:
    """Return the facts of an earlier training in a folder, or None if the folder is free.

    Raises:
        OutputError: the folder holds something else.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out expects a folder, new or empty")
    before = read_facts(out)
    if before is None and out.is_dir() and any(contents(out)):
        raise OutputError(f"{out} holds other files and no training; give --out a new or empty folder")
    return before


def _damaged(facts: Mapping[str, Any], out: Path) -> list[str]:
    """Return the files of a finished training that are missing or changed."""
    return [name for name, hashed in facts["files"].items() if hash_of_file(out / name) != hashed]


def _check_same(before: Mapping[str, Any], prepared: Prepared, out: Path) -> None:
    """Check that a training to resume is the same, and was begun with the same versions.

    Raises:
        OutputError: it differs; the message names the difference.
    """
    if before["signature"] != prepared.facts["signature"]:
        raise OutputError(
            f"{out} already holds a different training (of {before['start']['name']} on {before['data']['name']}, "
            f"signature {before['signature']}); give another --out, or delete that folder"
        )
    then, now = before["versions"], prepared.facts["versions"]
    changed = [name for name in now if then.get(name) != now[name]]
    if changed and not before["complete"]:
        raise OutputError(
            f"the training in {out} was begun with {changed[0]} {then.get(changed[0])}, and this is "
            f"{now[changed[0]]}: it would not come to the same answer; use that version, or give another --out"
        )


def _paths(paths: "str | Path | Sequence[str | Path] | None") -> tuple[str, ...]:
    if paths is None:
        return ()
    return (str(paths),) if isinstance(paths, str | Path) else tuple(str(path) for path in paths)
