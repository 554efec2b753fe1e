"""Pulls and their accounts against loops from the definition, and against numbers worked by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.why.parts import BIAS, Block, Parts, Source
from headscope.analyses.why.pulls import ENCODER, POSITION_BIAS, Scores, head_pulls, one_source, tilts
from headscope.encoding.vocabulary import KeyClass
from support.pulls_by_loop import accounts_by_loop, both_tilts, pulls_by_loop

TOKEN, POSITION, MLP = Source("token"), Source("position"), Source("mlp", "decoder", 0)
INDEX = {
    source: at for at, source in enumerate((POSITION_BIAS, MLP, BIAS, Source("head", "decoder", 0, 1), POSITION, TOKEN))
}


def attention_over(scores, visible, rng, *, sink=False):
    """Softmax over the visible keys, less what a learned sink takes of each row."""
    hidden = np.where(visible, scores, -np.inf)
    weights = np.exp(hidden - np.where(visible.any(-1), hidden.max(-1), 0.0)[..., None])
    weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    return weights * rng.uniform(0.1, 1.0, size=(*scores.shape[:2], 1)) if sink else weights


class World:
    """Random parts of queries and keys with masks, classes of keys, and the attention that they make."""

    def __init__(self, seed, *, rows, keys, groups, shared, mask, bias=None, sink=False):
        rng = np.random.default_rng(seed)
        heads, width = groups * shared, 3
        self.queries = {TOKEN: 0.0, BIAS: 0.0, INDEX_HEAD: 0.0}
        self.queries = {source: rng.normal(size=(heads, rows, width)) for source in self.queries}
        self.keys = {source: rng.normal(size=(groups, keys, width)) for source in (MLP, TOKEN, POSITION)}
        self.scaling = float(rng.uniform(0.3, 2.0))
        self.bias = None if bias is None else 2 * rng.normal(size=(1 if bias == "shared" else heads, rows, keys))
        at_row, at_key = np.arange(rows)[:, None], np.arange(keys)
        self.visible = {
            "all": np.ones((rows, keys), dtype=bool),
            "causal": at_key <= at_row,
            "window": (at_key <= at_row) & (at_key > at_row - 3),
            "random": rng.random((rows, keys)) < 0.6,
        }[mask]
        self.classes = rng.choice(list(map(int, KeyClass)), size=keys)
        self.sinks = np.isin(self.classes, (KeyClass.CLS, KeyClass.SEP))
        self.by_head = {source: part.repeat(shared, axis=0) for source, part in self.keys.items()}
        self.exact = self.scaling * sum(self.queries.values()) @ sum(self.by_head.values()).transpose(0, 2, 1)
        self.scores_seen = self.exact if self.bias is None else self.exact + self.bias
        self.weights = attention_over(self.scores_seen, self.visible, rng, sink=sink)

    def scores(self):
        """Return the parts as headscope holds them; one source comes in two blocks."""
        token = self.queries[TOKEN]
        queries = [token / 4, *(part for source, part in self.queries.items() if source != TOKEN), token * 3 / 4]
        tensor = torch.from_numpy
        return Scores(
            queries=tensor(sum(self.queries.values())),
            keys=tensor(sum(self.keys.values())),
            query_parts=tensor(np.stack(queries)),
            key_parts=tensor(np.stack(list(self.keys.values()))),
            query_sources=(TOKEN, *(source for source in self.queries if source != TOKEN), TOKEN),
            key_sources=tuple(self.keys),
            scaling=self.scaling,
            bias=None if self.bias is None else tensor(self.bias),
        )

    def seen(self):
        """Return the weights, the mask and the classes as headscope holds them."""
        return tuple(torch.from_numpy(each) for each in (self.weights, self.visible, self.classes.astype(np.int64)))

    def pulls(self):
        return head_pulls(self.scores(), *self.seen(), INDEX)


INDEX_HEAD = Source("head", "decoder", 0, 1)
WORLDS = st.builds(
    World,
    st.integers(0, 2**32 - 1),
    rows=st.integers(1, 6),
    keys=st.integers(1, 6),
    groups=st.integers(1, 3),
    shared=st.integers(1, 3),
    mask=st.sampled_from(["all", "causal", "window", "random"]),
    bias=st.sampled_from([None, "shared", "own"]),
    sink=st.booleans(),
)


@settings(max_examples=60)
@given(world=WORLDS)
def test_tilts_are_those_of_the_definition(world):
    found, has_rows = tilts(*world.seen())
    expected, counted = both_tilts(world.weights, world.visible, world.sinks)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
    assert has_rows == counted


@settings(max_examples=60)
@given(world=WORLDS)
def test_accounts_are_those_of_the_definition(world):
    pulls = world.pulls()
    bias = None if world.bias is None else np.broadcast_to(world.bias, world.weights.shape)
    expected = accounts_by_loop(
        world.weights, world.visible, world.sinks, world.queries, world.by_head, world.scaling, bias
    )
    for side, name in enumerate(("query", "key")):
        table = np.zeros((len(world.weights), 2, len(INDEX)))
        for source, account in expected[name].items():
            table[..., INDEX[Source(*source[:4])]] = account
        np.testing.assert_allclose(pulls.accounts[:, :, side].numpy(), table, atol=1e-10)
    whole = pulls_by_loop(world.weights, world.scores_seen, world.visible, world.sinks)
    np.testing.assert_allclose(pulls.total.numpy(), whole, atol=1e-10)
    np.testing.assert_allclose(pulls.accounts.sum(-1).numpy(), np.stack([whole, whole], axis=2), atol=1e-10)


@settings(max_examples=30)
@given(world=WORLDS, seed=st.integers(0, 1000))
def test_what_is_added_to_all_keys_of_a_row_draws_to_none(world, seed):
    """A constant of each row in the position bias, and a vector that all keys have."""
    before = world.pulls()
    rng = np.random.default_rng(seed)
    world.bias = (0 if world.bias is None else world.bias) + 5 * rng.normal(size=(1, len(world.visible), 1))
    vector = 5 * rng.normal(size=(world.keys[MLP].shape[0], 1, 3))
    world.keys[MLP] = world.keys[MLP] + vector
    after = world.pulls()
    np.testing.assert_allclose(after.total.numpy(), before.total.numpy(), atol=1e-10)
    np.testing.assert_allclose(after.accounts[:, :, 1].numpy(), before.accounts[:, :, 1].numpy(), atol=1e-10)


@settings(max_examples=30)
@given(world=WORLDS)
def test_attention_is_drawn_to_high_scores(world):
    """The softmax of a row's own scores weighs them at least as uniform attention does."""
    assert (world.pulls().total >= -1e-10).all()


