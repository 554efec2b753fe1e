"""The law of accumulators: how a corpus is split, ordered, batched, tiled and padded changes no answer."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.attention.anatomy import examine
from headscope.attention.scan import scan
from headscope.attention.source import ModelSource, left_padding_works
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.groups import GROUPS
from headscope.statistics.surface import SurfaceAccumulator
from headscope.study.results import surface_table
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments, vocabulary
from support.tiny_models import CONFIGS, shared_tiny_model

# Every accumulator of the package: name -> (factory over a layout, result as one table of numbers).
FAMILY = {
    "surface": (SurfaceAccumulator, lambda result: surface_table(result)),
}
SEGMENTS = made_up_segments(14, seed=7, longest=11, documents=12)


def answer(name: str, accumulator: Accumulator) -> pd.DataFrame:
    return FAMILY[name][1](accumulator.compute())


def assert_same(left: pd.DataFrame, right: pd.DataFrame, *, atol: float) -> None:
    assert list(left.columns) == list(right.columns)
    for column in left.columns:
        if left[column].dtype == float:
            np.testing.assert_allclose(left[column], right[column], atol=atol, rtol=0, equal_nan=True)
        else:
            assert left[column].equals(right[column])


@pytest.fixture(scope="module", params=sorted(FAMILY))
def reference(request):
    name = request.param
    source = HandMadeSource(SEGMENTS, random_map)
    accumulator = FAMILY[name][0](source.layout)
    scan(source, [accumulator])
    return name, accumulator


@settings(max_examples=40, deadline=None)
@given(
    order=st.permutations(range(len(SEGMENTS))),
    batch_size=st.integers(1, 16),
    height=st.one_of(st.none(), st.integers(1, 11)),
    side=st.sampled_from(["left", "right"]),
    cut=st.integers(0, len(SEGMENTS)),
    backwards=st.booleans(),
)
def test_any_split_order_batch_tile_and_padding_gives_the_same(
    reference, order, batch_size, height, side, cut, backwards
):
    name, whole = reference
    shuffled = [SEGMENTS[i] for i in order]
    parts = []
    for share in (shuffled[:cut], shuffled[cut:]):
        accumulator = FAMILY[name][0](HandMadeSource(SEGMENTS, random_map).layout)
        if share:
            source = HandMadeSource(share, random_map, batch_size=batch_size, height=height, side=side)
            scan(source, [accumulator])
        parts.append(accumulator)
    first, second = parts[::-1] if backwards else parts
    first.merge(second)
    assert_same(answer(name, first), answer(name, whole), atol=1e-12)


def test_inputs_are_not_changed(reference):
    name, _ = reference
    source = HandMadeSource(SEGMENTS, random_map)
    scan(source, [FAMILY[name][0](source.layout)])
    again = HandMadeSource(SEGMENTS, random_map)
    scan(again, [])
    for left, right in zip(source.fed, again.fed):
        np.testing.assert_array_equal(left.numpy(), right.numpy())


def test_the_state_rebuilds_the_answer_and_goes_on(reference):
    name, whole = reference
    kind = type(whole)
    rebuilt = kind.from_state(whole.state())
    assert_same(answer(name, rebuilt), answer(name, whole), atol=0)
    half = HandMadeSource(SEGMENTS[:6], random_map)
    rest = HandMadeSource(SEGMENTS[6:], random_map)
    accumulator = kind(half.layout)
    scan(half, [accumulator])
    resumed = kind.from_state(accumulator.state())
    scan(rest, [resumed])
    assert_same(answer(name, resumed), answer(name, whole), atol=1e-12)


def test_another_version_is_refused(reference):
    _, whole = reference
    kind = type(whole)
    state = whole.state()
    state[f"{kind.__name__}.version"] = np.array(99)
    with pytest.raises(
        ValueError,
        match=rf"^expected the state of {kind.__name__}, version 1, found version 99; compute it again$",
    ):
        kind.from_state(state)
    with pytest.raises(ValueError, match=r"found none; compute it again$"):
        kind.from_state({})


def test_another_shape_is_not_merged(reference):
    name, whole = reference
    other = FAMILY[name][0](HandMadeSource(SEGMENTS, lambda s: random_map(s, layers=3)).layout)
    with pytest.raises(ValueError, match="merge scans of one model only"):
        type(whole).from_state(whole.state()).merge(other)


def test_more_documents_than_groups_are_folded_whatever_the_order(reference):
    name, _ = reference
    segments = made_up_segments(GROUPS + 60, seed=8, longest=4)
    answers = []
    for chosen in (segments, segments[::-1]):
        source = HandMadeSource(chosen, random_map, batch_size=32)
        accumulator = FAMILY[name][0](source.layout)
        scan(source, [accumulator])
        assert len(accumulator.sums) <= GROUPS
        answers.append(answer(name, accumulator))
    halves = []
    for chosen in (segments[:150], segments[150:]):
        source = HandMadeSource(chosen, random_map, batch_size=32)
        halves.append(FAMILY[name][0](source.layout))
        scan(source, [halves[-1]])
        assert not halves[-1].sums.folded
    halves[0].merge(halves[1])
    answers.append(answer(name, halves[0]))
    for other in answers[1:]:
        assert_same(answers[0], other, atol=1e-12)


@pytest.mark.parametrize("name", sorted(FAMILY))
@pytest.mark.parametrize("family", sorted(CONFIGS))
@pytest.mark.parametrize(("side", "size"), [("right", 1), ("right", 16), ("left", 1), ("left", 16)])
def test_end_to_end_padding_and_batch_size_do_not_matter(name, family, side, size):
    """Pairs and singles of mixed length through every family's own code, in float32."""
    model = shared_tiny_model(family)
    vocab = vocabulary()
    anatomy = examine(model, vocab)
    if side == "left" and not left_padding_works(model, anatomy):
        pytest.skip(
            f"{family} takes no position ids: left padding is refused, which is tested with the families"
        )
    segments = made_up_segments(18, seed=9, longest=15)

    def run(side, size):
        groups = [segments[i : i + size] for i in range(0, len(segments), size)]
        accumulator = FAMILY[name][0](anatomy.layout)
        scan(ModelSource(model, anatomy, vocab, groups, padding_side=side), [accumulator])
        return answer(name, accumulator)

    assert_same(run(side, size), run("right", 5), atol=1e-5)
