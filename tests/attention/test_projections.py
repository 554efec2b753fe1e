"""The output projection, found by looking, against the product of each head's output with its own rows of W_O."""

import copy

import pytest
import torch
from torch import nn

from headscope.attention.model.examination import examine
from headscope.attention.model.projections import find_projections
from headscope.attention.model.tap import Tap
from headscope.attention.output_norms import key_norms, norm_shares, output_norms
from support.inputs import vocabulary
from support.tiny_models import CONFIGS, shared_tiny_model

# What transformers calls each family's output projection: the module's name, whole or its end.
NAMES = ("o_proj", "out_proj", "attention.output.dense", "c_proj", "attention.dense", "out_lin", "SelfAttention.o",
         "EncDecAttention.o", "attn.Wo", "self_attention.dense")  # fmt: skip


@pytest.mark.parametrize("family", sorted(CONFIGS))
def test_what_is_found_is_what_the_model_multiplies_by(family):
    model = shared_tiny_model(family)
    known = vocabulary()
    anatomy = examine(model, known)
    found = find_projections(model, anatomy, known)
    everywhere = {(part.kind, layer) for part in anatomy.layout for layer in range(part.layers)}
    assert set(found.layers) | set(found.missing) == everywhere
    if anatomy.path == "fallback":
        assert not found.layers
        assert "does not use transformers' attention interface" in next(iter(found.missing.values()))
        return
    assert not found.missing
    # A hook on the module of that name sees what went in and came out, head by head.
    named = [part for name, part in model.named_modules() if name.endswith(NAMES) and "crossattention" not in name]
    assert named
    seen = []
    hooks = [part.register_forward_hook(lambda part, given, out: seen.append((part, given[0]))) for part in set(named)]
    outputs = []

    def listen(call):
        output, weights = call.eager()
        site = anatomy.calls[call.order]
        outputs.append((site, output, weights, call.value))
        return output

    generator = torch.Generator().manual_seed(1)
    inputs = {"input_ids": torch.randint(5, 40, (1, 6), generator=generator)}
    if anatomy.encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"].flip(1)
    with Tap(model, listen), torch.inference_mode():
        model(**inputs)
    for hook in hooks:
        hook.remove()
    assert outputs
    checked = 0
    for site, output, weights, value in outputs:
        parts = [part for part, given in seen if given.shape[-1] == output[0, 0].numel()
                 and torch.equal(given.reshape(-1), output.reshape(-1))]  # fmt: skip
        assert parts, (site, "no module of a known name takes the output")
        weight = parts[0].weight.detach().double()
        matrix = weight.T if isinstance(parts[0], nn.Linear) else weight
        heads, width = output.shape[2:]
        factor = found.layers[site.kind, site.layer].factor
        assert factor.shape[0] == heads
        for head in range(heads):
            own = matrix[head * width : (head + 1) * width]
            expected = (output[:, :, head].double() @ own).norm(dim=-1)
            torch.testing.assert_close(output_norms(output, factor)[:, head].double(), expected, rtol=1e-5, atol=1e-7)
            group = head * value.shape[1] // heads
            written = value[:, group].double() @ own
            norms = key_norms(value, factor)[:, head].double()
            torch.testing.assert_close(norms, written.norm(dim=-1), rtol=1e-5, atol=1e-7)
            plain = weights[:, head].double() * written.norm(dim=-1)[:, None]
            plain /= plain.sum(-1, keepdim=True)
            torch.testing.assert_close(
                norm_shares(weights, key_norms(value, factor))[:, head], plain, rtol=1e-5, atol=1e-7
            )
            checked += 1
    assert checked == sum(part.layers * part.heads for part in anatomy.layout)


class Gated(nn.Module):
    """An output projection behind a gate that the output itself opens: nothing linear in it."""

    def __init__(self, projection):
        super().__init__()
        self.projection = projection

    def forward(self, given):
        return self.projection(given * torch.sigmoid(given))


def test_an_output_that_is_changed_first_has_no_projection():
    from support.tiny_models import tiny_model

    model = tiny_model("llama")
    for name, part in list(model.named_modules()):
        if name.endswith("self_attn"):
            part.o_proj = Gated(part.o_proj)
    known = vocabulary()
    found = find_projections(model, examine(model, known), known)
    assert not found.layers
    assert set(found.missing.values()) == {"no linear map takes the attention's output"}


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_in_another_precision_the_same_matrix_is_found(family, dtype):
    """A bias that is large beside the matrix must not hide it where there are few digits."""
    model, known = copy.deepcopy(shared_tiny_model(family)), vocabulary(has_cls=family == "bert")
    if family == "bert":
        with torch.no_grad():
            for block in model.encoder.layer:
                block.attention.output.dense.bias.fill_(5.0)
        parts = [block.attention.output.dense for block in model.encoder.layer]
    else:
        parts = [block.self_attn.o_proj for block in model.layers]
    model = model.to(dtype)
    found = find_projections(model, examine(model, known), known)
    assert not found.missing
    for (_, layer), projection in found.layers.items():
        factor = projection.factor
        # In few digits an addition may be lost in the stream's: then it is not said to be what is added.
        assert projection.in_stream or dtype != torch.float64
        matrix = parts[layer].weight.detach().double().T
        lengths = matrix.reshape(factor.shape[0], -1, matrix.shape[1]).norm(dim=-1)
        few = 1e-5 if dtype == torch.float64 else 0.02
        torch.testing.assert_close(factor.double().norm(dim=-1), lengths, rtol=few, atol=0)
