"""The records of a training: a tidy table of its curves, and a file of facts."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.errors import InputError
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.files import write_parquet
from headscope.storage.sealed import read_sealed, write_sealed
from headscope_train.measuring import MEASURES, HeldOut

LOG, FACTS = "training.parquet", "training.json"
COLUMNS = (
    *("step", "epoch", "tokens", "split", "measure", "value", "ci_low", "ci_high", "n_targets"),
    *("learning_rate", "seconds"),
)
Row = dict[str, Any]
_MOST_LOG = 1 << 28  # bytes
_REMEDY = "train again with another --out; the models next to it can be used without it"


def held_out_rows(measured: HeldOut, at: Mapping[str, Any]) -> list[Row]:
    """Return the held-out measurement as rows: one each for loss and accuracy.

    Args:
        measured: the measurement.
        at: `step epoch tokens learning_rate seconds` of the measurement.
    """
    bounds = zip(MEASURES, measured.value, measured.low, measured.high, strict=True)
    return [
        {**at, "split": "held-out", "measure": name, "value": float(value), "ci_low": float(low),
         "ci_high": float(high), "n_targets": measured.n}
        for name, value, low, high in bounds
    ]  # fmt: skip


def train_rows(loss: float, hits: float, n_targets: int, at: Mapping[str, Any]) -> list[Row]:
    """Return the means over the steps since the last rows, from their sums.

    They have no interval, because the model changed between the steps.
    """
    nothing = {"ci_low": float("nan"), "ci_high": float("nan"), "n_targets": n_targets}
    return [
        {**at, "split": "train", "measure": name, "value": total / n_targets, **nothing}
        for name, total in zip(MEASURES, (loss, hits), strict=True)
    ]


def table_of(rows: list[Row]) -> pd.DataFrame:
    """Return rows as the table `training.parquet`."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = dict.fromkeys(("step", "epoch", "tokens", "n_targets"), "int64")
    floats = dict.fromkeys(("value", "ci_low", "ci_high", "learning_rate", "seconds"), "float64")
    return table.astype({**numbers, **floats})


def write_log(out: Path, rows: list[Row]) -> str:
    """Write `training.parquet`, and return its hash."""
    return write_parquet(out / LOG, table_of(rows))


def read_log(out: Path) -> pd.DataFrame:
    """Read `training.parquet`.

    Raises:
        InputError: the file is missing, damaged, or has other columns.
    """
    path = out / LOG
    try:
        log = pd.read_parquet(BytesIO(read_regular(path, most=_MOST_LOG)))
        return log[list(COLUMNS)]
    except FileNotFoundError:
        raise InputError(f"{path} is not there any more; {_REMEDY}") from None
    except UnreadableFileError as error:
        raise InputError(f"{path} {error.problem}; {_REMEDY}") from None
    except (ValueError, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # from the file system, not from the decoder
            raise
        raise InputError(f"{path} is damaged: no table of a training can be read from it; {_REMEDY}") from error


def write_facts(out: Path, facts: Mapping[str, Any]) -> None:
    """Write `training.json`."""
    write_sealed(out / FACTS, facts)


def read_facts(out: Path) -> dict[str, Any] | None:
    """Read `training.json`, or return None if there is none.

    Raises:
        InputError: the file is not of a training, or has changed since it was written.
    """
    path = out / FACTS
    sealed = read_sealed(path, remedy=_REMEDY)
    if sealed is None:
        return None
    if not isinstance(sealed.content, dict) or not {"signature", "steps", "complete"} <= sealed.content.keys():
        raise InputError(f"{path} is not of a training; give a folder that headscope train wrote")
    if not sealed.whole:
        raise InputError(f"{path} was changed or damaged since headscope wrote it; {_REMEDY}")
    facts: dict[str, Any] = sealed.content
    return facts
