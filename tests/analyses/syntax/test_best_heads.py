"""The tables of section 4.2 from counts: every number again by a plain loop, ties, and small treebanks."""

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.dependency_result import DependencyResult
from headscope.analyses.syntax.gold_arcs import DIRECTIONS, OFFSETS, ArcTable, DependencyOptions
from headscope.analyses.syntax.tables import SYNTAX, SYNTAX_BEST, SYNTAX_DIFFERENCES
from headscope.attention.scan import scan
from headscope.models.anatomy import KindLayout
from headscope.statistics.inference.confidence import difference_interval, doubted, ratio_interval
from headscope.statistics.inference.estimate import difference
from headscope.statistics.inference.selection import halves
from headscope.statistics.inference.significance import p_above, selection_p
from headscope.statistics.tables.frames import DISTANCES
from support.counts import LAYOUT, TABLE, filled, holding
from support.hand_made import HandMadeSource
from support.trees import tied_map, tree_segments

FREQUENT = ("obj", "nsubj", "case", "punct")  # acl has too few arcs, root is never listed
CELLS = {name: slice(i * len(DISTANCES), (i + 1) * len(DISTANCES)) for i, name in enumerate(TABLE.relations)}


def cells_of(relation):
    names = {
        "all": TABLE.relations,
        "all_but_punct_root": [name for name in TABLE.relations if name not in ("root", "punct")],
    }.get(relation, [relation])
    return np.concatenate([np.arange(TABLE.cells)[CELLS[name]] for name in names])


def heads_of(layout=LAYOUT, directions=DIRECTIONS):
    for part in layout:
        for layer in range(part.layers):
            for head in range(part.heads):
                for place, direction in enumerate(directions):
                    yield part.kind, layer, head, place, direction


@pytest.fixture(scope="module")
def counted():
    return filled(30, seed=1)


@pytest.fixture(scope="module")
def tables(counted):
    result = DependencyResult(counted[0], seed=5)
    return result.heads(), result.best(), result.baselines()


def test_every_head_direction_and_relation_has_its_row(counted, tables):
    _, arrays = counted
    table = tables[0]
    assert list(table.columns) == SYNTAX.names
    relations = ("all", "all_but_punct_root", *FREQUENT)
    assert set(table["relation"]) == set(relations)
    assert arrays["n_arcs"][:, cells_of("acl")].sum() < 100 < arrays["n_arcs"][:, cells_of("case")].sum()
    assert len(table) == len(relations) * (2 * 3 + 1 * 2) * 2
    rows = table.set_index(["kind", "layer", "head", "direction", "relation"])
    assert rows.index.is_unique
    for relation in relations:
        cells = cells_of(relation)
        n = arrays["n_arcs"][:, cells].sum()
        for kind, layer, head, place, direction in heads_of():
            row = rows.loc[kind, layer + 1, head + 1, direction, relation]
            assert row["n_arcs"] == n
            hits = arrays[f"n_hits.{kind}"][:, cells, layer, head, place].sum(1)
            assert row["accuracy"] == hits.sum() / n
            own = ratio_interval(hits[:, None], arrays["n_arcs"][:, cells].sum(1)[:, None], scale="share")
            assert (row["ci_low"], row["ci_high"]) == pytest.approx((own.low[0], own.high[0]), abs=1e-12)
    assert (table["model"] == "trained").all()
    assert table["seed"].isna().all()


def by_benjamini_and_hochberg(p):
    order = sorted(p, key=p.__getitem__)
    least, q = 1.0, {}
    for rank in range(len(order), 0, -1):
        least = min(least, p[order[rank - 1]] * len(order) / rank)
        q[order[rank - 1]] = least
    return q


