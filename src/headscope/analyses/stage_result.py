"""The result of one stage of a run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.counted import count
from headscope.statistics.sums.kept import State


@dataclass(frozen=True, kw_only=True)
class StageResult:
    """The result of one stage of a run.

    Attributes:
        name: name of the stage.
        tables: tables by name, as they are written to `tables/NAME.parquet`.
        facts: entries for the manifest.
        notes: sentences that the user should see.
        state: an accumulator's sums, for later merging.
        seconds: duration in seconds.
    """

    name: str
    tables: Mapping[str, pd.DataFrame]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    state: State = field(default_factory=dict)
    seconds: float = 0.0


def notes_on_left_out(
    rows_of_kinds: Mapping[str, NDArray[np.int64]], measured: str, *, where: str = ""
) -> Iterator[str]:
    """Yield a note on each kind of attention with rows in which heads write nothing, which are left out.

    Args:
        rows_of_kinds: number of such rows of each head, by kind.
        measured: name of the result that leaves them out.
        where: description of the rows: `over shuffled words`; empty for all rows of the text.
    """
    for kind, rows in rows_of_kinds.items():
        if number := int(rows.sum()):
            heads = f"{kind} heads {where}".rstrip()
            yield (
                f"of {count(number, 'row')} of {heads} nothing at all is written; they are left out of the {measured}"
            )


def notes_on(subject: str, *notes: str | None) -> tuple[str, ...]:
    """Return notes for the user, each after its subject and a colon; None is left out."""
    return tuple(f"{subject}: {note}" for note in notes if note)
