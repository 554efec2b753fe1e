"""Roles: thresholds and their order, as defined; and what heads find."""

import math

import pandas as pd
import pytest

from headscope.analyses.coref.tables import COREF
from headscope.analyses.syntax.tables import SYNTAX_BEST
from headscope.present.head_columns import finders
from headscope.statistics.roles import ROLES, role_of, strongest
from support.stand_ins import stand_in

UNIFORM = math.log(128)


def finds(best, coreference):
    """What heads find in a run with these tables."""
    return finders({"syntax_best": best, "coref": coreference}.get)


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ({"period_comma": 0.61, "sep": 0.0}, "period_comma"),
        ({"period_comma": 0.6, "sep": 0.0}, "mixed"),
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
def test_the_first_behavior_that_holds(values, role):
    assert role in ROLES
    assert role_of(values, uniform={"entropy": UNIFORM}) == role


def test_broad_is_relative_to_what_is_visible():
    assert role_of({"entropy": 2.0}, uniform={"entropy": math.log(10)}) == "broad"
    assert role_of({"entropy": 2.0}, uniform={"entropy": math.log(100)}) == "mixed"
    assert role_of({"entropy": 0.0}, uniform={"entropy": 0.0}) == "mixed"


def syntax_rows(*rows):
    names = [*("model", "selection", "relation", "kind", "layer", "head"), *("accuracy", "baseline_accuracy")]
    named = [dict(zip([*names, "margin", "q_value"], (*row[:-1], row[6] - row[7], row[-1]))) for row in rows]
    return stand_in(SYNTAX_BEST, *named)


def test_heads_find_what_they_are_held_out_best_at():
    best = syntax_rows(
        ("trained", "held-out", "det", "encoder", 1, 2, 0.8, 0.5, 0.01),
        ("trained", "held-out", "amod", "encoder", 1, 2, 0.7, 0.6, 0.049),
        ("trained", "held-out", "nsubj", "encoder", 2, 1, 0.7, 0.6, 0.05),  # not below 0.05
        ("trained", "held-out", "obj", "encoder", 2, 1, 0.5, 0.6, 0.01),  # below its baseline
        ("trained", "held-out", "all", "encoder", 2, 1, 0.9, 0.6, math.nan),  # totals are not tested
        ("trained", "same-data", "obl", "encoder", 2, 2, 0.9, 0.1, 0.0),
        ("control", "held-out", "case", "encoder", 2, 2, 0.9, 0.1, math.nan),
    )
    assert finds(best, None) == {("encoder", 1, 2): ["det", "amod"]}


def test_the_head_of_coreference_comes_once_and_after_relations():
    best = syntax_rows(("trained", "held-out", "det", "decoder", 3, 1, 0.8, 0.5, 0.01))
    rows = [
        ("trained", "held-out", "head", "decoder", 3, 1, "all", 0.7, 0.001),
        ("trained", "held-out", "head", "decoder", 3, 1, "pronoun", 0.7, math.nan),
        ("trained", "same-data", "head", "decoder", 3, 2, "all", 0.8, 0.001),
        ("baseline", None, "nearest", None, None, None, "all", 0.9, math.nan),
    ]
    names = ["model", "selection", "system", "kind", "layer", "head", "mention_type", "accuracy", "q_value"]
    coreference = stand_in(COREF, *(dict(zip(names, row)) for row in rows))
    assert finds(best, coreference) == {("decoder", 3, 1): ["det", "coreference"]}
    assert finds(None, coreference) == {("decoder", 3, 1): ["coreference"]}
    assert finds(best.head(0), None) == {}
    assert finds(None, None) is None


def test_the_strongest_head_of_a_role_has_the_highest_value_of_its_statistic():
    names = {(1, 1): "previous", (1, 2): "previous", (2, 1): "previous", (2, 2): "next"}
    values = {(1, 1): 0.6, (1, 2): 0.9, (2, 1): 0.7, (2, 2): 0.8}
    heads = [{"kind": "decoder", "layer": layer, "head": head} for layer, head in names]
    named = pd.DataFrame([{**each, "role": names[each["layer"], each["head"]]} for each in heads])
    shares = [
        {**each, "statistic": statistic, "value": value if statistic == names[head] else 0.95, "measure": measure}
        for each in heads
        for head in [(each["layer"], each["head"])]
        for statistic in ("previous", "next")
        for measure, value in (("weight", values[head]), ("norm", 1 - values[head] / 10))
    ]
    mean = {"kind": "decoder", "layer": 1, "head": None, "statistic": "previous", "value": 0.99, "measure": "weight"}
    rows = strongest(pd.DataFrame([*shares, mean]), named).set_index("role")
    assert rows.loc["previous", ["layer", "head", "statistic", "value"]].tolist() == [1, 2, "previous", 0.9]
    assert rows.loc["next", ["layer", "head", "statistic", "value"]].tolist() == [2, 2, "next", 0.8]
    assert len(rows) == 2
