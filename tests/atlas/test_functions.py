"""What heads show, in the atlas's data, against the tables it is made of; and the words it is asked for by."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.behaviors.catalog import NATURAL
from headscope.analyses.for_report import functions_of
from headscope.reporting.atlas_page import atlas_blocks
from headscope.reporting.functions import _columns, behaviors_block
from headscope.reporting.payload import data_block
from headscope.statistics.tables.frames import of_measure
from headscope.views.markup import json_text
from support import mock_inputs
from support.measured import about
from support.mock_behaviors import place_of, with_behaviors


def blocks_of(run):
    shown = about(run)
    told = json.loads(json_text(data_block(shown.run)))
    block = behaviors_block(functions_of(run), shown.kinds, told["measures"])
    return told, {one["name"]: one for one in block}


@pytest.mark.parametrize("make", [mock_inputs.t5, lambda: mock_inputs.section_4(4, 8)])
def test_every_number_is_the_tables(make):
    run = with_behaviors(make())
    data, shown = blocks_of(run)
    measures = {one["name"]: one for one in data["measures"]}
    assert set(measures) == {*shown, *(f"{name}.norm" for name in shown)}
    width = {part["kind"]: part["heads"] for part in run.manifest["kinds"]}
    seen = Counter()
    for table, of in (("behaviors", "behavior"), ("experiments", "experiment")):
        own = run.tables.get(table)
        own = own[(own["model"] == "trained") & own["head"].notna() & (own["n_rows"] > 0)]
        keys = ["kind", "layer", "head", "behavior", *(["experiment"] if of == "experiment" else [])]
        norms = of_measure(own, "norm").set_index(keys)["value"]
        for row in of_measure(own).to_dict("records"):
            if row.get("experiment") == "shuffled":
                continue
            where = table if table == "behaviors" else f"experiments.{row['experiment']}"
            name = f"{where}.{row['behavior']}"
            place = (row["layer"] - 1) * width[row["kind"]] + row["head"] - 1
            columns = shown[name]["heads"][row["kind"]]
            assert measures[name]["values"][row["kind"]][place] == pytest.approx(row["value"], rel=1e-3)
            assert measures[name]["share"] == (row["behavior"] != "distance")
            np.testing.assert_allclose(columns["low"][place], row["ci_low"], atol=6e-5)
            np.testing.assert_allclose(columns["high"][place], row["ci_high"], atol=6e-5)
            assert columns["uniform"] == row["uniform"]
            written = norms[tuple(row[key] for key in keys)]
            np.testing.assert_allclose(columns["written"][place], written, atol=6e-5)
            assert measures[f"{name}.norm"]["values"][row["kind"]][place] == pytest.approx(written, rel=1e-3)
            assert columns["shows"][place] == (None if pd.isna(row["shows"]) else int(row["shows"]))
            seen[name] += 1
    assert (
        set(seen)
        == set(shown)
        >= {"behaviors.induction", "experiments.repeated.previous", "experiments.needle.retrieval"}
    )
    assert "behaviors.blank" not in shown  # it cannot occur


def test_the_head_that_shows_it_is_named_with_its_number_and_chance():
    run = with_behaviors(mock_inputs.section_4(4, 8))
    data, shown = blocks_of(run)
    (kind,) = data["kinds"]
    for name in ("behaviors.induction", "experiments.repeated.induction"):
        layer, head = place_of("induction", 4, 8)
        place = (layer - 1) * 8 + head - 1
        (one,) = [each for each in kind["shows"][str(place)] if each["id"] == name]
        assert (one["value"], one["low"], one["high"]) == (0.62, 0.558, 0.682)
        assert one["written"] == 0.62
        strongest = shown[name]["heads"]["encoder"]["strongest"]
        assert strongest == {"index": place, "chance": 0.041, "tested": True}
        assert sum(each["id"] == name for own in kind["shows"].values() for each in own) == 1
    layer, head = place_of("first", 4, 8)
    (first,) = [one for one in kind["shows"][str((layer - 1) * 8 + head - 1)] if one["id"] == "behaviors.first"]
    assert (first["value"], first["written"]) == (0.62, 0.062)
    assert shown["behaviors.distance"]["heads"]["encoder"]["strongest"] is None
    assert not any(one["id"].startswith("shuffled") for own in kind["shows"].values() for one in own)


def test_without_intervals_nothing_is_shown_and_nothing_was_tested():
    data, shown = blocks_of(with_behaviors(mock_inputs.section_4(2, 3), interval=False))
    assert data["kinds"][0]["shows"] == {}
    own = shown["behaviors.first"]["heads"]["encoder"]
    assert "low" not in own
    assert set(own["shows"]) == {None}
    assert own["strongest"]["tested"] is False


def test_words_to_ask_with(studies):
    atlas = {name: atlas_blocks(studies[name])["atlas"] for name in ("doing", "bare")}
    asked = {name: {one["name"]: one for one in told["vocabulary"]} for name, told in atlas.items()}
    for behavior in NATURAL:
        name = f"behaviors.{behavior}"
        sort = None if behavior == "distance" else "unmeasured" if behavior == "blank" else "showing"
        assert asked["doing"].get(name, {}).get("what") == sort
    assert "induction" in asked["doing"]["experiments.repeated.induction"]["words"]
    assert asked["bare"]["behaviors.induction"]["what"] == "unmeasured"
    assert asked["bare"]["behaviors.induction"]["missing"] == "behaviors"
    assert asked["bare"]["experiments.needle.retrieval"]["missing"] == "experiments"
    assert asked["bare"]["obj"]["missing"] == "relations"
    assert atlas["bare"]["missing"]["behaviors"] == "run headscope report again"
    assert atlas["doing"]["missing"]["behaviors"] is None
    assert atlas["bare"]["showings"] == []


def test_columns_without_a_number_are_left_out_but_the_one_that_is_always_there():
    kind = about(mock_inputs.section_4(2, 2)).kinds[0]
    heads = pd.DataFrame({"kind": kind.name, "layer": [1, 1, 2], "head": [1, 2, 2]})
    rows = heads.assign(value=np.nan, some=[0.5, np.nan, 0.25], none=np.nan)
    names = {"always": "value", "partly": "some", "never": "none"}
    assert _columns(rows, kind, names, always="always") == {
        "always": [None, None, None, None],
        "partly": [0.5, None, None, 0.25],
    }