# Two rows, three keys; the first key is a separator. Row 1 sees all keys, row 0 the first two.
WEIGHTS = [[[0.25, 0.75, 0.0], [0.2, 0.2, 0.6]]]
VISIBLE = [[True, True, False], [True, True, True]]
CLASSES = [KeyClass.SEP, KeyClass.OTHER, KeyClass.PERIOD_COMMA]


def by_hand(weights, scores):
    """Pulls of a single head whose scores are queries times unit vectors as keys."""
    size = len(scores[0])
    eye = torch.eye(size, dtype=torch.float64)[None]
    queries = torch.tensor([scores], dtype=torch.float64)
    made = Scores(
        queries=queries,
        keys=eye,
        query_parts=queries[None],
        key_parts=eye[None],
        query_sources=(TOKEN,),
        key_sources=(POSITION,),
        scaling=1.0,
    )
    return head_pulls(
        made,
        torch.tensor(weights, dtype=torch.float64),
        torch.tensor(VISIBLE),
        torch.tensor(list(map(int, CLASSES))),
        INDEX,
    )


def test_a_pull_worked_by_hand():
    """All keys: row 0 (-1/4, 1/4) on (4, 8), row 1 (-2/15, -2/15, 4/15) on (3, 6, 12), a mean of 1 and 2.

    Off the separator row 0 sees a single key, and row 1 has 1/4 and 3/4 on 6 and 12: 10.5 less the mean 9.
    """
    pulls = by_hand(WEIGHTS, [[4.0, 8.0, 99.0], [3.0, 6.0, 12.0]])
    np.testing.assert_allclose(pulls.total.numpy(), [[1.5, 1.5]])
    assert pulls.has_rows == (True, True)
    np.testing.assert_allclose(pulls.accounts[0, :, 0, INDEX[TOKEN]].numpy(), [1.5, 1.5])
    np.testing.assert_allclose(pulls.accounts[0, :, 1, INDEX[POSITION]].numpy(), [1.5, 1.5])
    assert not pulls.accounts[0, :, 1, INDEX[TOKEN]].any()
    assert not pulls.accounts[0, :, 0, INDEX[POSITION]].any()


def test_rows_count_as_much_as_they_attend_off_the_sink():
    """Row 0 has 1/10 of its attention off the first key, all on the second; row 1 has 9/10, all on the third."""
    found, _ = tilts(
        torch.tensor([[[0.9, 0.1, 0.0], [0.1, 0.0, 0.9]]], dtype=torch.float64),
        torch.ones(2, 3, dtype=torch.bool),
        torch.tensor([int(KeyClass.CLS), int(KeyClass.OTHER), int(KeyClass.OTHER)]),
    )
    np.testing.assert_allclose(found[1, 0].numpy(), [[0, 0.05, -0.05], [0, -0.45, 0.45]])
    np.testing.assert_allclose(found[0, 0].sum(-1).numpy(), 0, atol=1e-12)


@pytest.mark.parametrize("classes", [[KeyClass.CLS, KeyClass.SEP, KeyClass.OTHER], [KeyClass.SEP] * 3])
def test_no_row_counts_off_the_sink_with_fewer_than_two_other_keys(classes):
    found, has_rows = tilts(
        torch.full((1, 2, 3), 1 / 3), torch.ones(2, 3, dtype=torch.bool), torch.tensor(list(map(int, classes)))
    )
    assert has_rows == (True, False)
    assert not found[1].any()


def test_the_error_of_a_sum_is_a_share_of_the_largest_score():
    world = World(0, rows=3, keys=4, groups=1, shared=2, mask="all")
    scores = world.scores()
    assert scores.error < 1e-12
    scores.query_parts[0] *= 1.001
    part = world.scaling * scores.query_parts[0].numpy() / 1001 @ sum(world.by_head.values()).transpose(0, 2, 1)
    np.testing.assert_allclose(scores.error, np.abs(part).max() / np.abs(world.exact).max(), rtol=1e-9)


def test_the_encoder_is_one_source_and_biases_stay_their_own():
    heads = (Source("head", "encoder", 0, 0), Source("head", "encoder", 0, 1))
    parts = Parts(
        {
            (TOKEN,): Block(lambda: torch.tensor([[1.0, 2.0]])),
            heads: Block(lambda: torch.tensor([[3.0, 5.0], [7.0, 11.0]])),
            (BIAS,): Block(lambda: torch.tensor([[100.0, 200.0]])),
        }
    )
    one = one_source(parts)
    assert set(one.sources) == {ENCODER, BIAS}
    assert one.blocks[ENCODER,].tensor.tolist() == [[11.0, 18.0]]
    assert one.blocks[BIAS,].tensor.tolist() == [[100.0, 200.0]]
