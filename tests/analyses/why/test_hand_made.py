"""Circuits whose weights are written by hand: each source that draws a head is named, with its share."""

import functools
import math

import numpy as np
import pytest

from headscope.analyses.why.parts import BIAS, Source
from headscope.analyses.why.pulls import KEYS, sources_of
from headscope.analyses.why.source import PullSource
from headscope.analyses.why.sums import PullAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from support.circuits import (
    CONSTANT,
    circuit,
    circuit_segment,
    circuit_vocabulary,
    offset_channels,
    position,
    same_channels,
    token,
    written,
)
from support.inputs import eager_maps, forward_inputs

TOKEN, POSITION = Source("token"), Source("position")
FIRST, SECOND = (Source("head", "decoder", 0, head) for head in range(2))
A, B, C = 1, 2, 4
# B follows every A and nothing else; C stands at position 8 alone.
TEXT = circuit_segment([3, A, B, 5, 6, A, B, 7, C, A, B, 5, A, B])
TOLERANCE = 0.02


def accounts_of(model, layer=1):
    """The account of every source of the first head of a layer, by keys, side and source, and the order of sources."""
    anatomy = examine(model, circuit_vocabulary())
    source = PullSource(model, anatomy, circuit_vocabulary(), [[TEXT]])
    sums = PullAccumulator(source.layout)
    scan(source, [sums])
    found = sums.compute()["decoder"]
    assert found.inputs.tolist() == [[[1, 1], [1, 1]]]
    return found.accounts[0, layer, 0], sources_of(source.layout)


def assert_shares(model, query, key, *, layer=1):
    """Check the shares of the pull on both sides, over all keys and off the sink; other sources have none."""
    account, sources = accounts_of(model, layer)
    for keys, name in enumerate(KEYS):
        for side, expected in enumerate((query, key)):
            own = account[keys, side]
            assert own.sum() > 0.05
            shares = dict(zip(sources, own / own.sum(), strict=True))
            for source, share in shares.items():
                assert share == pytest.approx(expected.get(source, 0.0), abs=TOLERANCE), (name, side, source)
            strongest = max(shares, key=lambda source: abs(shares[source]))
            assert abs(expected[strongest]) == max(map(abs, expected.values()))


def test_drawn_by_an_earlier_head_in_its_keys_alone():
    """Keys have a score of 2.1 from what 1-1 wrote and 0.9 from the token itself, and the query is constant."""
    model = circuit([(CONSTANT, written(0, A), 2.1), (CONSTANT, token(B), 0.9)])
    assert_shares(model, {BIAS: 1.0}, {FIRST: 0.7, TOKEN: 0.3})


def test_drawn_by_an_earlier_head_in_its_queries_alone():
    model = circuit([(written(0, A), token(A), 2.1), (token(B), token(A), 0.9)])
    assert_shares(model, {FIRST: 0.7, TOKEN: 0.3}, {TOKEN: 1.0})


@pytest.mark.parametrize("layer", [0, 1])
def test_drawn_by_token_identity(layer):
    """Position 8 is that of the only C: what both add there is told apart."""
    model = circuit([(CONSTANT, token(C), 2.4), (CONSTANT, position(8), 0.6)], layer=layer)
    assert_shares(model, {BIAS: 1.0}, {TOKEN: 0.8, POSITION: 0.2}, layer=layer)


@pytest.mark.parametrize("layer", [0, 1])
def test_drawn_by_position(layer):
    assert_shares(circuit(offset_channels(1, 3.0), layer=layer), {POSITION: 1.0}, {POSITION: 1.0}, layer=layer)


def test_sources_that_cancel_are_both_named():
    """1-1 and 1-2 write the same token; 2-1 reads one with 3, the other with -3, and 2 of the token itself."""
    channels = [(CONSTANT, written(0, A), 3.0), (CONSTANT, written(1, A), -3.0), (CONSTANT, token(B), 2.0)]
    assert_shares(circuit(channels, back=(1, 1)), {BIAS: 1.0}, {FIRST: 1.5, SECOND: -1.5, TOKEN: 1.0})


def test_an_induction_pair():
    """2-1 looks for tokens behind an earlier copy of its own; 1-2 writes each token's own copy, which is read too."""
    wrote, copied = (functools.partial(written, head) for head in range(2))
    model = circuit([*same_channels(token, wrote, 4.2), *same_channels(copied, wrote, 2.8)])
    weights = eager_maps(model, **forward_inputs(TEXT, examine(model, circuit_vocabulary())))["self"][1][0, 0].numpy()
    ids = TEXT.ids
    for row in range(len(ids)):
        copies = [key for key in range(1, row + 1) if ids[key - 1] == ids[row]]
        assert not copies or weights[row, copies].sum() > 0.95
    assert_shares(model, {TOKEN: 0.6, SECOND: 0.4}, {FIRST: 1.0})


def test_the_pull_in_nats():
    """A key with a score of 3 among keys of 0: its attention above uniform attention, times 3, a mean over rows."""
    account, _ = accounts_of(circuit([(CONSTANT, token(C), 3.0)], layer=0), layer=0)
    rows = range(len(TEXT.ids))
    above = [math.exp(3) / (math.exp(3) + row) - 1 / (row + 1) if row >= 8 else 0.0 for row in rows]
    whole = 3 * np.mean(above[1:])  # row 0 sees one key
    np.testing.assert_allclose(account[0].sum(-1), [whole, whole], rtol=1e-4)
    # Off the first token: rows from 2 on see two other keys, and count by the attention on them.
    mass = [1 - 1 / ((math.exp(3) if row >= 8 else 1) + row) for row in rows][2:]
    above = [math.exp(3) / (math.exp(3) + row - 1) - 1 / row if row >= 8 else 0.0 for row in rows if row >= 2]
    off = 3 * np.dot(mass, above) / np.sum(mass)
    np.testing.assert_allclose(account[1].sum(-1), [off, off], rtol=1e-4)
