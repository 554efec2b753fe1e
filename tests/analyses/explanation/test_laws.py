"""How documents are ordered, batched, cut into tiles, divided and resumed changes no bit of an explanation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.sample import row_sample
from headscope.analyses.explanation.sentence import WordNames
from headscope.analyses.explanation.sums import RowSampleAccumulator
from headscope.analyses.explanation.table_rows import example_records, explanation_tables, head_rows
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.attention.scan import scan
from headscope.statistics.statistic import Special
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments
from support.tiny_models import VOCABULARY

SEGMENTS = made_up_segments(36, seed=3, longest=17, documents=24)
MOST = 150


def attention(segment):
    """Heads that look at the previous token and at anything, by turns; one of six has nothing else than noise."""
    noise = random_map(segment)
    previous = np.eye(len(segment), k=-1)
    previous[0, 0] = 1.0
    share = np.linspace(0.0, 0.9, 6).reshape(2, 3, 1, 1)
    return share * previous + (1 - share) * noise


def scanned(segments, *, most=MOST, **how):
    """The sample of some segments' rows, as a scan keeps it."""
    source = HandMadeSource(segments or SEGMENTS[:1], attention, **how)
    accumulator = RowSampleAccumulator(source.layout, most=most)
    if segments:
        scan(source, [accumulator])
    return accumulator


@pytest.fixture(scope="module")
def whole():
    accumulator = scanned(SEGMENTS)
    assert len(accumulator.kept("encoder").rows) == MOST
    return accumulator


def assert_same_bits(accumulator, whole):
    state, expected = accumulator.state(), whole.state()
    assert list(state) == list(expected)
    for name, array in expected.items():
        assert array.tobytes() == np.asarray(state[name]).tobytes(), name


@pytest.mark.slow
@settings(max_examples=25)
@given(
    order=st.permutations(range(len(SEGMENTS))),
    batch_size=st.integers(1, 16),
    height=st.one_of(st.none(), st.integers(1, 17)),
    side=st.sampled_from(["left", "right"]),
    cuts=st.lists(st.integers(0, len(SEGMENTS)), max_size=3).map(sorted),
    resumed=st.booleans(),
    backwards=st.booleans(),
)
def test_no_order_batch_tile_shard_or_stop_changes_a_bit_of_the_sample(
    whole, order, batch_size, height, side, cuts, resumed, backwards
):
    shuffled = [SEGMENTS[number] for number in order]
    shards = [
        scanned(shuffled[first:last], batch_size=batch_size, height=height, side=side)
        for first, last in zip([0, *cuts], [*cuts, len(shuffled)], strict=True)
    ]
    if resumed:  # as a run that was killed reads the shards that it has kept
        shards = [RowSampleAccumulator.from_state(shard.state()) for shard in shards]
    first, *others = shards[::-1] if backwards else shards
    for other in others:
        first.merge(other)
    assert_same_bits(first, whole)


class Numbered:
    """A tokenizer that calls tokens by their numbers."""

    @staticmethod
    def convert_ids_to_tokens(ids):
        return [f"w{number}" for number in ids]


def tables_of(accumulator):
    """The tables of the heads by both measures."""
    samples = accumulator.compute()["encoder"]
    vocabulary = VocabularyFacts.of_names({number: f"w{number}" for number in range(VOCABULARY)})
    counts = np.bincount(np.concatenate([sample.segment.keys.ids for sample in samples]))

    def context_of(sample, visible):
        queries, keys = sample.segment.queries, sample.segment.keys
        return RowContext(
            rows=sample.rows, visible=visible, queries=queries, keys=keys, vocabulary=vocabulary.with_counts(counts)
        )

    sample = row_sample(samples, list(FEATURES.values()), context_of, seed=0)
    names = WordNames(vocabulary.with_counts(counts), counts, sample.columns)
    explanations, groups, examples = [], [], []
    for measure, layers in explain(sample, 2, examples=True).items():
        for layer, heads in enumerate(layers):
            of = {"corpus": "text", "kind": "encoder", "layer": layer + 1}
            how = {"measure": measure, "model": "trained"}
            rows, parts = head_rows({**of, **how}, heads, names=names, special=Special())
            explanations += rows
            groups += parts
            examples += example_records(of, heads, sample=sample, tokenizer=Numbered())
    return explanation_tables(explanations, groups, examples)


@pytest.mark.slow
def test_the_tables_are_the_same_bit_for_bit(whole):
    expected = tables_of(whole)
    assert expected["explanation"]["explained"].max() > 0.5
    assert len(expected["explanation_examples"]) == 6 * 3
    merged = scanned(SEGMENTS[:7:-1], batch_size=3, height=4, side="left")
    merged.merge(scanned(SEGMENTS[:8], batch_size=16))
    for accumulator in (merged, RowSampleAccumulator.from_state(whole.state())):
        for name, table in tables_of(accumulator).items():
            pd.testing.assert_frame_equal(table, expected[name], check_exact=True, obj=name)
