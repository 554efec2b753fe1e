"""The result of one stage of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from headscope.statistics.sums.kept import State


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """The result of one stage of a run.

    Attributes:
        name: of the stage.
        tables: by name, as they are written to `tables/NAME.parquet`.
        facts: what it adds to the manifest.
        notes: sentences that the user should see.
        state: an accumulator's sums, for later merging.
        seconds: how long it took.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    state: State = field(default_factory=dict)
    seconds: float = 0.0


def notes_on(subject: str, *notes: str | None) -> tuple[str, ...]:
    """Return notes for the user, each after its subject and a colon; None is left out."""
    return tuple(f"{subject}: {note}" for note in notes if note)
