"""Gradients by attention weights: torch's own on transformers' eager weights, and single weights moved."""

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers as tf
from transformers import AutoModelForMaskedLM

from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.tap import AttentionCall, Tap, output_of
from headscope.attention.scan import scan
from headscope.encoding.loss_questions import NO_TARGET, GivenLabels
from headscope.errors import AttentionError, ModelError
from headscope.models.forward_inputs import model_inputs
from headscope.models.losses import ask_of, frozen, loss_of
from support.hand_made import HandMadeSource, random_map
from support.inputs import PAD, made_up_segments, vocabulary
from support.task_models import TAPPED, tiny_task_model, tokenizer_of
from support.tiny_models import CONFIGS, VOCABULARY, shared_tiny_model

SEGMENTS = made_up_segments(5, seed=11, longest=14)
# In double precision transformers' masks of windows make padding rows NaN in these, and all else with them.
SINGLE = ("modernbert", "mistral", "gemma2")
# These round to single precision within (norms, softmax): the loss is known to seven digits only.
ROUNDED = ("llama", "t5")


class Keep:
    """Keep the weights and gradients of every segment: {(document, kind, layer): (weights, gradient)}."""

    span, needs = "rows", frozenset({"weights", "gradient"})

    def __init__(self):
        self.found, self.order = {}, []

    def begin(self, batch):
        self.order.append("begin")

    def update(self, tile):
        self.order.append((tile.kind, tile.layer))
        for item, document in enumerate(tile.queries.documents):
            rows, columns = tile.queries.valid[item], tile.keys.valid[item]
            own = [part[item][:, rows][:, :, columns] for part in (tile.weights, tile.gradient)]
            self.found[document, tile.kind, tile.layer] = tuple(own)

    def end(self, batch):
        self.order.append("end")


def source_of(family, segments=SEGMENTS, *, size=3, model=None, ask=None, **how):
    dtype = torch.float32 if family in SINGLE else torch.float64
    model = tiny_task_model(family, dtype=dtype) if model is None else model
    anatomy = examine(model, vocabulary())
    ask = ask or ask_of(loss_of(anatomy), tokenizer_of(family), anatomy)
    groups = [segments[i : i + size] for i in range(0, len(segments), size)]
    return GradientSource(model, anatomy, vocabulary(), groups, ask, **how)


def gradients(family, segments=SEGMENTS, **how):
    source, keep = source_of(family, segments, **how), Keep()
    scan(source, [keep])
    return source, keep


def by_autograd(model, anatomy, question):
    """One segment, unpadded, through transformers' own eager attention: torch differentiates the weights it returns."""
    decoders = None if question.decoder is None else [question.decoder]
    _, inputs, _ = model_inputs([question.segment], anatomy, vocabulary(), decoders=decoders)
    model.set_attn_implementation("eager")
    out = model(**inputs, output_attentions=True, use_cache=False)
    right = torch.from_numpy(question.targets)
    chances = torch.log_softmax(out.logits[0], dim=-1)
    asked = [place for place, token in enumerate(right.tolist()) if token != NO_TARGET]
    loss = -sum(chances[place, right[place]] for place in asked) / len(asked)
    if anatomy.encoder_decoder:
        maps = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    else:
        maps = {anatomy.layout[0].kind: out.attentions}
    flat = [(kind, layer, weights) for kind, own in maps.items() for layer, weights in enumerate(own)]
    found = torch.autograd.grad(loss, [weights for *_, weights in flat])
    return float(loss.detach()), {
        (kind, layer): (weights.detach()[0], own[0]) for (kind, layer, weights), own in zip(flat, found)
    }


@pytest.mark.parametrize("family", TAPPED)
def test_every_family_against_torchs_own(family):
    """A padded batch through the tap, and segment by segment through eager attention."""
    source, keep = gradients(family)
    model = tiny_task_model(family, dtype=next(source.model.parameters()).dtype)
    # Many families take the softmax in float32 in any precision: its last digit is the processor's.
    exact = 1e-5 if family in SINGLE else 2.5e-7
    total = 0.0
    for segment in SEGMENTS:
        loss, expected = by_autograd(model, source.anatomy, source.ask(segment))
        total += loss
        for (kind, layer), (weights, gradient) in expected.items():
            own_weights, own_gradient = keep.found[segment.document, kind, layer]
            scale = float(gradient.abs().max())
            assert scale > 0
            torch.testing.assert_close(own_weights, weights, rtol=0, atol=exact)
            torch.testing.assert_close(own_gradient, gradient, rtol=1e-6, atol=exact * scale)
    assert len(keep.found) == len(SEGMENTS) * sum(part.layers for part in source.layout)
    assert source.counts.segments == len(SEGMENTS)
    np.testing.assert_allclose(source.counts.total, total, rtol=1e-6)


