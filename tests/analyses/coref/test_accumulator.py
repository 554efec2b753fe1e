"""Coreference heads: a case worked by hand with the usual traps, a plain loop, and the law of accumulators."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.coref.mentions import FIELD, MENTION_TYPES
from headscope.analyses.coref.sums import CoreferenceAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.segment import Segment
from headscope.statistics.sums.groups import GROUPS
from support.coreference import mention_table, segments_with_mentions
from support.hand_made import HandMadeSource, random_map
from support.inputs import CLS, SEP, eager_maps, forward_inputs, vocabulary
from support.tiny_models import shared_tiny_model

SEGMENTS = segments_with_mentions(14, seed=7, longest=14, documents=12)


def result(source, **options):
    accumulator = CoreferenceAccumulator(source.layout, **options)
    scan(source, [accumulator])
    return accumulator.compute()


# [CLS] Ann-a met Sue , and she [SEP]: `Ann-a` has two pieces.
WORD_IDS = [-1, 0, 0, 1, 2, 3, 4, 5, -1]
ANN, SUE, SHE = 0, 2, 5


def hand_segment(document="hand") -> Segment:
    table = mention_table(
        starts=np.array([ANN, SUE, SHE]),
        ends=np.array([ANN + 1, SUE + 1, SHE + 1]),
        heads=np.array([ANN, SUE, SHE]),
        entities=np.array([0, 1, 0]),
        types=np.array([2, 2, 1]),
        words=6,
    )
    ids = np.array([CLS, 10, 11, 12, 13, 14, 15, 16, SEP])
    return Segment(
        document=document,
        index=0,
        ids=ids,
        token_types=np.zeros_like(ids),
        word_ids=np.array(WORD_IDS),
        words=("Anna", "met", "Sue", ",", "and", "she"),
        fields={FIELD: table},
    )


def from_she(row: list[float], *, back: float = 0.0) -> np.ndarray:
    """A map whose row of `she` is given; all others look at `[SEP]`, but for `back` from Anna's pieces to `she`."""
    weights = np.zeros((9, 9))
    weights[:, 8] = 1.0
    weights[7] = row
    weights[1:3, 7], weights[1:3, 8] = back, 1 - back
    return weights


# columns: [CLS] Ann a met Sue , and she [SEP]
HAND = [
    # Anna's pieces together have more than Sue.
    ([0.0, 0.15, 0.15, 0.1, 0.25, 0.0, 0.05, 0.1, 0.2], True, True),
    # Sue has most.
    ([0.0, 0.15, 0.15, 0.0, 0.4, 0.0, 0.1, 0.1, 0.1], False, False),
    # Most goes to words that are no candidates (`and`), to herself and to special tokens.
    ([0.1, 0.1, 0.05, 0.0, 0.1, 0.0, 0.2, 0.25, 0.2], True, False),
    # A tie: the leftmost.
    ([0.0, 0.1, 0.2, 0.0, 0.3, 0.0, 0.2, 0.0, 0.2], True, True),
    # Nothing to any candidate, nor to any other word.
    ([0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 0.4], False, False),
]


@pytest.mark.parametrize(("row", "right", "strict"), HAND)
def test_a_case_worked_by_hand(row, right, strict):
    # The other direction must not count: whatever Anna gives `she` changes nothing.
    for back in (0.0, 0.9):
        source = HandMadeSource([hand_segment()], lambda _, back=back: from_she(row, back=back)[None, None])
        (sums,) = result(source)
        assert sums.kind == "encoder"
        assert sums.counts.tolist() == [[1, 1, 0, 0]]
        assert sums.hits[0, 0, 0].tolist() == [right, right, 0, 0]
        (sums,) = result(source, strict=True)
        assert sums.hits[0, 0, 0].tolist() == [strict, strict, 0, 0]


def test_pieces_of_the_mention_are_joined_as_asked():
    """The mention's own word has two pieces: mean, first and largest differ."""
    segment = hand_segment()
    word_ids = np.array([-1, 0, 1, 2, 3, 4, 5, 5, -1])
    segment = replace(segment, word_ids=word_ids)
    weights = np.zeros((9, 9))
    weights[:, 8] = 1.0
    # columns: [CLS] Anna met Sue , and sh e [SEP]
    weights[6] = [0.0, 0.3, 0.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.5]
    weights[7] = [0.0, 0.2, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.4]
    source = HandMadeSource([segment], lambda _: weights[None, None])
    found = {pooling: int(result(source, pooling=pooling)[0].hits[0, 0, 0, 0]) for pooling in ("mean", "first", "max")}
    # mean: 0.25 against 0.3; first: 0.3 against 0.2; max: 0.3 against 0.4
    assert found == {"mean": 0, "first": 1, "max": 0}
    with pytest.raises(ValueError, match=r"^pooling 'sum' is not known; choose one of mean, first, max$"):
        CoreferenceAccumulator(source.layout, pooling="sum")


