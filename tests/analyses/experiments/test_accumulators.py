"""The second copy alone, and retrieval: against plain loops, and on heads made by hand that come close."""

import numpy as np
import pytest

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.compute import best_table, heads_table
from headscope.analyses.experiments.compute import needles, repeated_tokens
from headscope.analyses.experiments.sums import CopyAccumulator, RetrievalAccumulator
from headscope.attention.scan import scan
from headscope.encoding.encoder import Frame
from headscope.statistics.tables.frames import NORM, WEIGHT
from support.hand_made import HandMadeSource, random_map

FRAME = Frame((2,), ())
IDS = np.arange(10, 99)
NONE = np.zeros(1, dtype=np.uint8)
REPEATED = repeated_tokens(IDS, FRAME, longest=50, seed=0, number=20)
TEXT = {f"doc{place}": np.random.default_rng(place).integers(10, 30, size=90) for place in range(12)}
NEEDLES = needles(TEXT, FRAME, longest=150, seed=0, number=12)


def causal(segment):
    return random_map(segment, causal=True)


def summed(make, segments, weights, **how):
    """Sums over decoder maps made by hand."""
    source = HandMadeSource(segments, weights, kind="decoder", **how)
    sums = make(source.layout, NONE)
    scan(source, [sums])
    weight, norm = sums.compute()
    assert (weight.measure, norm.measure) == (WEIGHT, NORM)
    return weight


def keys_in_copy(name, ids, row, _segment):
    """The keys of a row of the second copy, from the definition."""
    if name == "previous":
        return [row - 1]
    if name == "duplicate":
        return [key for key in range(row) if ids[key] == ids[row]]
    return [key for key in range(1, row) if ids[key - 1] == ids[row]]


@pytest.mark.parametrize("how", [{}, {"height": 7, "side": "left", "batch_size": 3}])
def test_only_the_second_copy_is_counted(how):
    result = summed(CopyAccumulator, REPEATED, causal, **how)
    for name in ("induction", "duplicate", "previous"):
        value = uniform = rows = 0.0
        for segment in REPEATED:
            own, (first, stop) = causal(segment)[1, 2], segment.fields["copy"]
            assert stop == len(segment) == 2 * (stop - first) + 1
            for row in range(first, stop):
                keys = keys_in_copy(name, segment.ids.tolist(), row, segment)
                if keys:
                    value += own[row, keys].sum()
                    uniform += len(keys) / (row + 1)
                    rows += 1
        column = NAMES.index(name)
        np.testing.assert_allclose(result.heads.value[1, 2, column], value / rows, atol=1e-12)
        np.testing.assert_allclose(result.uniform[1, column], uniform / rows, atol=1e-12)
        assert result.n[1, 2, column] == rows


@pytest.mark.parametrize("how", [{}, {"height": 9, "side": "left", "batch_size": 5}])
def test_retrieval_is_that_of_a_plain_loop(how):
    result = summed(RetrievalAccumulator, NEEDLES, causal, **how)
    for layer, head in np.ndindex(2, 3):
        hits = uniform = rows = 0.0
        for segment in NEEDLES:
            own, ids = causal(segment)[layer, head], segment.ids.tolist()
            (start, end), (first, stop) = segment.fields["needle"], segment.fields["copy"]
            assert ids[start:end] == ids[first:stop]
            for row in range(first, stop - 1):
                written = ids[row + 1]
                strongest = max(range(row + 1), key=lambda key: own[row, key])
                hits += start <= strongest < end and ids[strongest] == written
                uniform += sum(ids[key] == written for key in range(start, end)) / (row + 1)
                rows += 1
        column = NAMES.index("retrieval")
        np.testing.assert_allclose(result.heads.value[layer, head, column], hits / rows, atol=1e-12)
        np.testing.assert_allclose(result.uniform[layer, column], uniform / rows, atol=1e-12)
        assert result.n[layer, head, column] == rows == len(NEEDLES) * 15
    others = [column for column, name in enumerate(NAMES) if name != "retrieval"]
    assert (result.n[..., others] == 0).all()


def one_key(choose):
    """A head with all weight on one key of each row; on the row itself where there is none."""

    def weights(segment):
        out = np.zeros((len(segment), len(segment)))
        for row in range(len(segment)):
            key = choose(segment, row)
            out[row, row if key is None else key] = 1.0
        return out

    return weights


def before_copy(segment, row, *, ahead):
    """The key some places ahead of the row's own place in the needle (or in the first stretch)."""
    first, stop = segment.fields["copy"]
    start = segment.fields["needle"][0] if "needle" in segment.fields else first - (stop - first)
    return start + row - first + ahead if first <= row < stop and start + row - first + ahead < row else None


HEADS = {
    "next": lambda segment, row: before_copy(segment, row, ahead=1),  # what comes next, where it stood before
    "same": lambda segment, row: before_copy(segment, row, ahead=0),
    "previous": lambda segment, row: row - 1 if row else None,
    "current": lambda segment, row: None,
}


def stacked(segment):
    return np.stack([one_key(choose)(segment) for choose in HEADS.values()])[None]


def test_the_head_that_does_it_is_told_from_those_that_come_close():
    result = summed(CopyAccumulator, REPEATED, stacked)
    names = ("induction", "duplicate", "previous")
    table = heads_table([result], names)
    shows = table[table["head"].notna()].pivot(index="head", columns="behavior", values="shows")
    expected = {"next": "induction", "same": "duplicate", "previous": "previous", "current": None}
    for place, does in enumerate(expected.values(), start=1):
        assert [name for name in names if shows.loc[place, name]] == ([does] if does else [])
    best = best_table([result], names, seed=0).set_index("behavior")
    assert best["head"].to_dict() == {"induction": 1, "duplicate": 2, "previous": 3}
    assert (best["held_out"] > 0.9).all()


def test_a_head_that_copies_is_told_from_one_that_looks_at_the_same_token():
    table = heads_table([summed(RetrievalAccumulator, NEEDLES, stacked)], ("retrieval",))
    own = table[table["head"].notna()].set_index("head")
    assert own.loc[1, "value"] == 1.0
    assert own.loc[1, "shows"]
    # Two tokens of a needle may be one word, so that the same token is now and then the next.
    assert (own.loc[[2, 3, 4], "value"] < 0.2).all()
    assert not own.loc[[2, 3, 4], "shows"].any()


def test_a_state_has_the_settings_of_its_class():
    source = HandMadeSource(NEEDLES[:4], causal, kind="decoder")
    sums = RetrievalAccumulator(source.layout, NONE)
    scan(source, [sums])
    again = RetrievalAccumulator.from_state(sums.state())
    np.testing.assert_array_equal(again.compute()[0].heads.value, sums.compute()[0].heads.value)
