"""Sources sum to the scores and to the pulls of transformers' own attention, family by family, and source by source."""

import functools
from collections import defaultdict

import numpy as np
import pytest
import torch

from headscope.analyses.why import source as source_module
from headscope.analyses.why.parts import Source
from headscope.analyses.why.pulls import sources_of
from headscope.analyses.why.source import PullSource
from headscope.analyses.why.sums import PullAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from headscope.errors import ModelError
from headscope.models.forward_inputs import weights_in
from support.inputs import CLS, SEP, eager_maps, forward_inputs, made_up_segments, vocabulary
from support.pull_models import ALIKE, FAMILIES, REFUSED, pull_anatomy, pull_model
from support.pulls_by_loop import accounts_by_loop, pulls_by_loop
from support.sources_by_hand import layers_by_hand, looked_at, turned
from support.tiny_models import shared_tiny_model, tiny_model

SEGMENTS = made_up_segments(2, seed=5, longest=12)
SHARE = 1e-4  # of the largest score
each_family = pytest.mark.parametrize(
    "family", [pytest.param(family, marks=[pytest.mark.slow] * (family in ALIKE)) for family in FAMILIES]
)
BY_HAND = {"bert": "bert", "gpt2": "gpt2", "llama": "llama", "llama_biases": "llama", "qwen3": "qwen3", "t5": "t5"}


@functools.cache
def source_of(family):
    return PullSource(pull_model(family), pull_anatomy(family), vocabulary(), [])


def accounts_of(family, number):
    """The accounts of one input by kind, `[layer, head, KEYS, SIDES, source]`."""
    source = source_of(family)
    source.batches = [[SEGMENTS[number]]]
    sums = PullAccumulator(source.layout)
    scan(source, [sums])
    return {kind: each.accounts.sum(0) for kind, each in sums.compute().items()}


measured = functools.cache(accounts_of)


@functools.cache
def attention_of(family, number):
    """transformers' own weights of one input by kind and layer, `[head, row, key]`."""
    anatomy = pull_anatomy(family)
    maps = eager_maps(pull_model(family), **forward_inputs(SEGMENTS[number], anatomy))
    named = {f"{kind}_attentions": layers for kind, layers in maps.items()} | {"attentions": maps.get("self")}
    return {(site.kind, site.layer): weights[0].double().numpy() for site, weights in weights_in(named, anatomy)}


def sinks_of(family, number, kind):
    """Which keys are sinks: [CLS], [SEP], and the token with which a T5's decoder begins."""
    inputs = forward_inputs(SEGMENTS[number], pull_anatomy(family))
    decoder = kind == "decoder" and "decoder_input_ids" in inputs
    return np.isin(inputs["decoder_input_ids" if decoder else "input_ids"][0].numpy(), (CLS, SEP))


def capped_scores(family, number):
    """Scores before Gemma 2's soft cap by layer, `[head, row, key]`: what the softmax sees is not what they are."""
    model, found = pull_model(family), []
    with torch.no_grad(), looked_at(model) as seen:
        model(**forward_inputs(SEGMENTS[number], pull_anatomy(family)))
        for layer in range(model.config.num_hidden_layers):
            at = f"layers.{layer}.self_attn"
            query, key = (
                turned(seen)(seen.made[f"{at}.{side}_proj"].unflatten(-1, (-1, model.config.head_dim)).transpose(0, 1))
                for side in "qk"
            )
            keys = key.repeat_interleave(len(query) // len(key), 0)
            found.append((query @ keys.transpose(1, 2) * model.config.query_pre_attn_scalar**-0.5).numpy())
    return found


def seen_scores(family, number):
    """The scores of one input by kind and layer, up to a constant of each row, and the mask of visible keys.

    They are the logarithms of transformers' own weights: the softmax does not see what is added to a row.
    """
    for (kind, layer), weights in attention_of(family, number).items():
        visible = (weights > 0).any(0)
        assert weights[:, visible].min() > 1e-30
        if family == "gemma2":
            yield kind, layer, weights, capped_scores(family, number)[layer], visible
        else:
            yield kind, layer, weights, np.log(np.where(visible, weights, 1.0)), visible


@each_family
def test_sources_sum_to_the_scores(family, monkeypatch):
    """Of one key above another, in a random row of each head."""
    rng, drawn = np.random.default_rng(0), []

    def pick(weights, visible, classes):
        factors = torch.zeros(2, *weights.shape)
        rows = np.flatnonzero(visible.numpy().sum(-1) > 1)
        for at, head in np.ndindex(factors.shape[:2]):
            row = rng.choice(rows)
            keys = rng.choice(np.flatnonzero(visible[row].numpy()), 2, replace=False)
            factors[at, head, row, keys] = torch.tensor([1.0, -1.0])
        drawn.append(factors.double().numpy())
        return factors, (True, True)

    source_of(family)  # which reads a short input first
    monkeypatch.setattr(source_module, "tilts", pick)
    accounts = accounts_of(family, 0)
    order = [(site.kind, site.layer) for site in pull_anatomy(family).calls if site is not None]
    factors = dict(zip(order, drawn, strict=True))
    for kind, layer, _, scores, _ in seen_scores(family, 0):
        expected = np.einsum("xhij,hij->hx", factors[kind, layer], scores)
        for side in range(2):
            found = accounts[kind][layer, :, :, side].sum(-1)
            np.testing.assert_allclose(found, expected, atol=SHARE * np.abs(scores).max(), err_msg=f"{kind} {layer}")


@each_family
def test_both_accounts_sum_to_the_pull(family):
    accounts = measured(family, 0)
    for kind, layer, weights, scores, visible in seen_scores(family, 0):
        expected = pulls_by_loop(weights, scores, visible, sinks_of(family, 0, kind))
        assert np.abs(expected).max() > 0.03
        for side in range(2):
            found = accounts[kind][layer, :, :, side].sum(-1)
            np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(scores).max(), err_msg=f"{kind} {layer}")


