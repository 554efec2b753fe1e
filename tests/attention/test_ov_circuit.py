"""Copying scores from weights: against eigenvalues of the whole vocabulary's matrix, heads made by hand, refusals."""

import numpy as np
import pytest
import torch

from headscope.attention.interventions.block_plan import find_blocks
from headscope.attention.model.examination import examine
from headscope.attention.model.ov_circuit import copying_score, ov_copying
from headscope.attention.model.projections import find_projections
from headscope.attention.model.unembedding import find_unembedding
from support.causal_models import tiny_causal_model
from support.inputs import vocabulary
from support.task_models import tiny_task_model


def scores_of(model):
    anatomy = examine(model, vocabulary())
    plan = find_blocks(model, anatomy, vocabulary())
    unembedding = find_unembedding(model, anatomy, vocabulary(), plan.modules)
    projections = find_projections(model, anatomy, vocabulary())
    return ov_copying(model, anatomy, vocabulary(), projections, unembedding)


def matrices(family, block):
    """W_V of each group, `[group, model, 8]`, and W_O of each head, `[head, 8, model]`, by transformers' own names."""
    if family == "gpt2":
        values = block.attn.c_attn.weight[:, 64:]
        outputs = block.attn.c_proj.weight
    elif family == "gpt_neox":
        # Queries, keys and values of each head stand side by side.
        values = block.attention.query_key_value.weight.T.unflatten(1, (4, 3, 8))[:, :, 2].flatten(1)
        outputs = block.attention.dense.weight.T
    else:
        attention = block.self_attn
        values = attention.qkv_proj.weight.T[:, -16:] if family == "phi3" else attention.v_proj.weight.T
        outputs = attention.o_proj.weight.T
        if family == "olmo2":
            outputs = outputs * block.post_attention_layernorm.weight
    values, outputs = values.detach().double(), outputs.detach().double()
    return values.unflatten(1, (-1, 8)).transpose(0, 1).numpy(), outputs.unflatten(0, (4, 8)).numpy()


@pytest.mark.parametrize("family", ["gpt2", "llama", "phi3", "gpt_neox", "olmo2"])
def test_scores_are_those_of_the_matrix_of_all_tokens(family):
    model = (tiny_causal_model if family == "olmo2" else tiny_task_model)(family)
    scores = scores_of(model)
    blocks = {"gpt2": lambda: model.transformer.h, "gpt_neox": lambda: model.gpt_neox.layers}.get(
        family, lambda: model.model.layers
    )()
    embed = model.get_input_embeddings().weight.detach().double().numpy()
    unembed = model.get_output_embeddings().weight.detach().double().numpy()
    for layer, block in enumerate(blocks):
        values, outputs = matrices(family, block)
        for head in range(4):
            group = head * len(values) // 4
            eigenvalues = np.linalg.eigvals(embed @ values[group] @ outputs[head] @ unembed.T)
            expected = eigenvalues.real.sum() / np.abs(eigenvalues).sum()
            assert float(scores["decoder", layer][head]) == pytest.approx(expected, abs=1e-5)


def test_a_copier_has_1_and_a_suppressor_minus_1():
    model = tiny_task_model("gpt2")
    with torch.no_grad():
        model.lm_head.weight.copy_(model.transformer.wte.weight)
        attention = model.transformer.h[1].attn
        for head, sign in ((0, 1.0), (3, -1.0)):
            part = slice(8 * head, 8 * head + 8)
            attention.c_proj.weight[part] = sign * attention.c_attn.weight[:, 64:][:, part].T
    scores = scores_of(model)["decoder", 1]
    assert float(scores[0]) == pytest.approx(1, abs=1e-6)
    assert float(scores[3]) == pytest.approx(-1, abs=1e-6)
    assert (scores[1:3].abs() < 0.99).all()


def test_a_head_without_a_matrix_has_0():
    assert copying_score(np.zeros((3, 3))) == 0


def test_what_cannot_be_told_is_said():
    gated = tiny_causal_model("qwen3_next", dtype=torch.float32)
    assert scores_of(gated) == "a gate or a norm stands between values and projection"
    model = tiny_task_model("llama")
    model.model.embed_tokens = torch.nn.Embedding(120, 32, dtype=torch.float64)
    assert scores_of(model) == (
        "its embeddings are not those of its unembedding's tokens, or not as wide as its stream"
    )
