"""The explanation of one head by one measure: its divergences by document, its fits, and its groups in order."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.example_rows import ExampleRow
from headscope.analyses.explanation.order import Step
from headscope.analyses.explanation.row_block import Floats


@dataclass(eq=False)
class HeadExplanation:
    """The explanation of one head by one measure.

    Attributes:
        to_explain: sum of KL(attention || uniform) over the rows of each document, times the attention on the keys that
            count, `[document]`.
        uniform: sum of the entropy of uniform attention over all rows, with the same weights, nats.
        mass: sum of the attention on the keys that count over all rows.
        left: sum of KL(attention || prediction) of the full fit, with the same weights, `[document]`.
        gained: gain of each group over the groups before it, by group, `[document]`.
        steps: the groups in the order of each half of the documents, or of all documents if there are too few to halve.
        wrong: KL(attention || prediction of each head of the layer), sum over rows, `[head]`; includes the head itself.
        n_rows: number of rows.
        coefficients: coefficients of the full fit of each half, `[half, column]`.
        positions: coefficients of the fit of positions alone, `[half, column]`, where it was made.
        differences: mean of each column under the attention minus its mean under uniform attention, `[half, column]`.
        examples: rows that are predicted best and worst, where examples are kept.
    """

    to_explain: NDArray[np.float64]
    left: NDArray[np.float64]
    wrong: NDArray[np.float64]
    gained: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    steps: list[list[Step]] = field(default_factory=list)
    n_rows: int = 0
    uniform: float = 0.0
    mass: float = 0.0
    coefficients: list[Floats] = field(default_factory=list)
    positions: list[Floats] = field(default_factory=list)
    differences: list[Floats] = field(default_factory=list)
    examples: list[ExampleRow] = field(default_factory=list)