@each_family
def test_every_head_and_mlp_below_is_a_source_and_none_above(family):
    accounts, anatomy = measured(family, 0), pull_anatomy(family)
    heads = {part.kind: part.heads for part in anatomy.layout}
    order = [(site.kind, site.layer) for site in anatomy.calls if site is not None]
    for position, (kind, layer) in enumerate(order):
        reached = accounts[kind][layer, :, :, 0].any((0, 1))
        sources = {
            source for source, any_account in zip(sources_of(anatomy.layout), reached, strict=True) if any_account
        }
        stack = ("encoder",) if kind == "encoder" else ("decoder", "cross")
        below = [each for each in order[:position] if each[0] in stack]
        expected = {Source("head", *each, head) for each in below for head in range(heads[each[0]])}
        assert {source for source in sources if source.part == "head"} == expected
        # A decoder's MLP is behind its cross attention, and is named for it.
        lower = {each for each in below if each[1] < layer}
        expected = {Source("mlp", *each) for each in lower if each[0] == "cross" or ("cross", each[1]) not in lower}
        assert {source for source in sources if source.part == "mlp"} - {Source("mlp")} == expected


@pytest.mark.parametrize("family", sorted(BY_HAND))
def test_each_source_has_what_plain_loops_over_modules_find(family):
    model = pull_model(family)
    for number, segment in enumerate(SEGMENTS):
        accounts = measured(family, number)
        index = {tuple(source[:4]): at for at, source in enumerate(sources_of(pull_anatomy(family).layout))}
        layers = layers_by_hand(model, BY_HAND[family], forward_inputs(segment, pull_anatomy(family)))
        assert len(layers) == sum(map(len, accounts.values()))
        for own in layers:
            weights = attention_of(family, number)[own.kind, own.layer]
            expected = accounts_by_loop(
                weights,
                (weights > 0).any(0),
                sinks_of(family, number, own.kind),
                own.queries,
                own.keys,
                own.scaling,
                own.bias,
            )
            for side, name in enumerate(("query", "key")):
                table = np.zeros(accounts[own.kind][own.layer, :, :, side].shape)
                for source, account in expected[name].items():
                    table[..., index[source]] = account
                largest = np.abs(table).max()
                assert largest > 0.03
                np.testing.assert_allclose(
                    accounts[own.kind][own.layer, :, :, side],
                    table,
                    atol=SHARE * largest,
                    err_msg=f"{own.kind} {own.layer} {name}",
                )


def test_no_kind_of_source_is_lost_in_the_tolerance():
    accounts = measured("bert", 0)
    largest = defaultdict(float)
    for layer in np.abs(accounts["encoder"]).max((1, 2, 3)):
        for source, account in zip(sources_of(pull_anatomy("bert").layout), layer / layer.max(), strict=True):
            largest[source.part] = max(largest[source.part], float(account))
    compared = ("token", "position", "segment", "head", "mlp", "output_bias", "bias")
    assert min(largest[part] for part in compared) > 100 * SHARE


@pytest.mark.parametrize("family", REFUSED)
def test_models_without_the_interface_are_refused_by_name(family):
    model = shared_tiny_model(family)
    anatomy = examine(model, vocabulary())
    words = (
        f"^the sources of scores are not known for {type(model).__name__}: it does not use transformers' attention "
        "interface; choose another model$"
    )
    with pytest.raises(ModelError, match=words):
        PullSource(model, anatomy, vocabulary(), [[SEGMENTS[0]]])


def refusal(model):
    """Return the message with which a model is refused."""
    with pytest.raises(ModelError) as error:
        PullSource(model, examine(model, vocabulary()), vocabulary(), [[SEGMENTS[0]]])
    return str(error.value)


def test_half_precision_is_refused():
    words = "the parts of scores need float32, and BertModel computes in bfloat16; add --dtype float32"
    assert refusal(tiny_model("bert").to(torch.bfloat16)) == words


def test_queries_that_are_not_linear_in_the_stream_are_refused():
    model = tiny_model("llama")
    model.layers[1].self_attn.q_proj.register_forward_hook(lambda _, __, made: torch.tanh(made))
    assert refusal(model) == (
        "the sources of scores are not known for LlamaModel, decoder layer 2: its queries or keys are not linear in "
        "the stream; choose another model"
    )


def test_parts_that_do_not_sum_to_the_scores_are_refused():
    """What is written into a tensor in place is not followed."""

    def change(_, __, made):
        made[..., :8] *= 2
        return made

    model = tiny_model("llama")
    model.layers[2].self_attn.k_proj.register_forward_hook(change)
    assert refusal(model).startswith(
        "the sources of scores are not known for LlamaModel, decoder layer 3: its scores differ from the sum of their "
        "parts by 0."
    )
