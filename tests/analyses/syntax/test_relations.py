"""When a chosen head beats every fixed offset: a significant difference, in its favor."""

import math

import pytest

from headscope.analyses.syntax.relations import Best
from headscope.present.cells import Cell


def best(*, q, margin):
    number = Cell(0.5, 0.4, 0.6, math.nan, 30)
    return Best(
        kind="encoder", layer=1, head=1, share=1.0, all_documents=number, held_out=number,
        direction="dependent->head", accuracy=number, offset=1, baseline=number,
        gap=Cell(margin, margin - 0.1, margin + 0.1, math.nan, 30), q=q,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("q", "margin", "beats"),
    [
        (0.01, 0.2, True),
        (0.01, -0.2, False),  # significantly worse than the offset
        (0.01, 0.005, False),  # by less than a sentence is worth
        (0.05, 0.2, False),
        (math.nan, 0.2, False),
    ],
)
def test_a_head_beats_the_offsets_where_the_difference_is_significant_and_above_zero(q, margin, beats):
    assert best(q=q, margin=margin).beats is beats
