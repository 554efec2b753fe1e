"""The rows of a head that its explanation predicts best and worst, with attention and predicted attention."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headscope.analyses.explanation.columns import Integers
from headscope.analyses.explanation.row_block import Floats, RowBlock
from headscope.analyses.explanation.tables import BEST, PREDICTIONS, WORST

MOST_WORST = 2
"""Number of worst-predicted rows that are kept, each from a different document; one best-predicted row is kept."""
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class ExampleRow:
    """A row with its prediction, fitted to the other half of the documents.

    Attributes:
        prediction: one of `PREDICTIONS`, the reason why the row is an example.
        row: number of the row in the sample.
        document: number of the row's document.
        left, to_explain: KL(attention || prediction) and KL(attention || uniform), in nats.
        cells: cells of the sample in which the row sees a key, `[key]`.
        attention, predicted: attention and predicted attention in each of these cells, `[key]`.
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
        """The explained share of this row alone, which may be far below 0."""
        return 1 - self.left / self.to_explain


def example_rows(
    left: Floats, to_explain: Floats, attention: Floats, log_p: Floats, block: RowBlock, documents: Integers
) -> list[ExampleRow]:
    """Return the example candidates of a block: the row predicted best, and the rows predicted worst.

    A row counts if its attention differs from uniform. For the best prediction it must differ at least as much as the
    median row of the block, because any features predict a row that attends to all keys alike.

    Args:
        left, to_explain: divergences of the rows, `[row]`.
        attention, log_p: attention, and logarithm of the predicted attention, `[row, key]`.
        block: block of rows.
        documents: number of each row's document, `[row]`.
    """
    counted = np.flatnonzero(to_explain > 10.0**-_DECIMALS)
    if not len(counted):
        return []
    enough = counted[to_explain[counted] >= np.median(to_explain[counted])]
    shares = np.round(left[enough] / to_explain[enough], _DECIMALS)
    best = int(enough[np.argmin(shares)])
    order = counted[np.argsort(-np.round(left[counted], _DECIMALS), kind="stable")].tolist()

    def example(prediction: str, row: int) -> ExampleRow:
        is_visible = block.visible[row]
        return ExampleRow(
            prediction=prediction,
            row=int(block.rows[row]),
            document=int(documents[row]),
            left=float(left[row]),
            to_explain=float(to_explain[row]),
            cells=block.cells[row][is_visible],
            attention=attention[row][is_visible].astype(np.float64),
            predicted=np.exp(log_p[row][is_visible]),
        )

    worst = [row for row in _of_different_documents(order, documents) if row != best]
    return [example(BEST, best), *(example(WORST, row) for row in worst)]


def chosen_examples(candidates: Sequence[ExampleRow]) -> list[ExampleRow]:
    """Choose the examples of a head: the row predicted best, then the rows predicted worst, worst first.

    Args:
        candidates: candidates of all blocks of both halves.
    """
    best, worst = ([each for each in candidates if each.prediction == name] for name in PREDICTIONS)
    best.sort(key=lambda each: (-round(each.explained, _DECIMALS), each.row))
    worst.sort(key=lambda each: (-round(each.left, _DECIMALS), each.row))
    taken = {each.row for each in best[:1]}
    different: dict[int, ExampleRow] = {}
    for each in worst:
        if each.row not in taken:
            different.setdefault(each.document, each)
    return [*best[:1], *list(different.values())[:MOST_WORST]]


def _of_different_documents(order: Sequence[int], documents: Integers) -> list[int]:
    """Return the first `MOST_WORST` rows in order, each from a different document."""
    first: dict[int, int] = {}
    for row in order:
        first.setdefault(int(documents[row]), row)
        if len(first) == MOST_WORST:
            break
    return list(first.values())