def plain_loop(segments, maps, *, strict=False):
    """Counts by document, every mention, layer, head and word in turn: the definition written out."""
    out = {}
    for segment, weights in zip(segments, maps):
        table = segment.fields.get(FIELD)
        if table is None:
            continue
        layers, heads = weights.shape[:2]
        for i in range(len(table)):
            head, entity = int(table.heads[i]), table.entities[i]
            earlier = [j for j in range(i) if table.heads[j] < head]
            if not any(table.entities[j] == entity for j in earlier):
                continue
            words = sorted({int(table.heads[j]) for j in earlier})
            good = {int(table.heads[j]) for j in range(len(table)) if table.entities[j] == entity} & set(words)
            if strict:
                words = sorted(set(segment.word_ids[segment.word_ids >= 0].tolist()) - {head})
            hits, n = out.setdefault(segment.document, (np.zeros((layers, heads, 4)), np.zeros(4)))
            own = np.flatnonzero(segment.word_ids == head)
            kinds = [0, int(table.types[i])]
            n[kinds] += 1
            for layer in range(layers):
                for number in range(heads):
                    best, best_word = 0.0, None
                    for word in words:
                        keys = np.flatnonzero(segment.word_ids == word)
                        share = np.mean([sum(weights[layer, number, q, k] for k in keys) for q in own])
                        if share > best:
                            best, best_word = share, word
                    hits[layer, number, kinds] += best_word in good
    names = sorted(out)
    return np.stack([out[name][0] for name in names]), np.stack([out[name][1] for name in names])


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("strict", [False, True])
def test_random_maps_agree_with_the_plain_loop(kind, strict):
    def weights(segment):
        return random_map(segment, causal=kind == "decoder")

    for side in ("left", "right"):
        source = HandMadeSource(SEGMENTS, weights, kind=kind, side=side)
        (sums,) = result(source, strict=strict)
        hits, n = plain_loop(SEGMENTS, [weights(segment) for segment in SEGMENTS], strict=strict)
        np.testing.assert_array_equal(sums.counts, n)
        np.testing.assert_array_equal(sums.hits, hits)
    assert 0.1 < sums.hits[..., 0].sum() / (6 * n[:, 0].sum()) < 0.9  # or the comparison shows little


@settings(max_examples=15)
@given(
    order=st.permutations(range(len(SEGMENTS))),
    batch_size=st.integers(1, 16),
    height=st.one_of(st.none(), st.integers(1, 14)),
    side=st.sampled_from(["left", "right"]),
    cut=st.integers(0, len(SEGMENTS)),
    strict=st.booleans(),
)
def test_the_law_with_mentions(order, batch_size, height, side, cut, strict):
    whole = HandMadeSource(SEGMENTS, random_map)
    (expected,) = result(whole, strict=strict)
    shuffled = [SEGMENTS[i] for i in order]
    parts = []
    for share in (shuffled[cut:], shuffled[:cut]):
        accumulator = CoreferenceAccumulator(whole.layout, strict=strict)
        if share:
            scan(HandMadeSource(share, random_map, batch_size=batch_size, height=height, side=side), [accumulator])
        parts.append(CoreferenceAccumulator.from_state(accumulator.state()))
    parts[0].merge(parts[1])
    (found,) = parts[0].compute()
    for name in ("hits", "counts", "baselines"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_more_documents_than_groups():
    segments = segments_with_mentions(GROUPS + 150, seed=8, longest=9)
    results = []
    for chosen in (segments, segments[::-1]):
        source = HandMadeSource(chosen, random_map, batch_size=64)
        accumulator = CoreferenceAccumulator(source.layout)
        scan(source, [accumulator])
        results.append(accumulator)
    first, second = (each.compute()[0] for each in results)
    np.testing.assert_array_equal(first.hits, second.hits)
    hits, n = plain_loop(segments, [random_map(segment) for segment in segments])
    np.testing.assert_array_equal(first.hits.sum(0), hits.sum(0))
    np.testing.assert_array_equal(first.counts.sum(0), n.sum(0))
    assert sum(bool(len(s.fields[FIELD].scored)) for s in segments if FIELD in s.fields) > 100


def test_types_add_up_and_nothing_is_counted_without_mentions():
    (sums,) = result(HandMadeSource(SEGMENTS, random_map))
    assert MENTION_TYPES[0] == "all"
    np.testing.assert_array_equal(sums.counts[:, 0], sums.counts[:, 1:].sum(1))
    np.testing.assert_array_equal(sums.hits[..., 0], sums.hits[..., 1:].sum(-1))
    bare = [replace(segment, fields={}) for segment in SEGMENTS]
    (nothing,) = result(HandMadeSource(bare, random_map))
    assert nothing.hits.shape == (0, 2, 3, 4)
    assert nothing.counts.shape == (0, 4)
    assert nothing.baselines.shape == (0, 4, 4)


def test_other_options_are_not_merged():
    layout = HandMadeSource(SEGMENTS, random_map).layout
    with pytest.raises(ValueError, match=r"strict True; merge scans of one model only$"):
        CoreferenceAccumulator(layout).merge(CoreferenceAccumulator(layout, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "gpt2", "mistral", "modernbert", "bart", "t5"])
def test_models_agree_with_the_plain_loop_over_their_own_maps(family):
    """Through the model's own code in uneven batches, against output_attentions one by one."""
    model = shared_tiny_model(family)
    vocab = vocabulary(has_cls=family not in ("gpt2", "mistral"))
    anatomy = examine(model, vocab)
    groups = [SEGMENTS[i : i + 5] for i in range(0, len(SEGMENTS), 5)]
    results = result(ModelSource(model, anatomy, vocab, groups))
    assert [sums.kind for sums in results] == [p.kind for p in anatomy.layout if p.kind != "cross"]
    maps = {sums.kind: [] for sums in results}
    shifted = []
    for segment in SEGMENTS:
        found = eager_maps(model, **forward_inputs(segment, anatomy))
        for sums in results:
            layers = found.get(sums.kind, found.get("self"))
            maps[sums.kind].append(torch.cat(layers).numpy())
        shifted.append(replace(segment, word_ids=np.concatenate([[-1], segment.word_ids[:-1]])))
    for sums in results:
        behind = anatomy.encoder_decoder and sums.kind == "decoder"
        hits, n = plain_loop(shifted if behind else SEGMENTS, maps[sums.kind])
        np.testing.assert_array_equal(sums.counts, n)
        np.testing.assert_array_equal(sums.hits, hits)