@pytest.mark.parametrize("family", ["bert", "modernbert", "llama", "gemma2", "t5", "bart"])
def test_the_output_is_eagers_where_weights_are_unchanged(family):
    model = shared_tiny_model(family)
    ids = torch.randint(5, 90, (3, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(ids)
    mask[0, 6:] = 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    inputs |= {"decoder_input_ids": ids} if family in ("t5", "bart") else {}
    seen = []

    def listen(call):
        output, weights = call.eager()
        seen.append(torch.equal(output_of(call, weights), output))
        return output_of(call, weights)

    with torch.no_grad():
        model.set_attn_implementation("eager")
        expected = model(**inputs)[0]
        with Tap(model, listen):
            found = model(**inputs)[0]
    assert len(seen) >= 3
    assert all(seen)
    assert torch.equal(found, expected)


class Mover:
    """Run a model on one question with a single weight moved, through the tap."""

    def __init__(self, model, anatomy, question, vocab):
        self.model, self.anatomy, self.question = model, anatomy, question
        decoders = None if question.decoder is None else [question.decoder]
        _, self.inputs, _ = model_inputs([question.segment], anatomy, vocab, decoders=decoders)

    def loss(self, kind, layer, head, query, key, step):
        def listen(call: AttentionCall):
            weights = call.eager()[1]
            site = self.anatomy.calls[call.order]
            if (site.kind, site.layer) == (kind, layer):
                weights = weights.clone()
                weights[0, head, query, key] += step
            return output_of(call, weights)

        right = torch.from_numpy(self.question.targets)
        with torch.no_grad(), Tap(self.model, listen):
            chances = torch.log_softmax(self.model(**self.inputs).logits[0], dim=-1)
        asked = right != NO_TARGET
        return float(-chances[asked].gather(1, right[asked][:, None]).mean())

    def slope(self, *place, step):
        """Central differences of two step sizes, extrapolated: the error is of the fourth order."""
        wide = (self.loss(*place, 2 * step) - self.loss(*place, -2 * step)) / (4 * step)
        near = (self.loss(*place, step) - self.loss(*place, -step)) / (2 * step)
        return (4 * near - wide) / 3


@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "t5", "bart"])
def test_single_weights_moved_through_the_tap(family):
    """d loss / d w is what the loss does when one weight moves and its row no longer sums to 1."""
    source, keep = gradients(family)
    segment = max(SEGMENTS, key=len)
    mover = Mover(source.model, source.anatomy, source.ask(segment), vocabulary())
    rng = np.random.default_rng(0)
    for part in source.layout:
        for _ in range(4):
            layer, head = int(rng.integers(part.layers)), int(rng.integers(part.heads))
            gradient = keep.found[segment.document, part.kind, layer][1][head]
            # The pair of a random row that the loss depends on most: rounding is least there.
            query = int(rng.choice(np.flatnonzero(gradient.abs().sum(-1).numpy() > 0)))
            visible = query + 1 if part.kind == "decoder" else gradient.shape[1]
            key = int(gradient[query, :visible].abs().argmax())
            slope = mover.slope(part.kind, layer, head, query, key, step=4e-3 if family in ROUNDED else 1e-3)
            expected = float(gradient[query, key])
            relative = 1e-3 if family in ROUNDED else 1e-6
            assert abs(slope - expected) <= relative * abs(expected) + 1e-11, (part.kind, layer, head)