def test_q_values_are_those_of_one_family_of_tests_against_every_offset(counted, tables):
    _, arrays = counted
    p = {}
    for relation in FREQUENT:
        cells = cells_of(relation)
        n = arrays["n_arcs"][:, [cells]].sum(2)
        offsets = arrays["n_offsets"][:, cells].sum(1)
        for kind, layer, head, place, direction in heads_of():
            hits = arrays[f"n_hits.{kind}"][:, cells, layer, head, place].sum(1)
            every = [
                p_above(doubted(difference(hits[:, None], n, offsets[:, [at]], n), n.sum(0)))[0]
                for at in range(len(OFFSETS))
            ]
            p[kind, layer + 1, head + 1, direction, relation] = max(every)
    q = by_benjamini_and_hochberg(p)
    rows = tables[0].set_index(["kind", "layer", "head", "direction", "relation"])["q_value"]
    for key, value in q.items():
        assert rows.loc[key] == pytest.approx(value, abs=1e-12), key
    assert rows.loc[:, :, :, :, ["all", "all_but_punct_root"]].isna().all()
    assert 0.1 < np.mean([value < 0.05 for value in q.values()]) < 0.9  # or this shows little


def held_out_by_hand(hits, n, seed):
    """Accuracy and the choices of held-out selection among `[document, candidate]`."""
    accuracy, picks = [], []
    for first in halves(len(hits), splits=20, seed=seed):
        total = 0
        for half in (first, ~first):
            sums = hits[half].sum(0).tolist()
            picks.append(sums.index(max(sums)))
            total += hits[~half][:, picks[-1]].sum()
        accuracy.append(total / n.sum())
    totals = hits.sum(0)
    named = min(set(picks), key=lambda c: (-picks.count(c), -totals[c], c))
    return np.mean(accuracy), named, picks.count(named) / len(picks)


def times_scored(hits, offsets, named, seed):
    """The offset that is chosen most often with a head, and how often each document is scored by both."""
    times = np.zeros((offsets.shape[1], len(hits)), dtype=int)
    for first in halves(len(hits), splits=20, seed=seed):
        for half in (first, ~first):
            if hits[half].sum(0).argmax() == named:
                times[offsets[half].sum(0).argmax(), ~half] += 1
    offset = int(times.sum(1).argmax())
    return offset, times[offset]


