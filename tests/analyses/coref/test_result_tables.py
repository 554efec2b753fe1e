"""Tables of section 4.3, from counts made by hand."""

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.coref.gap import GapSums
from headscope.analyses.coref.sums import CoreferenceSums
from headscope.analyses.coref.tables import COREF, COREF_DIFFERENCES, COREF_HEADS, GAP, CoreferenceResult, gap_table

GROUPS = 24
# Of 2 mentions in each document, one pronoun and one name: what heads 1-1, 1-2, 2-1 and 2-2 find.
FOUND = {(1, 1): (0, 0), (1, 2): (1, 1), (2, 1): (1, 0), (2, 2): (0, 1)}


def sums(found=FOUND, *, kind="encoder", baselines=((0, 0), (0, 0), (1, 0), (0, 1))):
    hits = np.zeros((GROUPS, 2, 2, 4), dtype=np.int32)
    for (layer, head), (pronoun, proper) in found.items():
        hits[:, layer - 1, head - 1] = [pronoun + proper, pronoun, proper, 0]
    fixed = [[pronoun + proper, pronoun, proper, 0] for pronoun, proper in baselines]
    return CoreferenceSums(
        kind=kind,
        hits=hits,
        counts=np.tile(np.array([2, 1, 1, 0], dtype=np.int32), (GROUPS, 1)),
        baselines=np.tile(np.array(fixed, dtype=np.int32), (GROUPS, 1, 1)),
    )


def test_every_head_on_every_type():
    heads = CoreferenceResult([sums()]).heads()
    assert list(heads.columns) == COREF_HEADS.names
    assert heads["model"].unique().tolist() == ["trained"]
    assert heads["seed"].isna().all()
    accuracy = heads.set_index(["layer", "head", "mention_type"])["accuracy"]
    for (layer, head), (pronoun, proper) in FOUND.items():
        own = accuracy[layer, head]
        assert own["all"] == (pronoun + proper) / 2
        assert (own["pronoun"], own["proper"]) == (pronoun, proper)
        assert np.isnan(own["nominal"])
    # Every document says the same: nothing varies, but all right and all wrong are not certain.
    known = heads[heads["mention_type"] != "nominal"]
    sure = known["accuracy"].isin([0, 1])
    np.testing.assert_allclose(known.loc[~sure, "ci_low"], known.loc[~sure, "accuracy"])
    np.testing.assert_allclose(known.loc[~sure, "ci_high"], known.loc[~sure, "accuracy"])
    assert ((known["ci_high"] - known["ci_low"])[sure] > 0.01).all()


def test_one_head_stands_for_all_types():
    result = CoreferenceResult([sums()])
    systems = result.systems()
    assert list(systems.columns) == COREF.names
    assert result.best() == ("encoder", 1, 2)
    own = systems[systems["system"] == "head"]
    assert set(zip(own["layer"], own["head"])) == {(1, 2)}
    assert own.set_index(["selection", "mention_type"])["share"]["held-out"].dropna().eq(1).all()
    # Better than both simple baselines in every document: as sure as can be.
    held, paper = own.query("mention_type == 'all'")["q_value"].tolist()
    assert 0 < held < 1e-6
    assert np.isnan(paper)
    assert own.query("mention_type != 'all'")["q_value"].isna().all()
    fixed = systems[systems["model"] == "baseline"].set_index(["system", "mention_type"])["accuracy"]
    assert (fixed["head match, else nearest", "all"], fixed["rules", "proper"]) == (0.5, 1)


def test_held_out_selection_pays_for_choosing():
    """24 heads that guess: the best on the same data looks better than the best chosen on other documents."""
    rng = np.random.default_rng(0)
    guesses = (rng.random((GROUPS, 4, 6, 1)) < 0.3).astype(np.int32)
    made = CoreferenceSums(
        kind="encoder",
        hits=np.repeat(guesses, 4, axis=-1),
        counts=np.ones((GROUPS, 4), dtype=np.int32),
        baselines=np.zeros((GROUPS, 4, 4), dtype=np.int32),
    )
    systems = CoreferenceResult([made]).systems().query("system == 'head' and mention_type == 'all'")
    rows = systems.set_index("selection")
    assert rows["accuracy"]["same-data"] == pytest.approx(guesses.mean(0).max())
    assert rows["held_out"]["held-out"] < rows["accuracy"]["same-data"] - 0.05
    # The head that is named has its accuracy on all documents beside that on those which did not choose it.
    named = guesses[:, int(rows["layer"]["held-out"]) - 1, int(rows["head"]["held-out"]) - 1]
    assert rows["all_documents"]["held-out"] == pytest.approx(named.mean())
    assert rows["accuracy"]["held-out"] < named.mean() - 0.02
    assert rows["ci_low"]["held-out"] < 0.3 < rows["ci_high"]["held-out"]


