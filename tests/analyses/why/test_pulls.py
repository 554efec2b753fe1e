"""Pulls and their accounts against loops from the definition, and against numbers worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.why.parts import BIAS, POSITION_BIAS, Block, Parts, Source, Step
from headscope.analyses.why.pulls import Scores, Side, accounts_of, tilts
from headscope.encoding.vocabulary import KeyClass
from support.pulls_by_loop import accounts_by_loop, both_tilts, pulls_by_loop

TOKEN, POSITION, MLP = Source("token"), Source("position"), Source("mlp", "decoder", 0)
HEAD = Source("head", "decoder", 0, 1)
INDEX = {source: at for at, source in enumerate((POSITION_BIAS, MLP, BIAS, HEAD, POSITION, TOKEN))}


def attention_over(scores, visible, rng, *, sink=False):
    """Softmax over the visible keys, less what a learned sink takes of each row."""
    hidden = np.where(visible, scores, -np.inf)
    weights = np.exp(hidden - np.where(visible.any(-1), hidden.max(-1), 0.0)[..., None])
    weights = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300)
    return weights * rng.uniform(0.1, 1.0, size=(*scores.shape[:2], 1)) if sink else weights


class World:
    """Random parts of what a layer reads, projections, masks, classes of keys, and the attention that they make."""

    def __init__(self, seed, *, rows, keys, groups, shared, mask, bias=None, sink=False):
        rng = np.random.default_rng(seed)
        heads, model, width = groups * shared, 4, 3
        self.read = {source: rng.normal(size=(rows, model)) for source in (TOKEN, HEAD, POSITION)}
        self.read_keys = {source: rng.normal(size=(keys, model)) for source in (MLP, TOKEN, POSITION)}
        self.project, self.project_keys = (rng.normal(size=(number, model, width)) for number in (heads, groups))
        self.constant, self.constant_keys = (rng.normal(size=(number, 1, width)) for number in (heads, groups))
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
        self.queries = self.projected(self.read, self.project, self.constant)
        by_group = self.projected(self.read_keys, self.project_keys, self.constant_keys)
        self.keys = {source: part.repeat(shared, axis=0) for source, part in by_group.items()}
        self.exact = self.scaling * sum(self.queries.values()) @ sum(self.keys.values()).transpose(0, 2, 1)
        self.seen_scores = self.exact if self.bias is None else self.exact + self.bias
        self.weights = attention_over(self.seen_scores, self.visible, rng, sink=sink)

    @staticmethod
    def projected(read, weights, constant):
        """Return the parts of queries or keys by source, `[head, token, width]`."""
        tokens = len(next(iter(read.values())))
        parts = {source: part @ weights for source, part in read.items()}
        return {**parts, BIAS: constant.repeat(tokens, axis=1)}

    @staticmethod
    def side(read, weights, constant):
        """Return queries or keys as headscope holds them; the part of the token comes in two blocks."""
        names = tuple(source for source in read if source != TOKEN)
        apart = torch.from_numpy(np.stack([read[source] for source in names]))[:, None]
        token = torch.from_numpy(read[TOKEN])[None, None]
        blocks = {names: Block(lambda: apart), (TOKEN,): Block(lambda: token / 4), (TOKEN, TOKEN): Block(
            lambda: torch.cat([token / 4, token / 2])
        )}  # fmt: skip
        parts = Parts(blocks)
        probe = parts.sum()[None].requires_grad_(True)
        image = probe[0, 0] @ torch.from_numpy(weights)
        bias = torch.from_numpy(constant)
        return Side(
            vectors=image.detach() + bias,
            image=image,
            probe=probe,
            steps=(),
            others=Parts({(BIAS,): Block(lambda: bias[None, None])}),
            read=parts,
        )

    def scores(self):
        """Return the scores as headscope holds them."""
        return Scores(
            queries=self.side(self.read, self.project, self.constant),
            keys=self.side(self.read_keys, self.project_keys, self.constant_keys),
            scaling=self.scaling,
            bias=None if self.bias is None else torch.from_numpy(self.bias),
        )

    def seen(self):
        """Return the weights, the mask and the classes as headscope holds them."""
        return tuple(torch.from_numpy(each) for each in (self.weights, self.visible, self.classes.astype(np.int64)))

    def pulls(self):
        return accounts_of(self.scores(), tilts(*self.seen())[0], INDEX)


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
        world.weights, world.visible, world.sinks, world.queries, world.keys, world.scaling, bias
    )
    for side, name in enumerate(("query", "key")):
        table = np.zeros((len(world.weights), 2, len(INDEX)))
        for source, account in expected[name].items():
            table[..., INDEX[Source(*source[:4])]] = account
        np.testing.assert_allclose(pulls[:, :, side].numpy(), table, atol=1e-10)
    whole = pulls_by_loop(world.weights, world.seen_scores, world.visible, world.sinks)
    np.testing.assert_allclose(pulls[:, :, 1].sum(-1).numpy(), whole, atol=1e-10)
    np.testing.assert_allclose(pulls.sum(-1).numpy(), np.stack([whole, whole], axis=2), atol=1e-10)


@settings(max_examples=30)
@given(world=WORLDS, seed=st.integers(0, 1000))
def test_what_is_added_to_all_keys_of_a_row_draws_to_none(world, seed):
    """A constant of each row in the position bias, and a vector that all keys have."""
    before = world.pulls()
    rng = np.random.default_rng(seed)
    world.bias = (0 if world.bias is None else world.bias) + 5 * rng.normal(size=(1, len(world.visible), 1))
    world.read_keys[MLP] = world.read_keys[MLP] + 5 * rng.normal(size=(1, 4))
    after = world.pulls()
    np.testing.assert_allclose(after[:, :, 1].sum(-1).numpy(), before[:, :, 1].sum(-1).numpy(), atol=1e-10)
    np.testing.assert_allclose(after[:, :, 1].numpy(), before[:, :, 1].numpy(), atol=1e-10)


@settings(max_examples=30)
@given(world=WORLDS)
def test_attention_is_drawn_to_high_scores(world):
    """The softmax of a row's own scores weighs them at least as uniform attention does."""
    assert (world.pulls()[:, :, 1].sum(-1) >= -1e-10).all()