@pytest.mark.slow
def test_single_weights_of_the_embedded_model():
    pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    from headscope.encoding.encoder import Encoder
    from headscope.models.task_heads import load_task_model

    loaded = load_task_model(None, loss="mlm", dtype="float64", device="cpu")
    encoder = Encoder(loaded.tokenizer)
    anatomy = examine(loaded.model, encoder.vocabulary)
    texts = encoder.pieces(["The old bridge was closed, and nobody crossed it.", "It opened again on Tuesday."])
    segment = encoder.segment(*texts, document="d", index=0)
    ask = ask_of("mlm", loaded.tokenizer, anatomy)
    keep = Keep()
    scan(GradientSource(loaded.model, anatomy, encoder.vocabulary, [[segment]], ask), [keep])
    mover = Mover(loaded.model, anatomy, ask(segment), encoder.vocabulary)
    for layer, head, query, key in ((0, 2, 4, 0), (1, 8, 5, 6), (3, 1, 2, 11), (4, 7, 9, 0), (5, 11, 7, 3)):
        expected = float(keep.found["d", "encoder", layer][1][head, query, key])
        slope = mover.slope("encoder", layer, head, query, key, step=1e-3)
        assert abs(slope - expected) <= 1e-6 * abs(expected) + 1e-11


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_company_order_and_padding_change_nothing(family, side):
    _, alone = gradients(family, size=1)
    _, together = gradients(family, SEGMENTS[::-1], size=5, padding_side=side)
    assert alone.found.keys() == together.found.keys()
    for place, (weights, gradient) in alone.found.items():
        torch.testing.assert_close(together.found[place][0], weights, rtol=0, atol=1e-9)
        torch.testing.assert_close(together.found[place][1], gradient, rtol=1e-6, atol=1e-10)


def test_tiles_come_in_the_backward_pass_a_layer_at_a_time():
    _, keep = gradients("bert", size=4)
    assert keep.order == [
        *("begin", ("encoder", 2), ("encoder", 1), ("encoder", 0), "end"),
        *("begin", ("encoder", 2), ("encoder", 1), ("encoder", 0), "end"),
    ]


def test_labels_of_ones_own():
    """The decoder writes what it is told; the encoder reads the text as it is."""
    labels = {segment.document: [20 + place, 30, 2] for place, segment in enumerate(SEGMENTS)}
    ask = GivenLabels(lambda segment: labels[segment.document], start=0)
    source, keep = gradients("t5", ask=ask)
    model = tiny_task_model("t5")
    for segment in SEGMENTS:
        assert ask(segment).segment is segment
        loss, expected = by_autograd(model, source.anatomy, ask(segment))
        inputs = {"input_ids": torch.from_numpy(segment.ids)[None]}
        with torch.no_grad():
            own = model(**inputs, labels=torch.tensor([labels[segment.document]])).loss
        np.testing.assert_allclose(loss, float(own), rtol=1e-9)
        gradient = keep.found[segment.document, "cross", 1][1]
        torch.testing.assert_close(gradient, expected["cross", 1][1], rtol=1e-6, atol=1e-10)
    assert source.counts.targets == 3 * len(SEGMENTS)


def test_segments_with_nothing_to_predict_are_left_out_and_counted():
    one = SEGMENTS[0]
    short = replace(one, document="short", ids=one.ids[:1], token_types=one.token_types[:1], word_ids=one.word_ids[:1])
    source, keep = gradients("gpt2", [short, *SEGMENTS, short], size=1)
    assert (source.counts.segments, source.counts.nothing) == (len(SEGMENTS), 2)
    assert keep.order.count("begin") == len(SEGMENTS)
    assert source.counts.targets == sum(len(segment) - 1 for segment in SEGMENTS)


def state_of(model):
    return (
        [m.training for m in model.modules()],
        [p.requires_grad for p in model.parameters()],
        [p.grad is None for p in model.parameters()],
        model.config._attn_implementation,
        torch.is_grad_enabled(),
        [(len(m._forward_pre_hooks), len(m._forward_hooks)) for m in model.modules()],
    )


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_a_users_model_gets_everything_back_also_after_an_error(family):
    model = tiny_task_model(family)
    model.set_attn_implementation("sdpa")
    for number, module in enumerate(model.modules()):
        module.training = number % 2 == 0
    for number, parameter in enumerate(model.parameters()):
        parameter.requires_grad_(number % 3 > 0)
    source = source_of(family, model=model)
    before = state_of(model)
    keep = Keep()
    with torch.no_grad():  # whatever a user has switched off
        scan(source, [keep])
    assert state_of(model) == before
    assert keep.found

    class Breaks(Keep):
        def update(self, tile):
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        scan(source, [Breaks()])
    assert state_of(model) == before
    with frozen(model):
        assert not any(parameter.requires_grad for parameter in model.parameters())
    assert state_of(model) == before


