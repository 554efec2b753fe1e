"""Accuracy by distance, and where heads rest: every number again by a plain loop."""

import pandas as pd
import pytest

from headscope.analyses.syntax.dependency_result import DependencyResult
from headscope.analyses.syntax.detail_tables import distance_table, noop_table
from headscope.analyses.syntax.gold_arcs import DIRECTIONS, NOOP_CLASSES, OFFSETS
from headscope.analyses.syntax.tables import SYNTAX_BY_DISTANCE, SYNTAX_NOOP
from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from headscope.statistics.tables.frames import DISTANCES
from support.counts import TABLE, filled, holding


@pytest.fixture(scope="module")
def counted():
    accumulator, arrays = filled(30, seed=1)
    result = DependencyResult(accumulator, seed=5)
    return result, result.best(), arrays


def relations_of(relation):
    """The relations that a row sums over; the root has no distance, so that no curve has it."""
    if relation == "all":
        return [name for name in TABLE.relations if name != "root"]
    if relation == "all_but_punct_root":
        return [name for name in TABLE.relations if name not in ("root", "punct")]
    return [relation]


def test_accuracy_by_distance(counted):
    result, best, arrays = counted
    table = distance_table(result, best)
    assert list(table.columns) == SYNTAX_BY_DISTANCE.names
    held_out = best[best["selection"] == "held-out"].set_index("relation")
    assert list(table["relation"].unique()) == list(held_out.index)
    for row in table.to_dict("records"):
        chosen = held_out.loc[row["relation"]]
        names = ["kind", "layer", "head", "direction", "baseline_offset"]
        assert [row[name] for name in names] == chosen[names].tolist()
        cells = [
            TABLE.relations.index(name) * len(DISTANCES) + DISTANCES.index(row["distance"])
            for name in relations_of(row["relation"])
        ]
        place = (row["layer"] - 1, row["head"] - 1, DIRECTIONS.index(row["direction"]))
        hits = arrays[f"n_hits.{row['kind']}"][(slice(None), cells, *place)].sum(1)
        n = arrays["n_arcs"][:, cells].sum(1)
        assert row["n_arcs"] == n.sum()
        assert row["accuracy"] == hits.sum() / n.sum()
        own = ratio_interval(hits[:, None], n[:, None], scale="share")
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((own.low[0], own.high[0]), abs=1e-12)
        fixed = arrays["n_offsets"][:, cells, OFFSETS.index(row["baseline_offset"])].sum()
        assert row["baseline_accuracy"] == fixed / n.sum()
    # A curve adds up to its relation, the root apart.
    n = table.groupby("relation", sort=False)["n_arcs"].sum()
    assert (n.drop("all") == held_out["n_arcs"].drop("all")).all()
    roots = arrays["n_arcs"][:, TABLE.relations.index("root") * len(DISTANCES)].sum()
    assert n["all"] == held_out.loc["all", "n_arcs"] - roots < held_out.loc["all", "n_arcs"]


def test_distances_that_do_not_occur_have_no_row():
    _, arrays = filled(30, seed=2)
    obj = TABLE.relations.index("obj") * len(DISTANCES)
    missing = [DISTANCES.index(name) for name in ("3", "over 10")]
    for name in ("n_arcs", "n_offsets", "n_hits.encoder", "n_hits.decoder"):
        arrays[name][:, [obj + place for place in missing]] = 0
    result = DependencyResult(holding(arrays))
    table = distance_table(result, result.best())
    assert list(table.loc[table["relation"] == "obj", "distance"]) == ["1", "2", "4", "5", "6-10"]
    assert list(table.loc[table["relation"] == "case", "distance"]) == list(DISTANCES)


def test_attention_to_special_tokens_from_the_words_that_attend_and_from_all_others(counted):
    result, best, arrays = counted
    table = noop_table(result, best)
    assert list(table.columns) == SYNTAX_NOOP.names
    assert list(table["relation"]) == [name for name in ("obj", "nsubj", "case") for _ in NOOP_CLASSES]
    assert list(table["key_class"]) == ["sep", "cls"] * 3
    for row in table.to_dict("records"):
        place = (row["layer"] - 1, row["head"] - 1, NOOP_CLASSES.index(row["key_class"]))
        attention = arrays[f"noop.{row['kind']}"][(slice(None), slice(None), *place)]
        words = arrays[f"n_attending.{row['kind']}"]
        own = TABLE.relations.index(row["relation"]) * 2 + DIRECTIONS.index(row["direction"])
        # All words are the dependents of all relations: of the root, punctuation and rare relations too.
        everything = [relation * 2 for relation in range(len(TABLE.relations))]
        n, n_all = words[:, own], words[:, everything].sum(1)
        given, all_given = attention[:, own], attention[:, everything].sum(1)
        attending, others = given.sum() / n.sum(), (all_given - given).sum() / (n_all - n).sum()
        assert (row["n_words"], row["n_other_words"]) == (n.sum(), n_all.sum() - n.sum())
        assert row["attending"] == pytest.approx(attending, abs=1e-12)
        assert row["others"] == pytest.approx(others, abs=1e-12)
        assert row["difference"] == pytest.approx(attending - others, abs=1e-12)
        own = difference_interval(*(side[:, None] for side in (given, n, all_given - given, n_all - n)))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((own.low[0], own.high[0]), abs=1e-12)
        assert own.low[0] < row["difference"] < own.high[0]
    assert set(table["direction"]) == {*DIRECTIONS}


def test_a_tokenizer_without_such_a_token_has_no_row():
    _, arrays = filled(12, seed=3, most=8)
    for kind in ("encoder", "decoder"):
        arrays[f"noop.{kind}"][..., 0] = 0
    result = DependencyResult(holding(arrays))
    assert set(noop_table(result, result.best())["key_class"]) == {"cls"}


def test_fewer_than_ten_documents_have_no_interval():
    accumulator, _ = filled(9, seed=4, most=12)
    result = DependencyResult(accumulator)
    best = result.best()
    for table in (distance_table(result, best), noop_table(result, best)):
        assert len(table) > 5
        assert table[["ci_low", "ci_high"]].isna().all(axis=None)
    assert noop_table(result, best)["difference"].notna().all()


def test_no_best_head_makes_empty_tables(counted):
    result, best, _ = counted
    nothing = best.iloc[:0]
    for table, columns in (
        (distance_table(result, nothing), SYNTAX_BY_DISTANCE.names),
        (noop_table(result, nothing), SYNTAX_NOOP.names),
    ):
        assert isinstance(table, pd.DataFrame)
        assert (list(table.columns), len(table)) == (columns, 0)


def test_the_first_selection_is_taken(counted):
    result, best, _ = counted
    same = best[best["selection"] == "same-data"]
    heads = distance_table(result, same).groupby("relation", sort=False)[["layer", "head"]].first()
    expected = same.set_index("relation")[["layer", "head"]]
    pd.testing.assert_frame_equal(heads, expected, check_dtype=False)
