"""First-order effects: against torch's gradient by explicit patches, exact effects where both are one, and refusals."""

import gc

import numpy as np
import pytest
import torch
from torch import nn
from transformers.modeling_outputs import CausalLMOutput

from headscope.analyses.importance.compute import ImportanceAccumulator
from headscope.attention.interventions.block_plan import without_graph
from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.intervention import halves_of
from headscope.attention.interventions.replacement import Mean, Resample, Uniform
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.scan import scan
from headscope.encoding.loss_questions import NO_TARGET, NextToken
from headscope.models.forward_inputs import model_inputs
from headscope.models.losses import frozen
from support.by_hook import classes_of, heads_of, hooked, means_by_loop, outputs_by_hook, rows_of
from support.effects import FAMILIES, SEGMENTS, SINGLE, KeepEffects, effects, source_of, zero
from support.inputs import vocabulary
from support.task_models import linear_gpt2, tiny_task_model

WRITING = [zero, Mean.fitted, Resample.fitted]


def gradients_by_patches(model, anatomy, question, towards):
    """dL/dt at 0 of z + t (z' - z) for each head, in transformers' own eager code, on one unpadded input."""
    decoders = None if question.decoder is None else [question.decoder]
    _, inputs, _ = model_inputs([question.segment], anatomy, vocabulary(), decoders=decoders)
    model.set_attn_implementation("eager")
    patches = {head: torch.zeros((), dtype=torch.float64, requires_grad=True) for head in towards}
    changes = {
        head: lambda z, t=patches[head], new=new: z.clone() + (t * (new.reshape(z.shape) - z).detach()).to(z.dtype)
        for head, new in towards.items()
    }
    targets = torch.from_numpy(question.targets)
    asked = targets != NO_TARGET
    with frozen(model), hooked(model, anatomy, changes):
        scores = model(**inputs).logits[0][asked]
        nn.functional.cross_entropy(scores, targets[asked]).backward()
    return {head: float(patch.grad) for head, patch in patches.items()}


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "albert"])
def test_every_head_of_every_family_against_patches_in_transformers_own_code(family):
    source, keep = effects(family, fits=[Mean.fitted], first_order=True)
    assert (source.no_gradient, source.backward) == ("", 1)
    model, anatomy = source.model, source.anatomy
    questions = [source.ask(segment) for segment in SEGMENTS]
    outputs = outputs_by_hook(model, anatomy, questions)
    halves = halves_of([segment.document for segment in SEGMENTS])
    exact = 2e-6 if family in SINGLE else 1e-7
    largest = 0.0
    for number, question in enumerate(questions):
        document, index = question.segment.document, question.segment.index
        zeros, means = {}, {}
        for head in heads_of(anatomy):
            by_class, of_all = means_by_loop(questions, outputs, head, 1 - halves[document])
            names = classes_of(rows_of(question, head.kind))
            means[head] = torch.stack([by_class.get(name, of_all) for name in names])
            zeros[head] = torch.zeros_like(outputs[number, head])
        to_zero, to_mean = (gradients_by_patches(model, anatomy, question, each) for each in (zeros, means))
        for head in heads_of(anatomy):
            key, at = (document, index, head.kind, head.position[0]), head.position[1]
            largest = max(largest, abs(to_mean[head]))
            np.testing.assert_allclose(keep.attributions[key][at, 0], to_mean[head], rtol=1e-4, atol=exact)
            np.testing.assert_allclose(keep.gates[key][at], -to_zero[head], rtol=1e-4, atol=exact)
    assert largest > 1e-4, "no head matters here"
    assert not any(parameter.grad is not None for parameter in model.parameters())


def test_the_attribution_of_zero_is_the_gate_estimate_with_its_sign():
    """By products of weights and their gradients, as gradient importance has them."""
    source, keep = effects("albert", fits=WRITING, first_order=True)
    assert source.backward == 1
    sums = ImportanceAccumulator(source.layout)
    scan(GradientSource(source.model, source.anatomy, vocabulary(), list(source.batches), source.ask), [sums])
    expected = sums.compute()[0].gate.value[:, :-1]
    found = np.zeros_like(expected)
    for (*_, layer), gates in keep.gates.items():
        found[layer] += np.abs(gates) / len(SEGMENTS)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-10)
    for key, attributions in keep.attributions.items():
        assert attributions.shape == (4, 3)
        np.testing.assert_array_equal(attributions[:, 0], -keep.gates[key])


def test_attribution_is_the_exact_effect_where_the_loss_is_linear_in_what_heads_write():
    unasked = max(set(range(60)) - {int(token) for segment in SEGMENTS for token in segment.ids})
    model, groups = linear_gpt2(unasked), [SEGMENTS]
    source = EffectSource(
        model, examine(model, vocabulary()), vocabulary(), groups, NextToken(), fits=WRITING,
        fitting=lambda: groups, first_order=True,
    )  # fmt: skip
    keep = KeepEffects()
    scan(source, [keep])
    bent = 0.0
    for key, found in keep.attributions.items():
        exact = keep.heads[key][:, :, 0]
        if key[-1] == source.layout[0].layers - 1:
            assert (np.abs(found) > 1e-7).all()
            np.testing.assert_allclose(found, exact, rtol=1e-6, atol=1e-10)
        else:  # later heads look elsewhere: what is lost is not linear
            bent = max(bent, np.abs(found - exact).max())
    assert bent > 1e-3