def test_attention_that_the_loss_does_not_see_has_gradient_zero():
    model = tiny_task_model("bert")
    source = source_of("bert", model=model)
    # The last layer's attention is cut off from what follows.
    cut = model.bert.encoder.layer[2].attention
    cut.register_forward_hook(lambda module, given, out: (given[0], *out[1:]))
    keep = Keep()
    scan(source, [keep])
    assert sorted(set(keep.order) - {"begin", "end"}) == [("encoder", layer) for layer in range(3)]
    for (_, _, layer), (weights, gradient) in keep.found.items():
        assert bool(gradient.any()) == (layer < 2)
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_a_model_off_the_interface_is_refused():
    model = AutoModelForMaskedLM.from_config(CONFIGS["mpnet"]()).eval()
    with pytest.raises(ModelError) as refused:
        source_of("mpnet", model=model, ask=lambda segment: None)
    assert str(refused.value) == (
        "MPNetForMaskedLM does not hand its attention to transformers' attention interface, so no gradient of it can "
        "be taken; use --loss none, or another model"
    )


def test_left_padding_is_refused_where_it_would_move_tokens():
    with pytest.raises(
        ModelError, match=r"^BartForConditionalGeneration reads an input otherwise when it is padded on the left"
    ):
        source_of("bart", padding_side="left")


def test_attention_that_is_more_than_weights_times_values_is_refused(monkeypatch):
    """As a gate on each head's output would be."""
    from transformers.models.bert import modeling_bert

    plain = modeling_bert.eager_attention_forward

    def gated(*given, **options):
        output, weights = plain(*given, **options)
        return output * 0.5, weights

    monkeypatch.setattr(modeling_bert, "eager_attention_forward", gated)
    with pytest.raises(ModelError) as refused:
        gradients("bert")
    assert str(refused.value) == (
        "BertSelfAttention does more with its attention weights than multiply values by them, so the gradient with "
        "respect to them is not known; use --loss none, or another model"
    )


def test_a_gradient_that_is_not_a_number_names_head_and_document():
    model = tiny_task_model("bert")
    source = source_of("bert", model=model)
    with torch.no_grad():
        model.cls.predictions.transform.dense.weight[0, 0] = float("nan")
    with pytest.raises(AttentionError) as stopped:
        scan(source, [Keep()])
    assert str(stopped.value) == (
        "encoder head 3-1 has a gradient that is NaN or infinite, in segment 1 of document doc0; the loss or the "
        "weights overflow: try --dtype float32, and check the checkpoint"
    )


def test_gradients_of_rows_are_joined_to_layers():
    class Layers(Keep):
        span = "layer"

    cut, whole = Layers(), Layers()
    scan(HandMadeSource(SEGMENTS, random_map, batch_size=2, height=3), [cut])
    scan(HandMadeSource(SEGMENTS, random_map), [whole])
    assert cut.order.count(("encoder", 1)) == 3
    for place, (weights, gradient) in whole.found.items():
        assert torch.equal(cut.found[place][0], weights)
        assert torch.equal(cut.found[place][1], gradient)
        assert torch.equal(gradient, HandMadeSource.gradient_of(weights))


def test_a_source_without_gradients_says_so():
    model = shared_tiny_model("bert")
    source = ModelSource(model, examine(model, vocabulary()), vocabulary(), [SEGMENTS])
    with pytest.raises(ValueError, match="gradient") as refused:
        scan(source, [Keep()])
    assert str(refused.value) == (
        "this tile holds no gradient; scan a GradientSource for accumulators that name 'gradient' in their needs"
    )


def test_weights_beside_a_learned_sink_against_torchs_own():
    torch.manual_seed(2)
    config = tf.GptOssConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        intermediate_size=48, vocab_size=VOCABULARY, pad_token_id=PAD, num_local_experts=2, num_experts_per_tok=1,
        rope_parameters={"rope_type": "default"}, initializer_range=0.15,
    )  # fmt: skip
    model = tf.AutoModelForCausalLM.from_config(config, experts_implementation="eager").eval().double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("sinks"):
                parameter.copy_(torch.tensor([2.0, 0.0, -1.0, 4.0]))
    source, keep = gradients("gpt_oss", model=model)
    for segment in SEGMENTS:
        _, expected = by_autograd(model, source.anatomy, source.ask(segment))
        assert len(expected) == 2
        for (kind, layer), (weights, gradient) in expected.items():
            own_weights, own_gradient = keep.found[segment.document, kind, layer]
            assert float(weights.sum(-1).min()) < 0.1, "a sink is meant to take much"
            torch.testing.assert_close(own_weights, weights, rtol=0, atol=1e-12)
            torch.testing.assert_close(own_gradient, gradient, rtol=1e-6, atol=1e-8 * float(gradient.abs().max()))
