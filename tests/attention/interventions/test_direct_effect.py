"""Direct effects: against products by hand, the logit as their sum, heads made by hand, and models that have none."""

from contextlib import contextmanager

import numpy as np
import pytest
import torch
import transformers as tf
from torch import nn

from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.replacement import Zero
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from headscope.encoding.loss_questions import NextToken
from headscope.models.forward_inputs import model_inputs
from headscope.models.losses import ask_of, loss_of
from support.causal_models import CONFIGS, tiny_causal_model
from support.effects import KeepEffects
from support.inputs import CLS, SEP, made_up_segments, vocabulary
from support.task_models import tiny_task_model, tokenizer_of

SEGMENTS = made_up_segments(4, seed=31, longest=14, documents=3)
# In transformers' own code: the part that makes what attention adds to the stream, and what it is multiplied by then.
ADDED = {
    "gpt2": ("attn.c_proj", 1.0),
    "llama": ("self_attn.o_proj", 1.0),
    "gpt_neox": ("attention.dense", 1.0),
    "opt": ("self_attn.out_proj", 1.0),
    "phi3": ("self_attn.o_proj", 1.0),
    "olmo2": ("post_attention_layernorm", 1.0),
    "gemma3": ("post_attention_layernorm", 1.0),
    "granite": ("self_attn.o_proj", 0.3),
    "mixtral": ("self_attn.o_proj", 1.0),
    "qwen3_next": ("self_attn.o_proj", 1.0),
}
NORMS = ("transformer.ln_f", "model.norm", "gpt_neox.final_layer_norm", "model.decoder.final_layer_norm")
SINGLE = ("gemma3", "mixtral", "qwen3_next")