def test_the_best_head_of_each_relation(counted, tables):
    _, arrays = counted
    all_heads, best, _ = tables
    assert list(best.columns) == SYNTAX_BEST.names
    relations = ["all", "all_but_punct_root", "obj", "nsubj", "case"]  # punctuation has no best head
    assert list(best["relation"]) == relations * 2
    assert list(best["selection"]) == ["held-out"] * 5 + ["same-data"] * 5
    candidates = list(heads_of())
    rows = best.set_index(["selection", "relation"])
    q = all_heads.set_index(["kind", "layer", "head", "direction", "relation"])["q_value"]
    selection_p_of = {}
    for relation in relations:
        cells = cells_of(relation)
        n = arrays["n_arcs"][:, cells].sum(1)
        hits = np.stack(
            [arrays[f"n_hits.{k}"][:, cells, layer, h, d].sum(1) for k, layer, h, d, _ in candidates], axis=1
        )
        offsets = arrays["n_offsets"][:, cells].sum(1)
        selection_p_of[relation] = selection_p(hits[..., None], offsets[..., None], n[:, None], seed=5)[0]
        for selection in ("held-out", "same-data"):
            row = rows.loc[selection, relation]
            if selection == "held-out":
                accuracy, named, share = held_out_by_hand(hits, n, 5)
                offset, times = times_scored(hits, offsets, named, 5)
                assert row["share"] == pytest.approx(share, abs=1e-12)
                assert row["held_out"] == pytest.approx(accuracy, abs=1e-12)
                assert row["held_out_ci_low"] < accuracy < row["held_out_ci_high"]
            else:
                named, offset = int(hits.sum(0).argmax()), int(offsets.sum(0).argmax())
                times = np.ones(len(hits), dtype=int)
                assert np.isnan([row["share"], row["held_out"], row["held_out_ci_low"]]).all()
            kind, layer, head, _, direction = candidates[named]
            place = (kind, layer + 1, head + 1, direction)
            assert tuple(row[["kind", "layer", "head", "direction"]]) == place
            assert row["n_arcs"] == n.sum()
            assert row["baseline_offset"] == OFFSETS[offset]
            # Both where the other half chose them, or on all documents, and their paired difference.
            asked = times @ n
            assert row["accuracy"] == pytest.approx(times @ hits[:, named] / asked, abs=1e-12)
            assert row["baseline_accuracy"] == pytest.approx(times @ offsets[:, offset] / asked, abs=1e-12)
            assert row["ci_low"] < row["accuracy"] < row["ci_high"]
            assert row["baseline_ci_low"] < row["baseline_accuracy"] < row["baseline_ci_high"]
            assert row["margin"] == pytest.approx(row["accuracy"] - row["baseline_accuracy"], abs=1e-12)
            gap = difference_interval(hits[:, named], n, offsets[:, offset], n, answers=True)
            ends = (row["margin_ci_low"], row["margin_ci_high"])
            if selection == "held-out":
                assert row["all_documents"] == pytest.approx(hits[:, named].sum() / n.sum(), abs=1e-12)
                assert row["all_documents_ci_low"] < row["all_documents"] < row["all_documents_ci_high"]
                assert ends[1] - ends[0] > 0.99 * float(gap.high - gap.low)
            else:
                assert np.isnan([row["all_documents"], row["all_documents_ci_low"]]).all()
                assert ends == pytest.approx((float(gap.low), float(gap.high)), abs=1e-12)
                np.testing.assert_equal(row["q_value"], q.loc[*place, relation])
    # The choice is tested, one test a relation; punctuation is in the family, the totals are not.
    n, hits, offsets = (
        np.stack([table[:, cells_of(name)].sum(1) for name in FREQUENT], axis=-1)
        for table in (
            arrays["n_arcs"],
            np.stack([arrays[f"n_hits.{k}"][:, :, layer, h, d] for k, layer, h, d, _ in candidates], axis=2),
            arrays["n_offsets"],
        )
    )
    p = dict(zip(FREQUENT, selection_p(hits, offsets, n, seed=5).tolist()))
    for name, value in by_benjamini_and_hochberg(p).items():
        if name != "punct":
            assert rows.loc[("held-out", name), "q_value"] == pytest.approx(value, abs=1e-12)
            assert p[name] == pytest.approx(selection_p_of[name], abs=1e-12)
    assert rows.loc[("held-out", "all"), "q_value"] != rows.loc[("held-out", "all"), "q_value"]
    # The optimism of choosing and scoring on the same data.
    assert (rows.loc["same-data", "accuracy"] > rows.loc["held-out", "held_out"]).mean() > 0.7


def test_the_selection_is_compared_with_a_controls_on_the_same_documents(counted):
    trained = DependencyResult(counted[0], seed=5)
    other, _ = filled(30, seed=9)
    control = DependencyResult(other, model="control", control_seed=1, seed=5)
    same = trained.against(DependencyResult(counted[0], model="control", control_seed=0, seed=5))
    assert list(same.columns) == SYNTAX_DIFFERENCES.names
    assert (same["difference"] == 0).all()
    assert (same["ci_low"] < 0).all()
    assert set(same["relation"]) == {"all", "all_but_punct_root", "obj", "nsubj", "case"}
    gaps = trained.against(control).set_index("relation")
    ours, theirs = (
        one.best().query("selection == 'held-out'").set_index("relation")["held_out"] for one in (trained, control)
    )
    assert set(ours.index) == set(theirs.index) == set(gaps.index)
    for row in gaps.to_dict("records"):
        assert row["ci_low"] < row["difference"] < row["ci_high"]
    assert set(gaps["than"]) == {"control"}
    assert set(gaps["seed"]) == {1}


