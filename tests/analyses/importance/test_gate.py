"""The gate estimate: against torch's gradient by explicit gates, and against exact effects where both are the same."""

import numpy as np
import pytest
import torch

from headscope.analyses.importance.compute import ImportanceAccumulator
from headscope.attention.head_id import HeadId
from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.replacement import Zero
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.scan import scan
from headscope.encoding.loss_questions import NO_TARGET, NextToken
from headscope.models.forward_inputs import model_inputs
from headscope.models.losses import ask_of, loss_of
from support.by_hook import hooked
from support.effects import KeepEffects
from support.inputs import made_up_segments, vocabulary
from support.task_models import linear_gpt2, tiny_task_model, tokenizer_of

SEGMENTS = made_up_segments(6, seed=21, longest=13, documents=4)
FAVORITE = 5
"""The token that the linear model always takes for the next."""


def gates_of(model, ask, segments, *, size=3):
    anatomy = examine(model, vocabulary())
    sums = ImportanceAccumulator(anatomy.layout)
    groups = [segments[i : i + size] for i in range(0, len(segments), size)]
    scan(GradientSource(model, anatomy, vocabulary(), groups, ask), [sums])
    (result,) = sums.compute()
    return result.gate.value[:, :-1]


@pytest.mark.parametrize("family", ["bert", "gpt2", "qwen3"])
def test_gates_are_those_of_torch(family):
    """A gate of 1 for each head, multiplied onto what it writes in transformers' own eager code, input by input."""
    model = tiny_task_model(family)
    anatomy = examine(model, vocabulary())
    (part,) = anatomy.layout
    ask = ask_of(loss_of(anatomy), tokenizer_of(family), anatomy)
    found = gates_of(model, ask, SEGMENTS)
    model.set_attn_implementation("eager")
    total = np.zeros((part.layers, part.heads))
    for segment in SEGMENTS:
        question = ask(segment)
        _, inputs, _ = model_inputs([question.segment], anatomy, vocabulary())
        gates = torch.ones(part.layers, part.heads, dtype=torch.float64, requires_grad=True)
        changes = {
            HeadId.at(part.kind, layer, head): lambda slices, gate=gates[layer, head]: slices.clone() * gate
            for layer, head in np.ndindex(part.layers, part.heads)
        }
        targets = torch.from_numpy(question.targets)
        with hooked(model, anatomy, changes):
            scores = model(**inputs).logits[0][targets != NO_TARGET]
        torch.nn.functional.cross_entropy(scores, targets[targets != NO_TARGET]).backward()
        total += gates.grad.abs().numpy()
    np.testing.assert_allclose(found, total / len(SEGMENTS), rtol=1e-5, atol=1e-9)
    assert (found > 1e-6).all()


def test_a_gate_is_the_exact_effect_of_zero_where_the_loss_is_linear_in_it():
    model, ask = linear_gpt2(FAVORITE), NextToken()
    anatomy = examine(model, vocabulary())
    for segment in SEGMENTS:
        assert FAVORITE not in segment.ids
        found = gates_of(model, ask, [segment])
        keep = KeepEffects()
        source = EffectSource(model, anatomy, vocabulary(), [[segment]], ask, fits=[lambda _: Zero()])
        scan(source, [keep])
        first, last = (
            np.abs(keep.heads[segment.document, segment.index, "decoder", layer][:, 0, 0])
            for layer in (0, len(found) - 1)
        )
        assert (last > 1e-6).all()
        np.testing.assert_allclose(found[-1], last, rtol=1e-6, atol=1e-10)
        # Later heads look elsewhere without a head of the first layer: what it costs is not linear.
        assert not np.allclose(found[0], first, rtol=1e-3)


def test_the_batch_changes_no_gate():
    """The size of each segment's own sum; that of a batch's sum would depend on the batch."""
    model = tiny_task_model("bert")
    ask = ask_of("mlm", tokenizer_of("bert"), examine(model, vocabulary()))
    together, alone = (gates_of(model, ask, SEGMENTS, size=size) for size in (6, 1))
    np.testing.assert_allclose(together, alone, rtol=1e-6)