def model_of(family):
    dtype = torch.float32 if family in SINGLE else torch.float64
    if family == "granite":
        torch.manual_seed(3)
        llama = tiny_task_model("llama").config
        sizes = {
            name: getattr(llama, name)
            for name in (
                *("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
                *("num_key_value_heads", "vocab_size", "max_position_embeddings", "pad_token_id"),
            )
        }
        config = tf.GraniteConfig(**sizes, residual_multiplier=0.3, logits_scaling=4.0)
        return tf.AutoModelForCausalLM.from_config(config).double().eval()
    return (tiny_causal_model if family in CONFIGS else tiny_task_model)(family, dtype=dtype)


def source_of(model, *, size=3, direct=True, **how):
    anatomy = examine(model, vocabulary())
    groups = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
    ask = (
        NextToken()
        if loss_of(anatomy) == "clm"
        else ask_of(loss_of(anatomy), tokenizer_of("t5" if anatomy.encoder_decoder else "bert"), anatomy)
    )
    return EffectSource(model, anatomy, vocabulary(), groups, ask, fits=[lambda _: Zero()], direct=direct, **how)


def kept(model, **how):
    source, keep = source_of(model, **how), KeepEffects()
    scan(source, [keep])
    assert source.logit_path.no_direct == ""
    return source, keep


def direction_of(model, tokens):
    """W_U[y] less the mean over tokens, times what the model multiplies logits by."""
    weight = model.get_output_embeddings().weight.detach().double()
    return (weight[tokens] - weight.mean(0)) / getattr(model.config, "logits_scaling", 1.0)


def through_norm(norm, stream, added):
    """What a norm makes of a part of the stream, by the definitions of layer norm and RMS norm."""
    eps = getattr(norm, "eps", None) or norm.variance_epsilon
    weight = norm.weight.detach().double()
    if type(norm).__name__.startswith(("Gemma", "Qwen3Next")):
        weight = 1 + weight
    if isinstance(norm, nn.LayerNorm):
        stream, added = (each - each.mean(-1, keepdim=True) for each in (stream, added))
    return weight * added / (stream.square().mean(-1, keepdim=True) + eps).sqrt()


@contextmanager
def listened(parts):
    """Keep what some parts are given and make."""
    seen, hooks = {}, []
    for name, part in parts.items():

        def keep(_, arguments, answer, name=name):
            seen[name] = arguments[0].detach().double(), answer.detach().double()

        hooks.append(part.register_forward_hook(keep))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def run(model, segment, parts):
    """Run transformers' own eager code on one input; what the parts were given and made, the logits, and targets."""
    model.set_attn_implementation("eager")
    anatomy = examine(model, vocabulary())
    _, inputs, _ = model_inputs([segment], anatomy, vocabulary())
    with listened(parts) as seen, torch.no_grad():
        out = model(**inputs, output_attentions=True)
    return seen, out, torch.from_numpy(segment.ids[1:].astype(np.int64))


def norm_of(model):
    named = dict(model.named_modules())
    return next(named[name] for name in NORMS if name in named)


@pytest.mark.parametrize("family", list(ADDED))
def test_the_heads_of_a_layer_add_up_to_what_the_layer_adds(family):
    """To the logit of the right token, by the definition of the norm; biases of projections are no head's."""
    model = model_of(family)
    source, keep = kept(model)
    ending, multiplier = ADDED[family]
    parts = [part for name, part in model.named_modules() if name.endswith(ending)]
    assert len(parts) == source.layout[0].layers
    norm = norm_of(model)
    for segment in SEGMENTS:
        seen, _, right = run(model, segment, {"norm": norm, **dict(enumerate(parts))})
        stream = seen["norm"][0][0, :-1]
        for layer, part in enumerate(parts):
            added = multiplier * seen[layer][1][0, :-1]
            if getattr(part, "bias", None) is not None:
                added = added - part.bias.detach()
            expected = (through_norm(norm, stream, added) * direction_of(model, right)).sum(-1).mean()
            found = keep.direct[segment.document, segment.index, "decoder", layer][:, 0].sum()
            np.testing.assert_allclose(found, float(expected), rtol=1e-4, atol=2e-6)


def parts_of(family):
    """A tiny model, the effects of its heads, the norm before its unembedding, and its blocks."""
    model = model_of(family)
    _, keep = kept(model)
    return model, keep, norm_of(model), model.transformer.h if family == "gpt2" else model.model.layers


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_all_that_is_added_to_the_stream_adds_up_to_the_logit(family):
    """Heads as found here; embeddings, MLPs and biases by hooks."""
    model, keep, norm, blocks = parts_of(family)
    is_gpt2 = family == "gpt2"
    parts = {
        "norm": norm,
        "first": blocks[0].ln_1 if is_gpt2 else blocks[0].input_layernorm,
        **{number: block.mlp for number, block in enumerate(blocks)},
    }
    for segment in SEGMENTS:
        seen, out, right = run(model, segment, parts)
        rest = seen["first"][0] + sum(seen[number][1] for number in range(len(blocks)))
        if is_gpt2:
            rest = rest + sum(block.attn.c_proj.bias.detach() for block in blocks)
        direction = direction_of(model, right)
        of_rest = (through_norm(norm, seen["norm"][0][0, :-1], rest[0, :-1]) * direction).sum(-1).mean()
        if is_gpt2:
            of_rest = of_rest + (norm.bias.detach() * direction).sum(-1).mean()
        logits = out.logits[0, :-1].double()
        above = (logits - logits.mean(-1, keepdim=True)).gather(1, right[:, None]).mean()
        of_heads = sum(
            keep.direct[segment.document, segment.index, "decoder", layer][:, 0].sum() for layer in range(len(blocks))
        )
        np.testing.assert_allclose(of_heads + float(of_rest), float(above), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_each_head_by_hand_and_the_token_that_it_looks_at(family):
    model, keep, norm, blocks = parts_of(family)
    is_gpt2 = family == "gpt2"
    projections = [block.attn.c_proj if is_gpt2 else block.self_attn.o_proj for block in blocks]
    for segment in SEGMENTS:
        seen, out, right = run(model, segment, {"norm": norm, **dict(enumerate(projections))})
        stream, ids = seen["norm"][0][0, :-1], segment.ids.astype(np.int64)
        for layer, projection in enumerate(projections):
            matrix = projection.weight.detach() if is_gpt2 else projection.weight.detach().T
            z = seen[layer][0][0, :-1]
            width = z.shape[-1] // 4
            for head in range(4):
                part = slice(head * width, (head + 1) * width)
                normed = through_norm(norm, stream, z[:, part] @ matrix[part])
                direct = (normed * direction_of(model, right)).sum(-1).mean()
                copied = []
                for row, weights in enumerate(out.attentions[layer][0, head, :-1].tolist()):
                    keys = [key for key in range(1, row + 1) if ids[key] not in (CLS, SEP)]
                    if keys:
                        token = int(ids[max(keys, key=lambda key, weights=weights: weights[key])])
                        copied.append(float((normed[row] * direction_of(model, token)).sum()))
                expected = [float(direct), np.mean(copied)]
                found = keep.direct[segment.document, segment.index, "decoder", layer][head]
                np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_copier_is_above_0_and_a_suppressor_below():
    """What a head reads of the embedding of the token most like its own it writes back as it is, or turned round."""
    model = model_of("gpt2")
    width = model.config.n_embd
    with torch.no_grad():
        model.transformer.wpe.weight.zero_()
        model.lm_head.weight.copy_(model.transformer.wte.weight)
        attention = model.transformer.h[0].attn
        for head, sign in ((1, 1.0), (2, -1.0)):
            part = slice(8 * head, 8 * head + 8)
            basis = torch.linalg.qr(torch.randn(width, 8, dtype=torch.float64)).Q
            queries, keys, values = attention.c_attn.weight.split(width, dim=1)
            keys[:, part] = queries[:, part] = 3 * basis
            values[:, part] = basis
            attention.c_attn.bias.zero_()
            attention.c_proj.weight[part] = sign * basis.T
    _, keep = kept(model)
    for (*_, layer), found in keep.direct.items():
        if layer == 0:
            assert found[1, 1] > 0 > found[2, 1]


def taken_back(share):
    """A GPT-2 in which head 1-2 writes one direction at every token, and 2-3 takes back a share of it.

    Logits are read from that direction alone, above 0 for tokens of the text, and nothing else writes along it.
    """
    model, amount = model_of("gpt2"), 2.0
    width, (first, second, *_) = model.config.n_embd, model.transformer.h
    torch.manual_seed(5)
    direction = torch.zeros(width, dtype=torch.float64)
    direction[0], direction[1] = 0.5**0.5, -(0.5**0.5)
    with torch.no_grad():
        for block in model.transformer.h:
            for part in (block.attn.c_attn, block.mlp.c_proj):
                part.weight.zero_()
                part.bias.zero_()
            # Nothing of it is written, but where outputs are all 0 no projection is found that takes them.
            block.attn.c_attn.bias[-1] = 1
            block.attn.c_proj.weight[-1] = 0
            block.attn.c_proj.bias.zero_()
        # Of one length, without a mean and across the direction, so that every token has the same norm.
        words = torch.randn_like(model.transformer.wte.weight)
        words[:, :2] = 0
        words[:, 2:] -= words[:, 2:].mean(-1, keepdim=True)
        model.transformer.wte.weight = nn.Parameter(words / words.norm(dim=-1, keepdim=True) * width**0.5)
        model.transformer.wpe.weight.zero_()
        first.attn.c_attn.bias[2 * width + 8] = amount
        first.attn.c_proj.weight[8] = direction
        scale = (1 + amount**2 / width + second.ln_1.eps) ** 0.5
        second.attn.c_attn.weight[:, 2 * width + 16] = direction
        second.attn.c_proj.weight[16] = -share * scale * direction
        signs = -torch.ones(len(words), dtype=torch.float64)
        signs[np.unique(np.concatenate([segment.ids[1:] for segment in SEGMENTS])).astype(np.int64)] = 1
        model.lm_head.weight = nn.Parameter(signs[:, None] * direction)
    return model


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 1.5])
def test_a_later_head_that_takes_back_a_share_of_what_one_writes(share):
    """What goes alone reaches the logit; a head made up for by half has a direct effect above its total effect.

    Where the direct path and the one through the later head are opposed and alike, taking the head away shows nothing.
    """
    source, keep = (source_of(taken_back(share), sets=[{("decoder", 0): [1], ("decoder", 1): [2]}]), KeepEffects())
    scan(source, [keep])
    for segment in SEGMENTS:
        name = segment.document, segment.index
        (direct, _), added = keep.direct[*name, "decoder", 0][1], keep.heads[*name, "decoder", 0][1, 0]
        loss, _, logit = added[:3]
        later = keep.direct[*name, "decoder", 1][2, 0]
        assert direct > 0.1
        np.testing.assert_allclose(logit, (1 - share) * direct, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(later, -share * direct, rtol=1e-9, atol=1e-12)
        assert np.sign(np.round(loss, 12)) == np.sign(1 - share)
        # Without both, what is lost is what the two wrote together.
        np.testing.assert_allclose(keep.sets[name][0, 0, 2], logit, rtol=1e-9, atol=1e-12)


def test_company_and_padding_change_nothing():
    model = model_of("gpt2")
    alone, together = kept(model, size=1)[1], kept(model, size=4, padding_side="left")[1]
    for key, found in alone.direct.items():
        np.testing.assert_allclose(together.direct[key], found, rtol=1e-6, atol=1e-9)
    for key, found in alone.heads.items():
        np.testing.assert_allclose(together.heads[key], found, rtol=1e-6, atol=1e-8)


def test_listening_changes_no_effect():
    model = model_of("llama")
    with_direct = kept(model)[1]
    source, keep = source_of(model, direct=False), KeepEffects()
    scan(source, [keep])
    assert not keep.direct
    for key, found in keep.heads.items():
        np.testing.assert_array_equal(with_direct.heads[key], found)


def opt_without_norm():
    config = tiny_task_model("opt").config
    config.do_layer_norm_before = False
    config._remove_final_layer_norm = True
    return tf.AutoModelForCausalLM.from_config(config).double().eval()


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (lambda: tiny_task_model("bert"), "direct effects are of decoders alone"),
        (lambda: tiny_task_model("t5"), "direct effects are of decoders alone"),
        (opt_without_norm, "no norm alone stands between its last block and its unembedding"),
        (lambda: tiny_task_model("gemma2", dtype=torch.float32), "its logits are bent behind the unembedding"),
    ],
)
def test_models_without_direct_effects_say_why(model, why):
    model = model()
    if why.startswith("its logits"):
        with torch.no_grad():
            model.lm_head.weight.mul_(2000)  # random scores are so small that a soft cap does not bend them
    source, keep = source_of(model), KeepEffects()
    assert source.logit_path.no_direct == why
    scan(source, [keep])
    assert keep.heads
    assert not keep.direct