def test_fixed_offsets_and_branching(counted, tables):
    _, arrays = counted
    rows = tables[2].set_index(["baseline", "offset", "relation"])
    assert rows.index.is_unique
    for relation in ("all", "all_but_punct_root", *FREQUENT):
        cells = cells_of(relation)
        n = arrays["n_arcs"][:, cells].sum()
        for place, offset in enumerate(OFFSETS):
            row = rows.loc["offset", offset, relation]
            assert row["n_arcs"] == n
            assert row["accuracy"] == arrays["n_offsets"][:, cells, place].sum() / n
            assert row["ci_low"] <= row["accuracy"] <= row["ci_high"]
        for name, offset in (("right-branching", 1), ("left-branching", -1)):
            assert rows.loc[name, offset, relation].equals(rows.loc["offset", offset, relation])
    assert len(rows) == 6 * 12


def test_a_control_goes_through_the_same_selection_and_has_no_tests(counted):
    trained, control = (
        DependencyResult(counted[0], seed=5, **names) for names in ({}, {"model": "control", "control_seed": 2})
    )
    table, best = control.heads(), control.best()
    for frame in (table, best):
        assert set(frame["model"]) == {"control"}
        assert set(frame["seed"]) == {2}
        assert frame["q_value"].isna().all()
    columns = [name for name in SYNTAX_BEST.names if name not in ("model", "seed", "q_value")]
    pd.testing.assert_frame_equal(best[columns], trained.best()[columns])


def test_another_seed_draws_other_halves(counted):
    one, two = (DependencyResult(counted[0], seed=seed).best() for seed in (0, 1))
    same = one["selection"] == "same-data"
    assert (one.loc[~same, "held_out"] != two.loc[~same, "held_out"]).any()
    pd.testing.assert_series_equal(one.loc[same, "accuracy"], two.loc[same, "accuracy"])


def notebook_best(arrays, relation, candidates):
    """The notebook's last of the sorted (score, layer, head, direction), and its greatest (score, offset)."""
    cells = cells_of(relation)
    n = arrays["n_arcs"][:, cells].sum()
    scores = []
    for kind, layer, head, place, _ in candidates:
        name = ("dep->head", "head<-dep")[place]
        scores.append((arrays[f"n_hits.{kind}"][:, cells, layer, head, place].sum() / n, layer, head, name))
    offsets = arrays["n_offsets"][:, cells].sum((0, 1)) / n
    baselines = {offset: offsets[OFFSETS.index(offset)] for offset in range(-3, 3) if offset}
    baselines[0] = 0.0
    return sorted(scores)[-1], max((score, offset) for offset, score in baselines.items())


@pytest.mark.parametrize("seed", range(6))
def test_the_notebooks_choices(seed):
    layout = (KindLayout("encoder", 3, 2),)
    options = DependencyOptions(pooling="first", compat=True)
    _, arrays = filled(24, seed=seed, layout=layout, options=options)
    # Ties: some heads and offsets are copies of others; offsets outside -3..2 would win.
    rng = np.random.default_rng(seed)
    hits, offsets = arrays["n_hits.encoder"], arrays["n_offsets"]
    for _ in range(3):
        (to, to_head, to_way), (of, of_head, of_way) = (
            (rng.integers(3), rng.integers(2), rng.integers(2)) for _ in range(2)
        )
        hits[:, :, to, to_head, to_way] = hits[:, :, of, of_head, of_way]
    offsets[..., OFFSETS.index(2)] = offsets[..., OFFSETS.index(-2)]
    offsets[..., OFFSETS.index(1)] = offsets[..., OFFSETS.index(-1)]
    offsets[..., [OFFSETS.index(-5), OFFSETS.index(3)]] = arrays["n_arcs"][..., None]
    result = DependencyResult(holding(arrays, layout=layout, options=options))
    best, every = result.best(), result.heads()
    assert set(best["selection"]) == {"same-data"}
    assert list(best["relation"]) == ["all", "all_but_punct_root", "obj", "nsubj", "case"]
    for row in best.to_dict("records"):
        (score, layer, head, name), (baseline, offset) = notebook_best(arrays, row["relation"], heads_of(layout))
        direction = {"dep->head": "dependent->head", "head<-dep": "head->dependent"}[name]
        assert (row["layer"], row["head"], row["direction"]) == (layer + 1, head + 1, direction)
        assert (row["accuracy"], row["baseline_offset"], row["baseline_accuracy"]) == (score, offset, baseline)
        # The interval is that of the head named.
        own = every[
            (every["layer"] == layer + 1)
            & (every["head"] == head + 1)
            & (every["direction"] == direction)
            & (every["relation"] == row["relation"])
        ].iloc[0]
        assert (row["ci_low"], row["ci_high"]) == (own["ci_low"], own["ci_high"])


