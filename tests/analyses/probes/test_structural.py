"""The structural probe on all layers: the planted layer is chosen without dev, and the tables are what was scored."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.probes.structural import measure as structural
from headscope.analyses.probes.structural.layer_training import StructuralOptions
from headscope.analyses.probes.structural.measure import measure_structural
from headscope.analyses.probes.tables import PROBE_LAYERS, PROBES
from headscope.errors import InputError, OutputError
from support.structural import planted_states

OPTIONS = StructuralOptions(rate=0.1, rounds=3, least_steps=25, batch_size=32)
SHORT = StructuralOptions(rate=0.1, rounds=1, least_steps=5, batch_size=32)


class Reader:
    """Give planted vectors for their segments, and count what was asked."""

    def __init__(self, *states):
        self.known = {id(state.segment): state for several in states for state in several}
        self.asked = 0

    def __call__(self, segments):
        for segment in segments:
            self.asked += 1
            yield self.known[id(segment)]


@pytest.fixture(scope="module")
def states():
    return planted_states(200, seed=1), planted_states(80, seed=2, documents=12)


def measured(states, **more):
    train, dev = states
    options = {"words": sum(len(s.known) for s in train), "seeds": 2, "options": OPTIONS, **more}
    return measure_structural(
        Reader(*states), train=[s.segment for s in train], dev=[s.segment for s in dev], **options
    )


@pytest.fixture(scope="module")
def tables(states):
    said = []
    found = measured(states, tell=lambda *told: said.append(told))
    return found, said


def test_the_layer_with_the_tree_is_chosen(tables):
    found, _ = tables
    layers = found.layers
    assert list(layers.columns) == PROBE_LAYERS.names
    assert layers["layer"].tolist() == [0, 0, 1, 1, 2, 2]
    assert layers["measure"].tolist() == ["UUAS", "Spearman"] * 3
    assert layers.loc[layers["chosen"], "layer"].unique().tolist() == [1]
    uuas = layers[layers["measure"] == "UUAS"].set_index("layer")
    assert uuas.loc[1, "value"] > 0.75
    # Chance joins 1 in 3 of such short sentences' arcs.
    assert uuas.loc[0, "value"] < 0.5 < uuas.loc[2, "value"] < uuas.loc[1, "value"]
    assert uuas["held_out"].idxmax() == 1
    assert ((layers["ci_low"] < layers["value"]) & (layers["value"] < layers["ci_high"])).all()
    assert {**found.facts, "settled": None} == {"layer": 1, "sentences": 200, "sampled": 1.0, "settled": None}


def test_the_rows_of_each_seed_and_of_their_mean(tables):
    found, _ = tables
    probes, layers = found.probes, found.layers
    assert list(probes.columns) == PROBES.names
    assert set(probes["probe"]) == {"structural"}
    assert set(probes["model"]) == {"trained"}
    assert set(probes["vectors"]) == {"layer 1"}
    assert str(probes["seed"].dtype) == "Int64"
    for measure in ("UUAS", "Spearman"):
        own = probes[probes["measure"] == measure]
        assert own["seed"].tolist() == [0, 1, pd.NA]
        values = own["value"].to_numpy()
        assert values[0] != values[1]
        assert values[2] == pytest.approx(values[:2].mean())
        assert own["spread"].isna().tolist() == [True, True, False]
        assert own["spread"].iloc[2] == pytest.approx(np.std(values[:2], ddof=1))
        assert own["n_cases"].nunique() == 1
        # The first seed's row is the chosen layer's of the other table.
        first = layers[(layers["layer"] == 1) & (layers["measure"] == measure)].iloc[0]
        for name in ("value", "ci_low", "ci_high", "n_cases"):
            assert own.iloc[0][name] == first[name]


def test_what_is_told_on_the_way(tables):
    _, said = tables
    assert said[0] == ("vectors of train", 0, None)
    assert ("vectors of dev", 0, None) in said
    assert said[-5:] == [("structural probe", done, 4) for done in range(5)]


def test_dev_has_no_part_in_the_choice(states):
    """With other sentences to score on, the same layer and the same held-out numbers come out."""
    train, dev = states
    few = [replace(s, vectors=s.vectors[::-1].copy()) for s in dev[:30]]
    quick = {"seeds": 1, "options": replace(OPTIONS, rounds=2, least_steps=20)}
    found = measured((train, few), **quick)
    again = measured((train, dev), **quick)
    assert found.facts["layer"] == again.facts["layer"] == 1
    assert (found.layers["value"] != again.layers["value"]).all()
    np.testing.assert_array_equal(found.layers["held_out"], again.layers["held_out"])
    assert found.probes["spread"].isna().all()


def test_a_sample_is_taken_where_there_is_no_room(states):
    train, _ = states
    words = sum(len(s.known) for s in train)
    needed = 2 * words * 3 * 12
    half = {"most_bytes": needed // 2, "seeds": 1, "options": SHORT}
    found = measured(states, **half)
    assert found.facts["sampled"] == pytest.approx(0.5, abs=1e-3)
    assert 0.35 * 200 < found.facts["sentences"] < 0.65 * 200
    again = measured(states, **half)
    pd.testing.assert_frame_equal(found.layers, again.layers)
    assert found.layers["n_cases"].tolist() == measured(states, seeds=1, options=SHORT).layers["n_cases"].tolist()


def test_far_too_little_room_is_refused(states, tmp_path, monkeypatch):
    monkeypatch.setattr(structural.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 2 << 30}))
    with pytest.raises(OutputError) as refused:
        measured(states, words=2_000_000_000, folder=tmp_path)
    assert str(refused.value) == (
        f"the structural probe needs 134.1 GiB for the vectors of train, and there is room for 1.0 GiB in {tmp_path}; "
        "free some, raise the limit, or take a smaller treebank"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("train", "dev", "what"), [(1, 5, "2 sentences of train"), (5, 0, "1 sentence of dev")])
def test_too_few_sentences_are_refused(states, train, dev, what):
    with pytest.raises(InputError) as refused:
        measured((states[0][:train], states[1][:dev]))
    came = train if "train" in what else dev
    assert str(refused.value) == (
        f"expected at least {what} for the structural probe, came {came}; give a larger treebank"
    )


def test_nothing_is_left_on_disk(states, tmp_path):
    measured((states[0][:40], states[1][:20]), seeds=1, options=SHORT, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
