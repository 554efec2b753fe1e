"""Filters of the pages' templates, against texts written by hand."""

from headscope.present.cells import Cell
from headscope.present.filters import FILTERS


def test_filters_write_the_texts_written_by_hand():
    cell = Cell(value=0.752, ci_low=0.729, ci_high=0.774, uniform=0.1, n=250)
    falling = Cell(value=-0.4, ci_low=-0.6, ci_high=-0.2, uniform=0.1, n=5)
    expected = {
        ("of", 3, 12, "relation"): "3 of 12 relations",
        ("of", 12, 12, "relation"): "all 12 relations",
        ("of", ("nsubj",), ("nsubj",), "relation"): "the only relation",
        ("of", (), (1, 2), "relation"): "0 of 2 relations",
        ("one", 1, "is", "are"): "is",
        ("one", (1, 2), "is", "are"): "are",
        ("one", 0, "is", "are"): "are",
        ("counted", 1, "head"): "1 head",
        ("counted", 1200, "head"): "1,200 heads",
        ("percent_ends", cell): "73 to 77",
        ("percent_ends", falling): "−60 to −20",
        ("hits", cell): 188,
        ("first_three", ("a", "b", "c", "d", "e")): "a, b, c and 2 more",
    }
    assert {call: FILTERS[call[0]](*call[1:]) for call in expected} == expected