def test_a_small_treebank_has_the_totals_only():
    accumulator, arrays = filled(4, seed=3, most=2)
    result = DependencyResult(accumulator)
    table, best = result.heads(), result.best()
    assert set(table["relation"]) == {"all", "all_but_punct_root"}
    assert set(table["n_arcs"]) == {arrays["n_arcs"].sum(), arrays["n_arcs"][:, cells_of("all_but_punct_root")].sum()}
    assert table[["ci_low", "ci_high", "q_value"]].isna().all(axis=None)
    assert best["accuracy"].notna().all()
    assert best[["ci_low", "baseline_ci_low", "margin_ci_low", "q_value"]].isna().all(axis=None)
    assert result.special_changes()["of"] == 2 * 16


def test_one_document_has_nothing_held_out():
    accumulator, _ = filled(1, seed=4, most=60)
    best = DependencyResult(accumulator).best()
    assert list(best["selection"]) == ["same-data"] * 5
    # A relation that one document alone has.
    _, arrays = filled(11, seed=4, most=30)
    for name in arrays:
        own = CELLS["case"] if "noop" not in name else TABLE.relations.index("case")
        arrays[name][1:, own] = 0
    best = DependencyResult(holding(arrays)).best()
    assert set(best.loc[best["relation"] == "case", "selection"]) == {"same-data"}
    assert set(best.loc[best["relation"] == "obj", "selection"]) == {"held-out", "same-data"}


def test_special_tokens_and_reach_from_a_scan(monkeypatch):
    monkeypatch.setattr("headscope.analyses.syntax.dependency_result.FEWEST_ARCS", 5)
    segments = tree_segments(24, seed=5, documents=12)
    table = ArcTable(("nsubj", "obj", "case", "root", "punct", "other"))

    def result(special, kind="encoder"):
        def weights(segment):
            return tied_map(segment, causal=kind == "decoder")

        source = HandMadeSource(segments, weights, kind=kind)
        accumulator = DependencyAccumulator(source.layout, table, DependencyOptions(special=special))
        scan(source, [accumulator])
        return DependencyResult(accumulator)

    without, kept = result(False), result(True)
    changes = np.abs(without.heads()["accuracy"] - kept.heads()["accuracy"])
    for one in (without, kept):
        found = one.special_changes()
        assert found["of"] == len(changes)
        assert found["accuracies"] == (changes > 0).sum() > 0
        assert found["largest"] == pytest.approx(changes.max(), abs=1e-12)
    rows = without.heads().set_index(["relation", "layer", "head", "direction"]).sort_index()
    placed = total = 0
    for segment in segments:
        known = set(segment.word_ids.tolist())
        for word, (head, relation) in enumerate(zip(segment.fields["heads"], segment.fields["relns"])):
            if relation == "obj":
                total += 1
                placed += word in known and head - 1 in known
    assert (rows.loc["obj", "reachable"] == placed / total).all()
    assert 0 < placed < total
    # Causal: each arc can be followed in one direction only.
    causal = result(False, kind="decoder").heads().set_index(["relation", "direction", "layer", "head"])
    causal = causal["reachable"].sort_index()
    both = causal.loc["obj", "dependent->head"] + causal.loc["obj", "head->dependent"]
    np.testing.assert_allclose(both, placed / total)
    assert (causal.loc["obj", "dependent->head"] > 0).all()


def test_the_place_of_a_row(counted):
    result = DependencyResult(counted[0])
    for place, (kind, layer, head, _, direction) in enumerate(heads_of()):
        row = {"kind": kind, "layer": layer + 1, "head": head + 1, "direction": direction}
        assert result.candidates[place] == row
