"""Rows of a head that its explanation predicts best and worst, with what is attended to and what is predicted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headscope.analyses.explanation.design import Design, Floats, Integers

BEST, WORST = PREDICTIONS = ("best", "worst")
MOST_WORST = 2
"""Number of rows that are kept of those predicted worst, each of another document; of those predicted best, one."""
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class ExampleRow:
    """A row with the prediction that the other half of the documents made of it.

    Attributes:
        prediction: of `PREDICTIONS`: why it is an example.
        row: its number in the sample.
        document: number of its document.
        left, to_explain: KL(attention || prediction) and KL(attention || uniform), in nats.
        cells: of the sample, in which the row sees a key, `[key]`.
        attention, predicted: of each of these, `[key]`.
    """

    prediction: str
    row: int
    document: int
    left: float
    to_explain: float
    cells: Integers
    attention: Floats
    predicted: Floats

    @property
    def explained(self) -> float:
        """The share that is explained of this row alone, which may be far below 0."""
        return 1 - self.left / self.to_explain


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOutRows:
    """The rows that measure predictions.

    Attributes:
        design: of the rows.
        documents: number of each row's document, `[row]`.
        numbers: of the rows in the sample, `[row]`.
        cells: of the design's cells in the sample, `[cell]`.
    """

    design: Design
    documents: Integers
    numbers: Integers
    cells: Integers


def example_rows(
    left: Floats, to_explain: Floats, attention: Floats, log_p: Floats, rows: HeldOutRows
) -> list[ExampleRow]:
    """Return the candidates of a half's rows: the one predicted best, and those predicted worst.

    A row counts where it has something to explain; for the best prediction as much as the median row has, as any
    features predict a row that attends to all keys alike.

    Args:
        left, to_explain: divergences of the rows, `[row]`.
        attention, log_p: what is attended to, and the logarithm of what is predicted, `[cell]`.
        rows: that measure.
    """
    counted = np.flatnonzero(to_explain > 10.0**-_DECIMALS)
    if not len(counted):
        return []
    enough = counted[to_explain[counted] >= np.median(to_explain[counted])]
    shares = np.round(left[enough] / to_explain[enough], _DECIMALS)
    best = int(enough[np.argmin(shares)])
    order = counted[np.argsort(-np.round(left[counted], _DECIMALS), kind="stable")].tolist()

    def example(prediction: str, row: int) -> ExampleRow:
        start = int(rows.design.starts[row])
        of_row = slice(start, start + int(rows.design.lengths[row]))
        return ExampleRow(
            prediction=prediction,
            row=int(rows.numbers[row]),
            document=int(rows.documents[row]),
            left=float(left[row]),
            to_explain=float(to_explain[row]),
            cells=rows.cells[of_row],
            attention=attention[of_row],
            predicted=np.exp(log_p[of_row]),
        )

    worst = [row for row in _of_different_documents(order, rows.documents) if row != best]
    return [example(BEST, best), *(example(WORST, row) for row in worst)]


def chosen_examples(candidates: Sequence[ExampleRow]) -> list[ExampleRow]:
    """Return the rows that are shown of a head: the one predicted best, and those predicted worst, worst first.

    Args:
        candidates: of both halves, which have no document in common.
    """
    best, worst = ([each for each in candidates if each.prediction == name] for name in PREDICTIONS)
    best.sort(key=lambda each: (-round(each.explained, _DECIMALS), each.row))
    worst.sort(key=lambda each: (-round(each.left, _DECIMALS), each.row))
    return [*best[:1], *worst[:MOST_WORST]]


def _of_different_documents(order: Sequence[int], documents: Integers) -> list[int]:
    """Return the first of some rows, no two of one document."""
    first: dict[int, int] = {}
    for row in order:
        first.setdefault(int(documents[row]), row)
        if len(first) == MOST_WORST:
            break
    return list(first.values())
