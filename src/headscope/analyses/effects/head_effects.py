"""Effects of single heads, read from the tables: the added loss, effects on logits, and the line on a head's card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import compress

import pandas as pd

from headscope.analyses.effects.kept.tables import KEPT, UNIFORM
from headscope.analyses.effects.sums import COMPENSATION
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.report_kit.claim_rules import above
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import HeadRef, numbered
from headscope.report_kit.numbers import nats, percent, span
from headscope.report_kit.tables.cells import Cell, cell_of, number, records, rows_by_head
from headscope.statistics.inference.significance import LEAST_LOSS, SIGNIFICANT
from headscope.study.study import Study

_WITHOUT = {"uniform": "with uniform attention", "sink": "with all its attention on a sink"}


@dataclass(frozen=True)
class HeadEffect:
    """The added loss of a model when one head is changed.

    Attributes:
        head: the head.
        added: added loss in nats, with its interval.
        q_value: q-value of the test that the added loss is 0; NaN where it was not tested.
    """

    head: HeadRef
    added: Cell
    q_value: float

    @property
    def is_shown(self) -> bool:
        """True if the loss changes significantly (false discovery rate 5% over all heads) and by `LEAST_LOSS`."""
        return self.q_value < SIGNIFICANT and abs(self.added.value) >= LEAST_LOSS


def added_losses(table: pd.DataFrame, kind: str) -> list[HeadEffect]:
    """Return the added loss of every head of a kind that has a value, the largest first.

    Args:
        table: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.
    """
    rows = table[(table["kind"] == kind) & (table["measure"] == "loss") & table["value"].notna()]
    effects = [
        HeadEffect(numbered(kind, int(row["layer"]), int(row["head"])), cell_of(row, "value"), number(row["q_value"]))
        for row in records(rows)
    ]
    return sorted(effects, key=lambda effect: -effect.added.value)


def effect_lines(run: Study, kind: Kind) -> Mapping[int, str]:
    """Return a line with the effect, effect kept, direct effect and compensation of each head, by the head's index.

    Args:
        run: study with the tables.
        kind: kind of attention.
    """
    effects, kept = (_cells(run.tables.get(name), kind) for name in ("effects", "effect_kept"))
    how = _WITHOUT.get(str(run.tables["effects"]["intervention"].iloc[0]), "without it") if effects else ""
    # The effect kept is given only where replacing the attention by uniform attention has an effect.
    kept = dict(compress(kept.items(), above([cells[UNIFORM] for cells in kept.values()], least=LEAST_LOSS)))
    lines = {}
    for index in sorted({*effects, *kept}):
        parts = list(_parts(effects.get(index, {}), kept.get(index, {})))
        if parts and "loss" in effects.get(index, {}):
            parts[0] = f"{how}, {parts[0]}"
        if parts:
            lines[index] = "; ".join(parts).replace("-", "−")
    return lines


def _parts(effects: Mapping[str, Cell], kept: Mapping[str, Cell]) -> Iterator[str]:
    if (loss := effects.get("loss")) is not None and loss.exists:
        yield f"{nats(loss.value)} nats of loss are added{_interval(loss)}"
    if (share := kept.get(KEPT)) is not None and share.has_interval:
        ends = f"{100 * share.ci_low:.0f} to {100 * share.ci_high:.0f}"
        yield f"its explanation keeps {percent(share.value)} of the effect of its attention ({ends})"
    if (direct := effects.get(DIRECT[0])) is not None and direct.exists:
        yield f"direct effect on the logit {nats(direct.value)}{_interval(direct)}"
    if (compensation := effects.get(COMPENSATION)) is not None and compensation.exists:
        yield f"compensation {nats(compensation.value)}{_interval(compensation)}"


def _interval(cell: Cell) -> str:
    return f" ({span(cell.ci_low, cell.ci_high)})" if cell.has_interval else ""


def _cells(table: pd.DataFrame | None, kind: Kind) -> dict[int, dict[str, Cell]]:
    """Return the cells of single heads by the head's index and the measure."""
    if table is None or not len(table):
        return {}
    of_kind = table[(table["kind"] == kind.name) & table["head"].notna()]
    return {
        kind.head_index(*head): {str(measure): cell_of(row, "value") for (measure,), row in rows.items()}
        for head, rows in rows_by_head(of_kind, "measure")
    }
