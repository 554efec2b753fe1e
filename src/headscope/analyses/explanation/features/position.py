"""Where the key is: right before the row, right behind it, so many tokens away."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import Feature, Group, Need
from headscope.analyses.explanation.row_context import RowContext

_SAME_AXIS: frozenset[Need] = frozenset({"same_axis"})
GROUPS = (
    Group(name="previous", family="position", label="previous token", phrase="the previous token"),
    Group(name="next", family="position", label="next token", phrase="the next token"),
    Group(name="current", family="position", label="itself", phrase="the token itself"),
)


def _at(offset: int) -> Callable[[RowContext], NDArray[np.float64]]:
    def compute(rows: RowContext) -> NDArray[np.float64]:
        return np.asarray(rows.offset == offset, dtype=np.float64)

    return compute


FEATURES = tuple(
    Feature(name=name, group=name, label=label, sentence=sentence, compute=_at(offset), needs=_SAME_AXIS)
    for name, label, sentence, offset in (
        ("previous", "previous token", "the previous token", -1),
        ("next", "next token", "the next token", 1),
        ("current", "itself", "the token itself", 0),
    )
)