# Two rows, three keys; the first key is a separator. Row 1 sees all keys, row 0 the first two.
WEIGHTS = [[[0.25, 0.75, 0.0], [0.2, 0.2, 0.6]]]
VISIBLE = [[True, True, False], [True, True, True]]
CLASSES = [KeyClass.SEP, KeyClass.OTHER, KeyClass.PERIOD_COMMA]


def by_hand(weights, scores):
    """Pulls of a single head whose scores are queries times unit vectors as keys."""
    keys = np.eye(len(scores[0]))

    def side(source, vectors):
        parts = Parts({(source,): Block(lambda: torch.from_numpy(vectors)[None, None])})
        probe = parts.sum()[None].requires_grad_(True)
        return Side(vectors=probe.detach()[0], image=probe[0] * 1, probe=probe, steps=(), others=Parts(), read=parts)

    made = Scores(queries=side(TOKEN, np.array(scores)), keys=side(POSITION, keys), scaling=1.0)
    tilt, has_rows = tilts(
        torch.tensor(weights, dtype=torch.float64), torch.tensor(VISIBLE), torch.tensor(list(map(int, CLASSES)))
    )
    assert has_rows == (True, True)
    return accounts_of(made, tilt, INDEX)


def test_a_pull_worked_by_hand():
    """All keys: row 0 (-1/4, 1/4) on (4, 12), row 1 (-2/15, -2/15, 4/15) on (3, 6, 12), and 2 in both rows.

    Off the separator row 0 sees a single key, and row 1 has 1/4 and 3/4 on 6 and 12: 10.5 less the mean 9.
    """
    pulls = by_hand(WEIGHTS, [[4.0, 12.0, 99.0], [3.0, 6.0, 12.0]])
    np.testing.assert_allclose(pulls[:, :, 1].sum(-1).numpy(), [[2.0, 1.5]])
    np.testing.assert_allclose(pulls[0, :, 0, INDEX[TOKEN]].numpy(), [2.0, 1.5])
    np.testing.assert_allclose(pulls[0, :, 1, INDEX[POSITION]].numpy(), [2.0, 1.5])
    assert not pulls[0, :, 1, INDEX[TOKEN]].any()
    assert not pulls[0, :, 0, INDEX[POSITION]].any()


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
    assert world.scores().error < 1e-12
    scores = world.scores()
    off = replace(scores.queries, vectors=scores.queries.vectors * 1.01)
    np.testing.assert_allclose(replace(scores, queries=off).error, 0.01 / 1.01, rtol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
def test_heads_are_led_back_together_unless_they_share_columns(shared):
    rng = np.random.default_rng(5)
    read, weight = torch.from_numpy(rng.normal(size=(2, 1, 4, 5))), torch.from_numpy(rng.normal(size=(6, 5)))
    mixing = torch.from_numpy(rng.normal(size=(3, 6, 2)))
    if not shared:  # each head reads two columns, not side by side
        mixing *= (torch.arange(6) % 3 == torch.arange(3)[:, None])[..., None]
    parts = Parts({(TOKEN, HEAD): Block(lambda: read)})
    probe = parts.sum()[None].requires_grad_(True)
    out = (probe.detach() @ weight.T).requires_grad_(True)
    image = out[0, 0] @ mixing
    side = Side(
        vectors=image.detach(),
        image=image,
        probe=probe,
        steps=(Step(read=probe, out=out, weight=weight),),
        others=Parts(),
        read=parts,
    )
    columns = side.own_columns()
    assert (columns is None) == shared
    factors = torch.from_numpy(rng.normal(size=(2, 3, 4, 2)))
    rows = replace(side, columns=columns).led_back(factors)
    ((sources, accounts),) = side.accounts(factors, read.flatten(1) @ rows.T)
    assert sources == (TOKEN, HEAD)
    expected = torch.einsum("ctm,om,how,nhtw->cnh", read[:, 0], weight, mixing, factors)
    torch.testing.assert_close(accounts, expected)
