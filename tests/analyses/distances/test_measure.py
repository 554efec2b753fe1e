"""The stages of section 6: distances as scipy has them row by row, the map of what earlier stages found."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from transformers import AutoModel

from headscope.analyses.coref.tables import COREF
from headscope.analyses.distances.compute import DistancesMeasurement, HeadMapMeasurement, map_tables
from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.distances.tables import HEAD_DISTANCES, matrix_of, pair_table
from headscope.analyses.measurement import StageResult
from headscope.analyses.syntax.tables import SYNTAX_BEST
from headscope.errors import OptionError
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.progress import Progress
from headscope.statistics.roles import roles
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments
from support.model_folders import save_tiny_bert
from support.sharp_models import sharpen
from support.stand_ins import stand_in

TEXT = [
    "The cat sat on the mat, and the dog slept.\nIt purred.\n",
    "Prices rose again in March. Nobody could say why.\nRain fell.\n",
    "She wrote three letters and tore up two of them.\nThe third was short.\n",
    "A train passed. The windows shook, as they always did at night.\n",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("distances")
    # Documents that differ, so that their distances do.
    text = folder / "text.txt"
    text.write_text("\n".join(TEXT + [f"Number {n} is the {n}th of all numbers.\n" for n in range(1, 9)]))
    model = sharpen(save_tiny_bert(folder / "tiny", heads=2, layers=3))
    stages = ("stats", "distances", "map")
    return prepare(RunOptions(model=str(model), text=(str(text),), packing="single", stages=stages, seed=4))


@pytest.fixture(scope="module")
def distances(run):
    return DistancesMeasurement(run).measure()


@pytest.fixture(scope="module")
def expected(run):
    """Row by row with scipy's distance, which is the root of the divergence: `[head, head]`, and the rows."""
    model = AutoModel.from_pretrained(run.options.model, attn_implementation="eager", dtype=torch.float32).eval()
    total, rows = np.zeros((6, 6)), 0
    for segment in run.segments():
        ids, types = torch.tensor(segment.ids)[None], torch.tensor(segment.token_types)[None]
        with torch.no_grad():
            out = model(input_ids=ids, token_type_ids=types, output_attentions=True)
        maps = torch.cat(out.attentions, dim=1)[0].double().numpy()
        smooth = 0.999 * maps + 0.001 / maps.shape[-1]
        for a in range(6):
            total[a] += (jensenshannon(smooth[a][None], smooth, axis=-1) ** 2).sum(-1)
        rows += maps.shape[-1]
    np.fill_diagonal(total, 0)
    return total / rows, rows


def test_distances_are_scipys(distances, expected):
    table = distances.tables["head_distances"]
    assert list(table.columns) == HEAD_DISTANCES.names
    heads = [(layer, head) for layer in (1, 2, 3) for head in (1, 2)]
    found = matrix_of(table, heads, kind="encoder")
    assert np.median(expected[0]) > 0.01  # heads that differ
    assert found == pytest.approx(expected[0], rel=1e-4, abs=1e-7)
    assert set(table["n_rows"]) == {expected[1]}
    assert (table["sampling_error"] == 0).all()
    assert ((table["ci_low"] <= table["divergence"]) & (table["divergence"] <= table["ci_high"])).all()
    told = distances.facts["distances"]["encoder"]
    assert told["rows"] == told["rows_read"] == expected[1]
    assert distances.name == "distances"
    assert distances.notes == ()


def test_the_state_gives_the_table_again(distances, run):
    results = DivergenceAccumulator.from_state(distances.state).compute()
    pd.testing.assert_frame_equal(pair_table(results), distances.tables["head_distances"])


def test_progress_is_told(run):
    told: list[Progress] = []
    DistancesMeasurement(run, watch=told.append).measure()
    assert told[-1].stage == "head distances"
    assert told[-1].documents == told[-1].total == 12


@dataclass
class HandMadeRun:
    """Maps made by hand as a run."""

    hand_made: HandMadeSource
    options: RunOptions

    @property
    def layout(self):
        return self.hand_made.layout

    @property
    def total(self):
        return None

    def done(self, segments):
        return segments

    def source(self):
        return self.hand_made