def test_company_and_padding_change_nothing():
    alone = effects("gpt2", fits=[Mean.fitted], first_order=True, size=1)[1]
    together = effects("gpt2", fits=[Mean.fitted], first_order=True, size=5, padding_side="left")[1]
    for key, found in alone.attributions.items():
        np.testing.assert_allclose(together.attributions[key], found, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(together.gates[key], alone.gates[key], rtol=1e-6, atol=1e-9)


def test_exact_effects_are_the_same_with_a_gradient_and_without():
    with_gradient, without = (
        effects("gpt2", fits=WRITING, first_order=wanted, direct=True)[1] for wanted in (True, False)
    )
    for key, found in without.heads.items():
        np.testing.assert_array_equal(with_gradient.heads[key], found)
        np.testing.assert_array_equal(with_gradient.direct[key], without.direct[key])
    assert with_gradient.losses == without.losses
    assert not without.gates
    assert not without.attributions


def test_a_head_that_writes_nothing_has_none_and_a_constant_writer_none_by_its_mean():
    model = tiny_task_model("bert")
    with torch.no_grad():
        first, second = (model.bert.encoder.layer[number].attention for number in (0, 1))
        first.output.dense.weight[:, 8:16] = 0  # nobody reads it
        second.self.value.weight[16:24] = 0
        second.self.value.bias[16:24] = torch.linspace(-3, 3, 8)
    _, keep = effects("bert", fits=WRITING, first_order=True, model=model)
    for (*_, layer), found in keep.attributions.items():
        if layer == 0:
            assert (found[1] == 0).all()
        if layer == 1:
            assert abs(found[2, 0]) > 1e-6
            np.testing.assert_allclose(found[2, 1:], 0, atol=1e-9)
        if layer == 2:
            assert (found != 0).all()


def test_interventions_on_where_heads_look_have_the_gate_estimate_alone():
    _, keep = effects("bert", fits=[lambda _: Uniform()], first_order=True)
    assert len(keep.gates) == len(keep.heads)
    assert not keep.attributions


class Detached(nn.Module):
    """A part that no gradient comes back through."""

    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, states):
        return self.part(states.detach())


class OneWay(torch.autograd.Function):
    """A multiplication for which nobody wrote a way back."""

    @staticmethod
    def forward(ctx, states):
        return states * 1.0

    @staticmethod
    def backward(ctx, gradient):
        raise NotImplementedError("int4 kernels have no backward pass\n(here the trace would begin)")


class Failing(Detached):
    """A part whose backward pass fails."""

    def forward(self, states):
        return self.part(OneWay.apply(states))


@pytest.mark.parametrize(
    ("path", "part", "why"),
    [
        ("intermediate.dense", Detached, "no gradient passes through its Detached"),
        ("attention.self.value", Detached, "no gradient passes through its Detached"),
        ("attention.output.dense", Detached, "no gradient passes through the attention of encoder layer 2"),
        ("attention.output.dense", Failing, "its backward pass failed (int4 kernels have no backward pass)"),
    ],
)
def test_models_without_a_gradient_say_why_and_keep_their_exact_effects(path, part, why):
    model = tiny_task_model("bert")
    expected = effects("bert", fits=[zero], model=model)[1]
    layer = model.bert.encoder.layer[1]
    layer.set_submodule(path, part(layer.get_submodule(path)))
    before = [parameter.requires_grad for parameter in model.parameters()]
    source, keep = effects("bert", fits=[zero], model=model, first_order=True)
    assert (source.no_gradient, source.backward) == (why, 0)
    assert not keep.gates
    for key, found in expected.heads.items():
        np.testing.assert_array_equal(keep.heads[key], found)
    assert [parameter.requires_grad for parameter in model.parameters()] == before


def test_offloaded_weights_give_no_gradient():
    accelerate = pytest.importorskip("accelerate")
    model = tiny_task_model("bert")
    accelerate.cpu_offload(model, execution_device=torch.device("cpu"))
    source = source_of("bert", fits=[zero], model=model, first_order=True)
    assert source.no_gradient == (
        "its weights are offloaded and loaded one module at a time, but a gradient needs all of them at once"
    )


class Twice(nn.Module):
    """Two linear maps that take the same."""

    def __init__(self, linear):
        super().__init__()
        self.first, self.second = (linear, nn.Linear(linear.in_features, linear.out_features).to(linear.weight.dtype))

    def forward(self, states):
        return self.first(states) + self.second(states)


def test_a_model_whose_projection_is_not_found_says_which():
    model = tiny_task_model("bert")
    output = model.bert.encoder.layer[2].attention.output
    output.dense = Twice(output.dense)
    source = source_of("bert", fits=[lambda _: Uniform()], model=model, first_order=True)
    assert source.no_gradient == "encoder layer 3: 2 linear maps take the attention's output"


def test_the_graph_of_the_backward_pass_is_let_go():
    """What blocks returned is held for the passes that follow; what each layer wrote is not."""
    held = []

    class Look(KeepEffects):
        def update(self, tile):
            gc.collect()
            held.append(sum(isinstance(each, torch.Tensor) and each.grad_fn is not None for each in gc.get_objects()))

    source = source_of("gpt2", fits=[Mean.fitted], first_order=True, direct=True)
    # What other tests of this process left alive is not looked through again and again.
    gc.collect()
    gc.freeze()
    scan(source, [Look()])
    assert held
    assert not any(held)


def test_what_the_model_returned_is_handed_on_without_its_graph():
    """A user's score may turn it into numpy's arrays, as it may for the models with a head changed."""
    leaf = torch.ones(2, 3, requires_grad=True)
    logits = 2 * leaf
    output = CausalLMOutput(logits=logits, hidden_states=(logits, leaf.detach()))
    plain = without_graph(output)
    assert type(plain) is CausalLMOutput
    assert plain.logits.numpy().tolist() == [[2.0] * 3] * 2
    assert [each.requires_grad for each in plain.hidden_states] == [False, False]
    assert plain.loss is None
    assert without_graph([logits, "beside"])[1] == "beside"
    assert output.logits.requires_grad
