"""Suggestions for mistyped names."""

import pytest

from headscope.errors import did_you_mean, nearest
from headscope.views.bundle import view_names

COMMANDS = ("stats", "syntax", "norms", "behaviors", "experiments", "distances", "distribution")


@pytest.mark.parametrize(
    ("typed", "known", "meant"),
    [
        ("heat", view_names(), "heatmap"),
        ("heads", view_names(), "head"),
        ("mode", view_names(), "model"),
        ("neruon", view_names(), "neuron"),
        ("sytnax", COMMANDS, "syntax"),
        ("Norms", COMMANDS, "norms"),
        ("dist", COMMANDS, "distances"),
        ("behavoirs", COMMANDS, "behaviors"),
        ("float64", ("float32", "bfloat16", "float16"), "float16"),
        ("x", COMMANDS, None),
        ("", COMMANDS, None),
        ("zzzzz", COMMANDS, None),
    ],
)
def test_the_nearest_name(typed, known, meant):
    assert nearest(typed, known) == meant
    assert did_you_mean(typed, known) == (f"; did you mean {meant}?" if meant else "")


def test_a_known_name_is_nearest_to_itself():
    for name in COMMANDS:
        assert nearest(name, COMMANDS) == name
