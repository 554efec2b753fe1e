"""The statistics that are kept of a row of attention: a few numbers instead of a weight per key (sections 3.1-3.3).

The numbers are columns of one array. `RowQuantity` names the columns: first the weight on keys at some offset from the
query, then the weight on keys of a class, then statistics of all weights of the row. Another offset or class needs a
name here and its line in `OFFSETS` or `CLASSES`; a statistic that is computed from a row's weights in another
way needs a line in `row_statistics.row_statistics`, in `Visibility.uniform`, in `StatisticsPass` and in `FusedNorms`.
Nothing is computed here, so that reading the names of the statistics does not import torch.
"""

from enum import IntEnum, auto

from headscope.encoding.vocabulary import KeyClass


class RowQuantity(IntEnum):
    """A statistic of a row: its column in `[..., row, ROW_STATISTICS]`."""

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[int]) -> int:
        return count

    PREVIOUS = auto()
    CURRENT = auto()
    NEXT = auto()
    CLS = auto()
    SEP = auto()
    PERIOD_COMMA = auto()
    PUNCTUATION = auto()
    ENTROPY = auto()
    MAX_WEIGHT = auto()
    SINK_LOGIT = auto()


ROW_STATISTICS = tuple(quantity.name.lower() for quantity in RowQuantity)
OFFSETS = {RowQuantity.PREVIOUS: (-1,), RowQuantity.CURRENT: (0,), RowQuantity.NEXT: (1,)}
"""Positions of the keys that a quantity sums over, relative to the position of the query."""
CLASSES = {
    RowQuantity.CLS: (KeyClass.CLS,),
    RowQuantity.SEP: (KeyClass.SEP,),
    RowQuantity.PERIOD_COMMA: (KeyClass.PERIOD_COMMA,),
    RowQuantity.PUNCTUATION: (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION),
}
"""Classes of the keys that a quantity sums over."""

# Neighboring columns that are computed together.
BY_CLASS = slice(len(OFFSETS), len(OFFSETS) + len(CLASSES))
SHARES = slice(0, BY_CLASS.stop)
OF_ALL_WEIGHTS = slice(RowQuantity.ENTROPY, RowQuantity.MAX_WEIGHT + 1)
# A name without its line would be a column that is never filled.
assert (*OFFSETS, *CLASSES, RowQuantity.ENTROPY, RowQuantity.MAX_WEIGHT, RowQuantity.SINK_LOGIT) == tuple(RowQuantity)
