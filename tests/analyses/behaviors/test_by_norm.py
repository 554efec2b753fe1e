"""Behaviors by what heads write: against plain loops, and heads of which weight and norm say different things."""

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.analyses.behaviors.catalog import NAMES, NATURAL, Delimiter
from headscope.analyses.behaviors.compute import heads_table
from headscope.analyses.behaviors.sums import BehaviorAccumulator, NormBehaviorAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.output_norms import OutputNorms
from headscope.attention.scan import scan
from headscope.statistics.tables.frames import NORM, WEIGHT, of_measure
from support.behaving import DELIMITERS, few_words, keys_of, masks, of_ids
from support.hand_made import HandMadeSource, random_map
from support.inputs import CLS, SEP, vocabulary
from support.tiny_models import tiny_model
from support.written_by_hand import PARTS, lengths_by_hand

# By its own experiment alone.
MEASURED = tuple(name for name in NAMES if name != "retrieval")


SEGMENTS = few_words(24)


def plain(maps, lengths, visible_of, *, special):
    """Value and number of rows of one head by plain loops over rows and keys, `{name: (value, n)}`, and rows left out.

    Args:
        maps: its attention in each segment, `[row, key]`.
        lengths: `|f_j|` of each segment's keys, `[key]`.
    """
    out, left_out = {name: [0.0, 0] for name in MEASURED}, 0
    for segment, own, length in zip(SEGMENTS, maps, lengths, strict=True):
        ids, visible = segment.ids.tolist(), visible_of(len(segment))
        for row in range(len(ids)):
            written = [float(own[row, key]) * float(length[key]) for key in range(len(ids))]
            total = sum(written)
            if total == 0.0:
                left_out += 1
                continue
            for name in MEASURED:
                if name == "distance":
                    found = sum(each * abs(row - key) for key, each in enumerate(written))
                else:
                    keys = keys_of(name, ids, row, visible, special=special)
                    if not keys:
                        continue
                    found = sum(written[key] for key in keys)
                out[name][0] += found / total
                out[name][1] += 1
    return {name: (value / max(n, 1), n) for name, (value, n) in out.items()}, left_out


def check(result, place, expected, *, atol=0.0, rtol=0.0):
    for name, (value, n) in expected.items():
        column = NAMES.index(name)
        assert result.n[(*place, column)] == n, name
        if n:
            found = result.heads.value[(*place, column)]
            np.testing.assert_allclose(found, value, atol=atol, rtol=rtol, err_msg=name)
        else:
            assert np.isnan(result.heads.value[(*place, column)])


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize(("height", "side"), [(None, "right"), (3, "left")])
def test_every_number_is_that_of_a_plain_loop(kind, height, side):
    def maps_of(segment):
        return random_map(segment, causal=kind == "decoder")

    source = HandMadeSource(SEGMENTS, maps_of, kind=kind, height=height, side=side)
    sums = NormBehaviorAccumulator(source.layout, DELIMITERS)
    alone = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums, alone])
    weight, norm = sums.compute()
    assert (weight.measure, norm.measure) == (WEIGHT, NORM)
    # The weights' own numbers are what they are alone.
    np.testing.assert_array_equal(weight.sums, alone.compute()[0].sums)
    np.testing.assert_array_equal(norm.uniform, weight.uniform)
    for layer, head in np.ndindex(2, 3):
        maps = [maps_of(segment)[layer, head] for segment in SEGMENTS]
        lengths = [head + 1 + segment.ids % 7 for segment in SEGMENTS]
        expected, left_out = plain(maps, lengths, masks(kind), special=(CLS, SEP))
        check(norm, (layer, head), expected, atol=1e-12)
        assert left_out == sums.left_out[kind][layer, head] == 0
    assert (norm.n == weight.n).all()


def test_rows_cut_into_blocks_give_the_same(monkeypatch):
    source = HandMadeSource(SEGMENTS, random_map)
    results = []
    for weights_at_once in (1 << 19, 40):
        monkeypatch.setattr("headscope.analyses.behaviors.key_sums._WEIGHTS_AT_ONCE", weights_at_once)
        sums = NormBehaviorAccumulator(source.layout, DELIMITERS)
        scan(source, [sums])
        results.append(sums.compute())
    for whole, cut in zip(*results, strict=True):
        np.testing.assert_allclose(cut.heads.value, whole.heads.value, atol=1e-13)


def models():
    encoder, decoder = tiny_model("bert"), tiny_model("llama")
    assert decoder.config.num_key_value_heads < decoder.config.num_attention_heads
    return {"bert": (encoder, vocabulary(), "encoder"), "llama": (decoder, vocabulary(has_cls=False), "decoder")}


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_models_agree_with_their_own_eager_attention_in_float64(family, path):
    model, known, kind = models()[family]
    output = PARTS[family](model)[1][1]
    with torch.no_grad():  # the second head of the second layer writes nothing
        width = output.weight.shape[1] // 4
        output.weight[:, width : 2 * width] = 0.0
    anatomy = examine(model, known, path=path)
    found = []
    for size, tile_limit in ((7, 1 << 26), (3, 200)):
        batches = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
        sums = NormBehaviorAccumulator(anatomy.layout, DELIMITERS)
        scan(ModelSource(model, anatomy, known, batches, tile_limit=tile_limit), [sums])
        found.append(sums)
    exact = [lengths_by_hand(model.double(), family, segment) for segment in SEGMENTS]
    special = (CLS, SEP) if kind == "encoder" else ()
    for layer, head in np.ndindex(3, 4):
        maps = [weights[layer][head] for weights, _ in exact]
        lengths = [each[layer, head] for _, each in exact]
        expected, left_out = plain(maps, lengths, masks(kind), special=special)
        for sums in found:
            _, norm = sums.compute()
            check(norm, (layer, head), expected, rtol=1e-5, atol=1e-6)
            assert sums.left_out[kind][layer, head] == left_out
            assert (left_out > 0) == ((layer, head) == (1, 1))


