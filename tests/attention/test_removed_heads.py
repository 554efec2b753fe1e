"""Heads removed from the weights, against plain transformers with those slices of its projections' input at zero."""

import pytest
import torch
from torch import nn

from headscope.attention.head_id import HeadId
from headscope.attention.model.examination import examine
from headscope.attention.model.projections import find_projections
from headscope.attention.model.removed_heads import projection_means, remove_heads
from headscope.errors import ModelError, OptionError
from headscope.models.forward_inputs import model_inputs
from support.by_hook import hooked
from support.inputs import made_up_segments, vocabulary
from support.task_models import TAPPED, tiny_task_model
from support.tiny_models import tiny_model


def masked(model, anatomy, heads, inputs):
    """Run the model with the heads' slices of what its own projections take set to zero."""
    with hooked(model, anatomy, dict.fromkeys(heads, torch.zeros_like)), torch.inference_mode():
        return model(**inputs).logits


@pytest.mark.parametrize("family", [each for each in TAPPED if each != "albert"])
def test_the_saved_model_is_the_masked_one(family, tmp_path):
    model = tiny_task_model(family)
    bare, words = getattr(model, "base_model", model), vocabulary()
    anatomy = examine(bare, words)
    heads = [
        HeadId.at(part.kind, layer, (layer + 1) % part.heads)
        for part in anatomy.layout
        for layer in range(part.layers)
        if layer != 1  # a layer that keeps all
    ] + [HeadId.at(anatomy.layout[0].kind, 0, 0)]  # and one that loses two
    ids = torch.randint(5, 40, (2, 7), generator=torch.Generator().manual_seed(2))
    inputs = {"input_ids": ids} | ({"decoder_input_ids": ids.flip(1)} if anatomy.encoder_decoder else {})
    expected = masked(model, anatomy, heads, inputs)
    with torch.inference_mode():
        whole = model(**inputs).logits
    assert (expected - whole).abs().max() > 1e-3, "these heads change nothing here"
    remove_heads(find_projections(bare, anatomy, words), anatomy.layout, heads)
    model.save_pretrained(tmp_path)
    written = type(model).from_pretrained(tmp_path, dtype=torch.float64).eval()
    with torch.inference_mode():
        torch.testing.assert_close(written(**inputs).logits, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("family", ["bert", "gpt2", "opt", "bart"])
def test_the_mean_goes_into_the_bias(family, tmp_path):
    """Plain transformers reads back the model in which each head writes its mean, taken by a hook on the same text."""
    model, words = tiny_task_model(family, dtype=torch.float64), vocabulary()
    bare = getattr(model, "base_model", model)
    anatomy = examine(bare, words)
    heads = [HeadId.at(part.kind, 1, head) for part in anatomy.layout for head in (0, 2)]
    segments = made_up_segments(4, seed=3, longest=11)
    seen = {head: [] for head in heads}

    def keep(head):
        def look(slices):
            seen[head].append(slices.reshape(-1, slices.shape[-1]).clone())
            return slices

        return look

    with hooked(model, anatomy, {head: keep(head) for head in heads}), torch.inference_mode():
        for segment in segments:
            _, inputs, _ = model_inputs([segment], anatomy, words)
            model(**inputs)
    means = {head: torch.cat(rows).mean(0) for head, rows in seen.items()}

    def constant(head):
        return lambda slices: means[head].expand_as(slices)

    ids = torch.randint(5, 40, (2, 7), generator=torch.Generator().manual_seed(2))
    inputs = {"input_ids": ids} | ({"decoder_input_ids": ids.flip(1)} if anatomy.encoder_decoder else {})
    with hooked(model, anatomy, {head: constant(head) for head in heads}), torch.inference_mode():
        expected = model(**inputs).logits
    projections = find_projections(bare, anatomy, words)
    found = projection_means(bare, anatomy, words, projections, segments)
    remove_heads(projections, anatomy.layout, heads, means=found)
    model.save_pretrained(tmp_path)
    written = type(model).from_pretrained(tmp_path, dtype=torch.float64).eval()
    with torch.inference_mode():
        torch.testing.assert_close(written(**inputs).logits, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (
            "llama",
            "decoder layer 1: its output projection has no bias, which would take the mean of what removed heads "
            "write; choose --intervention zero",
        ),
        (
            "albert",
            "encoder layer 1: its output projection serves other layers too, whose heads write other means; choose "
            "--intervention zero",
        ),
    ],
)
def test_a_mean_without_a_place_is_refused_before_anything_changes(family, words):
    model = tiny_model(family)
    projections, layout = prepared(model)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    means = {site: torch.ones(each.factor.shape[:2]) for site, each in projections.layers.items()}
    heads = [HeadId(layout[0].kind, layer, 3) for layer in (1, 2, 3)]
    with pytest.raises(ModelError) as refused:
        remove_heads(projections, layout, heads, means=means)
    assert str(refused.value) == words
    for name, each in model.state_dict().items():
        assert torch.equal(before[name], each)


def prepared(model):
    words = vocabulary()
    anatomy = examine(model, words)
    return find_projections(model, anatomy, words), anatomy.layout


def test_layers_that_share_weights_lose_the_same_heads_or_none():
    model = tiny_model("albert")
    projections, layout = prepared(model)
    before = {name: each.clone() for name, each in model.state_dict().items()}
    with pytest.raises(ModelError, match="layers of this model share one output projection; expected the same heads"):
        remove_heads(projections, layout, [HeadId("encoder", 1, 3)])
    for name, each in model.state_dict().items():
        assert torch.equal(before[name], each)
    remove_heads(projections, layout, [HeadId("encoder", layer, 3) for layer in (1, 2, 3)])
    projection = next(part for name, part in model.named_modules() if name.endswith("attention.dense"))
    assert [bool(rows.any()) for rows in projection.weight.detach().T.unflatten(0, (4, -1))] == [
        True,
        True,
        False,
        True,
    ]


class Adapted(nn.Linear):
    """Stands for what adapters and quantization put in a layer's place."""


def test_what_is_more_than_its_weights_is_refused():
    model = tiny_model("llama")
    old = model.layers[1].self_attn.o_proj
    model.layers[1].self_attn.o_proj = Adapted(old.in_features, old.out_features, bias=False)
    projections, layout = prepared(model)
    with pytest.raises(ModelError) as refused:
        remove_heads(projections, layout, [HeadId("decoder", 1, 1), HeadId("decoder", 2, 1)])
    assert str(refused.value) == (
        "decoder layer 2: its output projection is of class Adapted, whose weights cannot be set to zero by row; merge "
        "adapters and load the model unquantized first"
    )
    assert model.layers[0].self_attn.o_proj.weight.all(), "nothing may be changed before all are checked"


@pytest.mark.parametrize("name", ["4-1", "1-5", "cross 1-1"])
def test_a_head_that_there_is_not(name):
    projections, layout = prepared(tiny_model("bert"))
    with pytest.raises(OptionError) as refused:
        remove_heads(projections, layout, [HeadId.parse(name)])
    assert str(refused.value) == f"the model has no head {name}; it has 3 layers of 4 encoder heads"


def test_a_model_whose_projection_is_not_found():
    projections, layout = prepared(tiny_model("bloom"))
    with pytest.raises(ModelError, match=r"^decoder layer 1: .*; its heads cannot be removed from the weights$"):
        remove_heads(projections, layout, [HeadId(layout[0].kind, 1, 1)])
