"""Roles: thresholds and their order, as defined."""

import math

import pytest

from headscope.heads.behaviours import ROLES, role_of

UNIFORM = math.log(128)


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ({"punctuation": 0.61, "sep": 0.0}, "punctuation"),
        ({"punctuation": 0.6, "sep": 0.0}, "mixed"),
        ({"sep": 0.61}, "sep"),
        ({"cls": 0.61}, "cls"),
        ({"cls": 0.9, "entropy": 4.5}, "cls"),
        # The paper's 3.8 nats of ln 128 is 0.783 of it.
        ({"entropy": 3.81}, "broad"),
        ({"entropy": 3.79}, "mixed"),
        ({"previous": 0.51}, "previous"),
        ({"previous": 0.51, "entropy": 4.0}, "broad"),
        ({"next": 0.51}, "next"),
        ({"previous": 0.45, "next": 0.45}, "mixed"),
        ({"sep": float("nan"), "entropy": float("nan"), "previous": 0.7}, "previous"),
        ({}, "mixed"),
    ],
)
def test_the_first_behaviour_that_holds(values, role):
    assert role in ROLES
    assert role_of(values, uniform_entropy=UNIFORM) == role


def test_broad_is_relative_to_what_is_visible():
    assert role_of({"entropy": 2.0}, uniform_entropy=math.log(10)) == "broad"
    assert role_of({"entropy": 2.0}, uniform_entropy=math.log(100)) == "mixed"
    assert role_of({"entropy": 0.0}, uniform_entropy=0.0) == "mixed"
