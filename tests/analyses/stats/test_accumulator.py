"""Statistics against attention made by hand, and against a plain loop."""

import math
from collections import defaultdict

import numpy as np
import pytest

from headscope.analyses.stats.compute import stats_table
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.scan import scan
from headscope.encoding.segment import Segment
from headscope.errors import AttentionError
from headscope.statistics.roles import roles
from headscope.statistics.statistic_catalog import NAMES
from support.hand_made import HandMadeSource, random_map
from support.inputs import CLS, COMMA, DOT, SEP, made_up_segments


def segment(ids, document="d"):
    ids = np.array(ids)
    return Segment(document=document, index=0, ids=ids, token_types=ids * 0, word_ids=ids * 0 - 1)


def table_of(segments, weights, **options):
    source = HandMadeSource(segments, weights, **options)
    accumulator = StatsAccumulator(source.layout)
    scan(source, [accumulator])
    return stats_table(accumulator.compute())


def value(table, statistic, head=1, layer=1, column="value"):
    own = table[(table.statistic == statistic) & (table["head"] == head) & (table.layer == layer)]
    assert len(own) == 1
    return float(own[column].iloc[0])


SENTENCE = segment([CLS, 10, 11, DOT, 12, COMMA, 13, SEP])
N = len(SENTENCE)


def always(step):
    """A head that puts everything on the token `step` away, on the nearest there is at the edges."""
    weights = np.zeros((1, 1, N, N))
    for row in range(N):
        weights[0, 0, row, min(max(row + step, 0), N - 1)] = 1
    return lambda _: weights


@pytest.mark.parametrize(("step", "name", "edge"), [(-1, "previous", 0), (1, "next", N - 1), (0, "current", None)])
def test_a_head_that_always_looks_one_way_comes_out_as_that(step, name, edge):
    table = table_of([SENTENCE], always(step))
    for statistic in ("previous", "next", "current"):
        if statistic == name:
            # At the edge there is nobody to look at: the row counts, with 0.
            assert value(table, statistic) == pytest.approx((N - (edge is not None)) / N, abs=1e-15)
        else:
            # The edge row looks at itself instead.
            assert value(table, statistic) == pytest.approx(
                1 / N if statistic == "current" and edge is not None else 0, abs=1e-15
            )
    assert value(table, "entropy") == 0
    assert value(table, "max_weight") == 1
    if name != "current":
        assert roles(table).role.tolist() == [name]


def test_columns_not_rows_are_keys():
    """Everybody looks at [SEP], and [SEP] looks at [CLS]: who attends to whom must not be swapped."""
    weights = np.zeros((1, 1, N, N))
    weights[0, 0, :, N - 1] = 1
    weights[0, 0, N - 1] = np.eye(N)[0]
    table = table_of([SENTENCE], lambda _: weights)
    assert value(table, "sep") == pytest.approx((N - 1) / N)
    assert value(table, "cls") == pytest.approx(1 / N)
    assert value(table, "sep_to_sep") == 0
    assert value(table, "other_to_sep") == 1
    assert value(table, "period_comma") == 0


def test_punctuation_is_full_stop_and_comma_together():
    weights = np.zeros((1, 1, N, N))
    weights[0, 0, :, 3] = 0.75
    weights[0, 0, :, 5] = 0.25
    table = table_of([SENTENCE], lambda _: weights)
    assert value(table, "period_comma") == pytest.approx(1)
    assert value(table, "entropy") == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)))
    assert value(table, "max_weight") == 0.75


def test_uniform_attention_equals_its_own_reference():
    table = table_of([SENTENCE], lambda _: np.full((1, 1, N, N), 1 / N))
    for statistic in set(NAMES) - {"sink_logit"}:
        assert value(table, statistic) == pytest.approx(value(table, statistic, column="uniform"), abs=1e-12)
    assert value(table, "entropy") == pytest.approx(math.log(N))
    assert value(table, "previous", column="uniform") == pytest.approx((N - 1) / N / N)
    assert value(table, "period_comma", column="uniform") == pytest.approx(2 / N)