def test_the_head_is_compared_with_each_baseline_on_the_same_mentions():
    """The intervals of 80.3 and 73.8 overlapped, and their difference was sure."""
    rng = np.random.default_rng(1)
    level = rng.uniform(0.3, 0.9, size=(GROUPS, 1))
    counts = np.full((GROUPS, 4), 12, dtype=np.int32)
    right = np.rint(counts * level).astype(np.int32)
    hits = np.zeros((GROUPS, 1, 2, 4), dtype=np.int32)
    hits[:, 0, 1] = right
    baselines = np.repeat(np.maximum(right - 1, 0)[:, None], 4, axis=1)
    made = CoreferenceSums(kind="encoder", hits=hits, counts=counts, baselines=baselines)
    result = CoreferenceResult([made])
    gaps = result.differences()
    assert list(gaps.columns) == COREF_DIFFERENCES.names
    own = gaps[(gaps["than"] == "rules") & (gaps["mention_type"] == "all")].iloc[0]
    assert own["difference"] == pytest.approx(1 / 12, abs=0.01)
    assert own["ci_low"] > 0
    systems = result.systems().query("mention_type == 'all' and selection != 'same-data'").set_index("system")
    assert systems["ci_low"]["head"] < systems["ci_high"]["rules"]
    types = gaps[gaps["than"] == "head"]
    assert set(zip(types["mention_type"], types["than_type"])) == {
        ("pronoun", "proper"), ("pronoun", "nominal"), ("proper", "nominal")
    }  # fmt: skip
    assert (types["difference"] == 0).all()
    against = result.against(CoreferenceResult([made], model="control", control_seed=3))
    assert (against["difference"] == 0).all()
    assert set(against["seed"]) == {3}


def test_a_control_has_a_seed_and_no_baselines():
    systems = CoreferenceResult([sums()], model="control", control_seed=2).systems()
    assert systems["model"].unique().tolist() == ["control"]
    assert systems["seed"].unique().tolist() == [2]
    assert systems["q_value"].isna().all()


def test_kinds_are_told_apart():
    better = {(1, 1): (1, 1), (1, 2): (0, 0), (2, 1): (0, 0), (2, 2): (0, 0)}
    none = dict.fromkeys(FOUND, (0, 0))
    result = CoreferenceResult([sums(none), sums(better, kind="decoder")])
    assert result.best() == ("decoder", 1, 1)
    heads = result.heads()
    assert heads.groupby("kind")["accuracy"].max().to_dict() == {"encoder": 0, "decoder": 1}


def test_nothing_counted_names_no_head():
    empty = CoreferenceSums(
        kind="encoder",
        hits=np.zeros((GROUPS, 2, 2, 4), dtype=np.int32),
        counts=np.zeros((GROUPS, 4), dtype=np.int32),
        baselines=np.zeros((GROUPS, 4, 4), dtype=np.int32),
    )
    assert CoreferenceResult([empty]).best() is None


def test_gap_by_hand():
    """A row a document, every fourth without a true name; head 1-2 is always right, 1-1 for men only."""
    men = np.arange(GROUPS) % 2 == 0
    true = np.arange(GROUPS) % 4 != 3
    genders = np.stack([np.ones(GROUPS, bool), men, ~men], axis=1)
    right = np.zeros((GROUPS, 1, 2, 3), dtype=np.int32)
    right[:, 0, 1] = genders & true[:, None]
    right[:, 0, 0] = genders & (true & men)[:, None]
    half = (genders & true[:, None]) / 2
    made = GapSums(
        kind="encoder",
        right=right,
        baselines=np.stack([half, right[:, 0, 0], right[:, 0, 1]], axis=1).astype(np.float64),
        true=(genders & true[:, None]).astype(np.int32),
        rows=genders.astype(np.int32),
    )
    table = gap_table([made])
    assert list(table.columns) == GAP.names
    value = table.set_index(["system", "measure", "gender"])["value"].sort_index()
    heads = table[table["system"] == "head"]
    assert set(zip(heads["layer"], heads["head"], heads["selection"])) == {(1, 2, "held-out"), (1, 2, "same-data")}
    assert value["head", "accuracy", "all"].tolist() == [1, 1]
    # All 12 rows of men and 6 of 12 of women have a true name: 2 tp / (marked + true).
    expected = {"all": 2 * 18 / (24 + 18), "masculine": 1.0, "feminine": 2 * 6 / (12 + 6)}
    for gender, f1 in expected.items():
        same = heads.query("selection == 'same-data' and measure == 'f1' and gender == @gender")
        assert same["value"].tolist() == [pytest.approx(f1)]
        assert value["first", "f1", gender] == pytest.approx(f1)
    assert value["random", "accuracy", "all"] == 0.5
    assert value["nearest", "accuracy", "masculine"] == 1
    assert value["nearest", "accuracy", "feminine"] == 0
    n = table.drop_duplicates(["measure", "gender"]).set_index(["measure", "gender"])["n_cases"]
    assert n.to_dict() == {
        **{("accuracy", "all"): 18, ("accuracy", "masculine"): 12, ("accuracy", "feminine"): 6},
        **{("f1", "all"): 24, ("f1", "masculine"): 12, ("f1", "feminine"): 12},
    }
    assert isinstance(table["layer"].dtype, pd.Int64Dtype)
