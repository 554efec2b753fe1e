"""What a training writes down: a tidy table of its curves, and a file of facts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.attention.partial import whole_or_absent
from headscope.errors import InputError
from headscope.training.measuring import MEASURES, HeldOut

LOG, FACTS = "training.parquet", "training.json"
COLUMNS = (
    *("step", "epoch", "tokens", "split", "measure", "value", "ci_low", "ci_high", "n"),
    *("learning_rate", "seconds"),
)
Row = dict[str, Any]


def held_out_rows(found: HeldOut, at: Mapping[str, Any]) -> list[Row]:
    """Lay out what was measured on the held-out documents: a row each for loss and accuracy.

    Args:
        found: the measurement.
        at: `step epoch tokens learning_rate seconds` of the moment.
    """
    bounds = zip(MEASURES, found.value, found.low, found.high, strict=True)
    return [
        {**at, "split": "held-out", "measure": name, "value": float(value), "ci_low": float(low),
         "ci_high": float(high), "n": found.n}
        for name, value, low, high in bounds
    ]  # fmt: skip


def train_rows(loss: float, hits: float, asked: int, at: Mapping[str, Any]) -> list[Row]:
    """Lay out the means over the steps since the last rows, from their sums.

    They have no interval: the model changed while they were taken.
    """
    nothing = {"ci_low": float("nan"), "ci_high": float("nan"), "n": asked}
    return [
        {**at, "split": "train", "measure": name, "value": total / asked, **nothing}
        for name, total in zip(MEASURES, (loss, hits), strict=True)
    ]


def table_of(rows: list[Row]) -> pd.DataFrame:
    """Return rows as the table `training.parquet`."""
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    numbers = dict.fromkeys(("step", "epoch", "tokens", "n"), "int64")
    floats = dict.fromkeys(("value", "ci_low", "ci_high", "learning_rate", "seconds"), "float64")
    return table.astype({**numbers, **floats})


def write_log(out: Path, rows: list[Row]) -> None:
    """Write `training.parquet`."""
    with whole_or_absent(out / LOG, replace=True) as partial:
        table_of(rows).to_parquet(partial, index=False)


def read_log(out: Path) -> pd.DataFrame:
    """Read `training.parquet`."""
    return pd.read_parquet(out / LOG)


def write_facts(out: Path, facts: Mapping[str, Any]) -> None:
    """Write `training.json`."""
    with whole_or_absent(out / FACTS, replace=True) as partial:
        text = json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False)
        partial.write_text(text + "\n", encoding="utf-8")


def read_facts(out: Path) -> dict[str, Any] | None:
    """Read `training.json`, or return None where there is none.

    Raises:
        InputError: the file is not a training's.
    """
    path = out / FACTS
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}); delete the folder and train again") from error
    if not isinstance(facts, dict) or not {"signature", "steps", "complete"} <= facts.keys():
        raise InputError(f"{path} is not of a training; give a folder that headscope train wrote")
    return facts