def test_a_model_outside_the_interface_has_weights_alone():
    model, known = tiny_model("bloom"), vocabulary(has_cls=False)
    anatomy = examine(model, known)
    sums = NormBehaviorAccumulator(anatomy.layout, DELIMITERS)
    scan(ModelSource(model, anatomy, known, [SEGMENTS[:7]]), [sums])
    assert set(heads_table(sums.compute(), NATURAL)["measure"]) == {WEIGHT}


BLANK = 10 + Delimiter.BLANK


class ByHand(HandMadeSource):
    """Heads made by hand that write as much of each key as its token and place say: of each the same."""

    @staticmethod
    def lengths(ids, at):
        return torch.full((1, len(at)), 0.3)

    @classmethod
    def written_of(cls, weights, ids, rows):
        at = torch.arange(ids.shape[1])
        keys = torch.stack([cls.lengths(own, at) for own in ids]).double()
        return OutputNorms(keys=keys, outputs=torch.zeros(weights.shape[:3]))


class OfTheFirstNothing(ByHand):
    """The first head writes nothing of the first token; the second nothing at all; the third nothing but of blanks."""

    @staticmethod
    def lengths(ids, at):
        return torch.stack([(at > 0).double(), at * 0.0, (ids == BLANK).double()])


def sinking(segment):
    """Nine tenths of every row on the first token, a tenth on the one before; the fourth token on the first alone."""
    length = len(segment)
    out = np.zeros((length, length))
    for row in range(length):
        out[row, 0] += 0.9
        out[row, max(row - 1, 0)] += 0.1
    out[3] = 0.0
    out[3, 0] = 1.0
    return out


def spread(segment):
    """Even over what is seen."""
    seen = np.tril(np.ones((len(segment), len(segment))))
    return seen / seen.sum(1, keepdims=True)


def test_heads_that_look_where_they_write_nothing():
    rng = np.random.default_rng(0)
    segments = []
    for place in range(20):
        ids = rng.permutation(np.arange(20, 90))[:24]
        ids[5] = BLANK
        segments.append(of_ids(ids, document=f"doc{place}"))

    def maps(segment):
        return np.stack([sinking(segment), sinking(segment), spread(segment)])[None]

    source = OfTheFirstNothing(segments, maps, kind="decoder")
    sums = NormBehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    table = heads_table(sums.compute(), NATURAL)
    own = table[table["head"].notna()].set_index(["measure", "head", "behavior"])

    def of(measure, head, behavior):
        row = own.loc[(measure, head, behavior)]
        return row["value"], row["n_rows"], row["shows"] if pd.notna(row["shows"]) else None

    # It looks at the first token, and what it writes is of the token before.
    value, n, shows = of("weight", 1, "first")
    assert (round(value, 2), n, shows) == (0.91, 20 * 24, True)
    assert of("norm", 1, "first") == (0.0, 20 * 21, False)  # rows 0, 1 and 3 see the first token alone
    assert of("norm", 1, "local") == (1.0, 20 * 21, True)
    assert not of("weight", 1, "local")[2]
    assert of("norm", 1, "distance")[0] == 1.0
    # One that writes nothing has no such shares, and every row of it is counted.
    assert of("weight", 2, "first")[2]
    value, n, shows = of("norm", 2, "first")
    assert (np.isnan(value), n, shows) == (True, 0, None)
    # One that looks everywhere, and writes of blanks alone: before the blank it writes nothing.
    assert not of("weight", 3, "blank")[2]
    assert of("norm", 3, "blank") == (1.0, 20 * 19, True)
    assert sums.left_out["decoder"].tolist() == [[20 * 3, 20 * 24, 20 * 5]]
    # The layer's mean is over the rows of all heads that write something: 21 in which all of it is local, and 19 of the
    # third head, of which four see the blank at most three away, one of them as itself.
    mean = table[table["head"].isna()].set_index(["measure", "behavior"]).loc["norm"]
    assert mean.loc["first", "value"] == 0.0
    assert mean.loc["local", "value"] == (21 + 3) / (21 + 19)
    assert mean.loc["local", "n_rows"] == 20 * 21


def test_equal_lengths_change_nothing():
    source = ByHand(SEGMENTS, lambda s: random_map(s, heads=1, causal=True), kind="decoder")
    sums = NormBehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    weight, norm = sums.compute()
    np.testing.assert_allclose(norm.heads.value, weight.heads.value, atol=1e-13)
    np.testing.assert_array_equal(norm.n, weight.n)


def test_what_is_chosen_is_chosen_by_weights():
    source = HandMadeSource(SEGMENTS, random_map)
    sums = NormBehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [sums])
    both = heads_table(sums.compute(), NATURAL)
    alone = BehaviorAccumulator(source.layout, DELIMITERS)
    scan(source, [alone])
    weights = of_measure(both).reset_index(drop=True)
    assert weights.equals(heads_table(alone.compute(), NATURAL))
    assert (both["measure"] == "norm").sum() == len(weights)
