"""A statistic of a row quantity that headscope measures already: what the first special token gives to itself."""

from headscope.attention.row_quantities import RowQuantity
from headscope.statistics.statistic import Rows, Statistic

CURRENT_FROM_CLS = Statistic(
    name="current_from_cls",
    quantity=RowQuantity.CURRENT,
    rows=Rows.CLS,
    label="{cls} to itself",
    meaning="weight on itself from the cls token",
    search_words=("cls to itself",),
    ink="mixed",
    shape="previous",
)