def test_a_causal_model_by_hand():
    """Heads of a causal kind; what a row cannot see is smoothed as everything is."""
    segments = made_up_segments(5, longest=7)
    maps = {id(segment): random_map(segment, causal=True) for segment in segments}
    source = HandMadeSource(segments, lambda segment: maps[id(segment)], kind="decoder")
    found = DistancesMeasurement(HandMadeRun(source, RunOptions())).measure().tables["head_distances"]
    total, rows = np.zeros((6, 6)), 0
    for segment in segments:
        own = maps[id(segment)].reshape(6, len(segment), len(segment))
        for row in range(len(segment)):
            smooth = 0.999 * own[:, row] + 0.001 / len(segment)
            total += [[jensenshannon(a, b) ** 2 for b in smooth] for a in smooth]
            rows += 1
    heads = [(layer, head) for layer in (1, 2) for head in (1, 2, 3)]
    assert matrix_of(found, heads, kind="decoder") == pytest.approx(total / rows, rel=1e-5, abs=1e-8)
    # Five documents have no interval.
    assert found["ci_low"].isna().all()


@pytest.fixture(scope="module")
def stats(run):
    from headscope.analyses.stats.compute import StatsMeasurement

    return StatsMeasurement(run).measure()


def test_the_map_is_made_of_what_earlier_stages_found(run, distances, stats):
    best = stand_in(
        SYNTAX_BEST,
        selection="held-out",
        relation=["obj", "det"],
        layer=2,
        accuracy=[0.8, 0.7],
        baseline_accuracy=[0.2, 0.9],
        margin=[0.6, -0.2],
        q_value=0.01,
    )
    coreference = stand_in(COREF, selection="held-out", kind="encoder", layer=3, head=1, accuracy=0.8, q_value=0.01)
    earlier = {
        "distances": distances,
        "stats": stats,
        "syntax": StageResult(name="syntax", tables={"syntax_best": best}),
        "coref": StageResult(name="coref", tables={"coref": coreference}),
    }
    found = HeadMapMeasurement(run, earlier=earlier).measure()
    assert found.name == "map"
    assert list(found.tables) == ["head_map", "head_clusters", "layer_effect"]
    table = found.tables["head_map"].set_index(["layer", "head"])
    assert table["finds"].to_dict() == {
        (1, 1): "", (1, 2): "", (2, 1): "obj", (2, 2): "", (3, 1): "coreference", (3, 2): ""
    }  # fmt: skip
    named = roles(stats.tables["stats"]).set_index(["layer", "head"])["role"]
    assert table["role"].to_dict() == named.to_dict()
    results = DivergenceAccumulator.from_state(distances.state).compute()
    plain = map_tables(results, roles={}, finds=None, seed=4)
    for name in ("head_clusters", "layer_effect"):
        pd.testing.assert_frame_equal(found.tables[name], plain[name])
    assert found.facts["map"] == {"permutations": 10_000, "resamples": 200, "fewest_clusters": 4, "most_clusters": 12}


def test_the_map_of_distances_alone(run, distances):
    table = HeadMapMeasurement(run, earlier={"distances": distances}).measure().tables["head_map"]
    assert table[["role", "finds"]].isna().all(axis=None)
    assert table[["x", "y", "cluster"]].notna().all(axis=None)


def test_a_map_without_distances_is_refused(run, stats):
    with pytest.raises(OptionError) as refused:
        HeadMapMeasurement(run, earlier={"stats": stats}).measure()
    assert str(refused.value) == ("the map of heads needs their distances; request the stage distances as well")


def test_one_layer_is_noted():
    segments = made_up_segments(3, longest=5)
    source = HandMadeSource(segments, lambda segment: random_map(segment, layers=1))
    run = HandMadeRun(source, RunOptions())
    found = HeadMapMeasurement(run, earlier={"distances": DistancesMeasurement(run).measure()}).measure()
    assert found.notes == (
        "map: whether heads of a layer are alike cannot be said of encoder attention: there is one layer, and no pair "
        "of heads of different layers",
    )
