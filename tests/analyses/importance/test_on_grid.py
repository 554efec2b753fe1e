"""Importance as a color of the head grid: each head's number of each measure and class; none without gradients."""

import json

import pytest

from headscope.analyses.for_report import measures_of
from headscope.present.report_parts import Context
from headscope.reporting.payload import data_block
from headscope.views.markup import json_text
from support import mock_inputs
from support.mock_importance import with_importance


def test_every_head_has_its_own_number_of_each_measure_and_class():
    inputs = with_importance(mock_inputs.t5())
    table = inputs.tables.get("importance")
    measures = json.loads(json_text(data_block(inputs)))["measures"]
    seen = 0
    for one in measures:
        _, measure, *key_class = one["name"].split(".")
        of_class = table["key_class"] == key_class[0] if key_class else table["key_class"].isna()
        own = table[(table["measure"] == measure) & of_class & table["head"].notna()]
        for row in own.to_dict("records"):
            told = one["values"][row["kind"]][(row["layer"] - 1) * 4 + row["head"] - 1]
            assert told == pytest.approx(row["value"], rel=1e-3)
            seen += 1
    assert seen == table["head"].notna().sum()
    assert {one["topic"] for one in measures} == {"What the loss depends on"}
    assert [(one["label"], one["unit"]) for one in (measures[0], *measures[1::4])] == [
        ("Gate estimate", "nats"),
        ("Gradient of the loss by the weight: the first token", "nats per unit of weight"),
        ("Weight × gradient: the first token", "nats"),
    ]


def test_a_class_that_cannot_occur_is_not_offered():
    about = Context.of(with_importance(mock_inputs.encoder(2, 3), absent=("sep",)))
    names = [one.name for one in measures_of(about)]
    assert len(names) == 7
    assert not any(name.endswith("sep") for name in names)


def test_without_gradients_there_is_none():
    assert list(measures_of(Context.of(mock_inputs.encoder(2, 3)))) == []