def test_means_are_over_rows_then_over_segments_that_have_such_rows():
    """A short segment weighs as much as a long one; one without [SEP] is not in the mean over [SEP] rows."""
    short, long, without = (segment([CLS, SEP], "a"), segment([CLS, 9, 9, 9, 9, SEP], "b"), segment([CLS, 9, 9], "c"))

    def weights(one):
        n = len(one)
        each = np.zeros((1, 1, n, n))
        each[0, 0, :, 0 if one is not short else n - 1] = 1
        return each

    table = table_of([short, long, without], weights)
    assert value(table, "cls") == pytest.approx(2 / 3)
    assert value(table, "sep_to_sep") == pytest.approx(1 / 2)
    assert value(table, "sep_to_sep", column="n_inputs") == 2
    assert value(table, "cls", column="n_inputs") == 3


def test_what_cannot_occur_is_null_and_counts_nothing():
    """A decoder's first position takes the part of [CLS]; nobody sees the next token; [CLS] sees itself only."""
    segments = made_up_segments(3, seed=1)
    table = table_of(segments, lambda s: random_map(s, causal=True), kind="decoder")
    own = table[table["head"] == 1].set_index(["layer", "statistic"])
    for name in ("next", "entropy_cls"):
        assert np.isnan(own.loc[(1, name), "value"])
        assert own.loc[(1, name), "n_inputs"] == 0
    assert own.loc[(1, "cls"), "n_inputs"] == 3


def test_against_a_plain_loop():
    segments = made_up_segments(12, seed=2, longest=9, documents=11)
    table = table_of(segments, random_map)
    layers, heads = random_map(segments[0]).shape[:2]
    punctuation = {DOT, COMMA}
    for layer in range(layers):
        for head in range(heads):
            collected = {}
            for one in segments:
                weights, ids, n = random_map(one)[layer, head], one.ids.tolist(), len(one)
                rows = defaultdict(list)
                for i in range(n):
                    row = weights[i]
                    rows["previous"].append(row[i - 1] if i > 0 else 0)
                    rows["next"].append(row[i + 1] if i + 1 < n else 0)
                    rows["current"].append(row[i])
                    to_sep = sum(w for w, t in zip(row, ids) if t == SEP)
                    rows["cls"].append(sum(w for w, t in zip(row, ids) if t == CLS))
                    rows["sep"].append(to_sep)
                    rows["period_comma"].append(sum(w for w, t in zip(row, ids) if t in punctuation))
                    rows["sep_to_sep" if ids[i] == SEP else "other_to_sep"].append(to_sep)
                    entropy = -sum(w * math.log(w) for w in row if w > 0)
                    rows["entropy"].append(entropy)
                    if ids[i] == CLS:
                        rows["entropy_cls"].append(entropy)
                    rows["max_weight"].append(max(row))
                for name, numbers in rows.items():
                    collected.setdefault(name, []).append(sum(numbers) / len(numbers))
            assert len(collected) == 11
            for name, numbers in collected.items():
                assert value(table, name, head + 1, layer + 1) == pytest.approx(np.mean(numbers), abs=1e-12)
                assert value(table, name, head + 1, layer + 1, "n_inputs") == len(numbers)


def test_the_layer_row_is_the_mean_over_its_heads():
    table = table_of(made_up_segments(12, seed=3), random_map)
    for (layer, statistic), own in table.groupby(["layer", "statistic"]):
        mean = own[own["head"].isna()]
        assert len(mean) == 1, (layer, statistic)
        assert float(mean.value.iloc[0]) == pytest.approx(
            own[own["head"].notna()].value.mean(), abs=1e-12, nan_ok=statistic == "sink_logit"
        )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_attention_that_is_not_a_number_stops_the_run(bad):
    segments = made_up_segments(3, seed=4)

    def weights(one):
        values = random_map(one)
        if one is segments[2]:
            values[1, 2, 1, 0] = bad
        return values

    with pytest.raises(AttentionError) as stopped:
        table_of(segments, weights)
    assert str(stopped.value) == (
        "encoder head 2-3 has attention that is NaN or infinite, at token 2 of segment 1 of document doc2; the weights "
        "or the input overflow: try --dtype float32, and check the checkpoint"
    )
