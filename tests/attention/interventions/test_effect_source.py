"""Effects of heads: against a plain loop that hooks transformers' own projections, and what each pass costs."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from headscope.attention.head_id import HeadId
from headscope.attention.interventions.intervention import FittingInputs, halves_of
from headscope.attention.interventions.replacement import Mean, Resample, Sink, Uniform, _donors, _draw
from headscope.attention.model.tap import Tap, output_of
from headscope.attention.scan import scan
from headscope.encoding.batching import collate
from headscope.encoding.loss_questions import NO_TARGET
from headscope.errors import AttentionError, InputError, ModelError
from headscope.models.forward_inputs import model_inputs
from support.by_hook import classes_of, effect_of, heads_of, hooked, logs_of, means_by_loop, outputs_by_hook, rows_of
from support.effects import FAMILIES, SEGMENTS, SINGLE, KeepEffects, effects, source_of, zero
from support.inputs import CLS, SEP, made_up_segments, vocabulary
from support.task_models import tiny_task_model
from support.tiny_models import tiny_model


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "albert"])
def test_every_head_of_every_family_against_a_loop_with_hooks(family):
    """A padded batch entered at each block, and input by input through transformers' own code with a hook a head."""
    source, keep = effects(family, fits=[zero, Mean.fitted])
    model, anatomy = source.model, source.anatomy
    questions = [source.ask(segment) for segment in SEGMENTS]
    outputs = outputs_by_hook(model, anatomy, questions)
    halves = halves_of([segment.document for segment in SEGMENTS])
    exact = 2e-6 if family in SINGLE else 1e-7  # norms round to single precision in many families
    largest = 0.0
    for question in questions:
        logs = logs_of(model, anatomy, question)
        document, index = question.segment.document, question.segment.index
        for head in heads_of(anatomy):
            means, of_all = means_by_loop(questions, outputs, head, 1 - halves[document])
            names = classes_of(rows_of(question, head.kind))
            mean = torch.stack([means.get(name, of_all) for name in names])
            found = keep.heads[document, index, head.kind, head.position[0]][head.position[1]]
            for intervention, change in enumerate(
                (torch.zeros_like, lambda slices, mean=mean: mean.reshape(slices.shape))
            ):
                with hooked(model, anatomy, {head: change}):
                    changed = logs_of(model, anatomy, question)
                expected = effect_of(logs, changed, question)
                largest = max(largest, abs(expected[0]))
                np.testing.assert_allclose(found[intervention], expected, rtol=1e-5, atol=exact)
        np.testing.assert_allclose(
            keep.losses[document, index],
            -float(logs.gather(1, torch.from_numpy(question.targets[question.targets >= 0])[:, None]).mean()),
            rtol=1e-6,
        )
    assert largest > 1e-4, "no head matters here"
    assert not source.plan.missing
    assert source.counts.segments == len(SEGMENTS)


class CountedBlock(nn.Module):
    """Stands before a block of a model and counts how often it is computed."""

    counts = 0

    def __init__(self, block):
        super().__init__()
        self.block = block

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.block, name)

    def forward(self, *arguments, **named):
        CountedBlock.counts += 1
        return self.block(*arguments, **named)


@pytest.mark.parametrize(
    ("family", "blocks_of"),
    [
        ("bert", lambda model: [model.bert.encoder.layer]),
        ("llama", lambda model: [model.model.layers]),
        ("albert", lambda model: [model.albert.encoder.albert_layer_groups]),
        ("bart", lambda model: [model.model.encoder.layers, model.model.decoder.layers]),
    ],
)
def test_passes_are_those_of_the_formula(family, blocks_of):
    model = tiny_task_model(family)
    for blocks in blocks_of(model):
        for number, block in enumerate(list(blocks)):
            blocks[number] = CountedBlock(block)
    source = source_of(family, fits=[zero], model=model, size=len(SEGMENTS))
    CountedBlock.counts = 0
    scan(source, [KeepEffects()])
    computed = CountedBlock.counts / source.plan.number
    assert source.passes == pytest.approx(computed, abs=1e-12)
    if family != "bart":
        layers, heads = 3, 4
        assert computed == pytest.approx(1 + heads * (layers + 1) / 2)
    else:  # a block of the encoder has 4 heads, one of the decoder 4 and 4 of cross attention
        assert computed == pytest.approx(1 + (4 * (5 + 4) + 8 * (3 + 2 + 1)) / 5)


def test_albert_whose_layers_share_their_weights():
    """Each layer by itself: counted by calls, in a loop that hooks the one projection and counts, too."""
    source, keep = effects("albert", fits=[zero])
    model, anatomy = source.model, source.anatomy
    (projection,) = [part for name, part in model.named_modules() if name.endswith("attention.dense")]
    for segment in SEGMENTS:
        question = source.ask(segment)
        logs = logs_of(model, anatomy, question)
        for head in heads_of(anatomy):
            layer, number = head.position
            calls = []

            def before(part, arguments, layer=layer, number=number, calls=calls):
                calls.append(part)
                if len(calls) - 1 != layer:
                    return None
                by_head = arguments[0].clone().unflatten(-1, (4, -1))
                by_head[..., number, :] = 0
                return (by_head.flatten(-2),)

            hook = projection.register_forward_pre_hook(before)
            changed = logs_of(model, anatomy, question)
            hook.remove()
            assert len(calls) == 3
            found = keep.heads[segment.document, segment.index, "encoder", layer][number, 0]
            np.testing.assert_allclose(found, effect_of(logs, changed, question), rtol=1e-5, atol=1e-8)


def test_whole_passes_where_blocks_are_not_found():
    """The same numbers, at the cost of a pass a head and intervention."""
    known, keep = effects("bert", fits=[zero, Mean.fitted])
    model = tiny_task_model("bert")
    layers = model.bert.encoder.layer

    class Plain(nn.Module):
        """The layers one by one, in no list."""

        def __init__(self):
            super().__init__()
            for number, layer in enumerate(layers):
                setattr(self, f"layer_{number}", layer)

        def __iter__(self):
            return iter([self.layer_0, self.layer_1, self.layer_2])

        def __getitem__(self, number):
            return list(self)[number]

        def __len__(self):
            return 3

    model.bert.encoder.layer = Plain()
    source, other = effects("bert", fits=[zero, Mean.fitted], model=model)
    assert source.plan.missing == "no list of blocks contains its attention"
    assert (source.plan.number, source.passes, known.passes) == (1, 1 + 2 * 12, 1 + 2 * 8)
    for key, found in keep.heads.items():
        np.testing.assert_allclose(other.heads[key], found, rtol=0, atol=1e-12)


class Leaky(nn.Module):
    """A block that leaves a number beside the way for the next one."""

    shared: ClassVar[dict[str, torch.Tensor]] = {}

    def __init__(self, block, number):
        super().__init__()
        self.block, self.number = block, number

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.block, name)

    def forward(self, states, *arguments, **named):
        if self.number:
            states = states + Leaky.shared.pop("beside")
        out = self.block(states, *arguments, **named)
        Leaky.shared["beside"] = 0.1 * states
        return out


def test_whole_passes_where_blocks_do_more_than_return():
    model = tiny_task_model("bert")
    for number, block in enumerate(list(model.bert.encoder.layer)):
        model.bert.encoder.layer[number] = Leaky(block, number)
    source = source_of("bert", fits=[zero], model=model)
    assert source.plan.missing == "its blocks do more than return what the next one is given"
    assert source.passes == 13
    Leaky.shared.clear()
    scan(source, [KeepEffects()])


def test_the_model_is_left_as_it_was():
    model = tiny_task_model("bert")
    model.train()
    before = {name: id(part.forward.__func__) for name, part in model.named_modules()}
    hooks = [len(part._forward_pre_hooks) for part in model.modules()]
    source = source_of("bert", fits=[Mean.fitted], model=model)
    scan(source, [KeepEffects()])

    class Stop(KeepEffects):
        def update(self, tile):
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        scan(source_of("bert", fits=[Mean.fitted], model=model), [Stop()])
    assert model.training
    assert {name: id(part.forward.__func__) for name, part in model.named_modules()} == before
    assert [len(part._forward_pre_hooks) for part in model.modules()] == hooks
    assert not any("forward" in vars(part) for part in model.modules())


def rows_of_projection(model, layer, head):
    weight = model.bert.encoder.layer[layer].attention.output.dense.weight
    return weight[:, 8 * head : 8 * head + 8]


def test_a_head_that_writes_nothing_has_no_effect():
    model = tiny_task_model("bert")
    with torch.no_grad():
        rows_of_projection(model, 1, 2).zero_()
    _, keep = effects("bert", fits=[zero, Mean.fitted, lambda _: Uniform()], model=model)
    for (*_, layer), found in keep.heads.items():
        assert (found[2] == 0).all() == (layer == 1)
        assert (found[[0, 1, 3]] != 0).all()


def test_a_head_whose_values_are_zero_has_no_effect_at_all():
    model = tiny_task_model("bert")
    with torch.no_grad():
        attention = model.bert.encoder.layer[1].attention.self
        attention.value.weight[16:24] = 0
        attention.value.bias[16:24] = 0
    _, keep = effects("bert", fits=[zero, Mean.fitted], model=model)
    assert all((found[2] == 0).all() for (*_, layer), found in keep.heads.items() if layer == 1)


def test_a_constant_writer_is_missed_but_not_its_mean():
    model = tiny_task_model("bert")
    with torch.no_grad():
        attention = model.bert.encoder.layer[1].attention.self
        attention.value.weight[16:24] = 0
        attention.value.bias[16:24] = torch.linspace(-3, 3, 8)
    _, keep = effects("bert", fits=[zero, Mean.fitted, lambda _: Uniform()], model=model)
    for (*_, layer), found in keep.heads.items():
        if layer == 1:
            assert (np.abs(found[2, 0]) > 1e-5).all()
            np.testing.assert_allclose(found[2, 1:], 0, atol=1e-9)


def test_two_twins_hide_each_other():
    """Either of two heads is made up for by a norm that divides by what is left; without both, all of it is gone."""
    torch.manual_seed(0)
    model = tiny_task_model("bert")
    with torch.no_grad():
        layer = model.bert.encoder.layer[2]
        attention = layer.attention.self
        for part in (attention.query, attention.key, attention.value):
            part.weight[8:16], part.bias[8:16] = part.weight[:8], part.bias[:8]
        dense = layer.attention.output.dense
        dense.weight[:, 16:] = 0
        dense.weight[:, :8] *= 1e6  # the norm behind it sees the direction of what the twins write, alone
        dense.weight[:, 8:16] = dense.weight[:, :8]
    _, keep = effects("bert", fits=[zero], model=model, scopes=("head", "layer"))
    for key, joint in keep.layers.items():
        if key[-1] == 2:
            assert abs(joint[0, 0]) > 0.005
            assert np.abs(keep.heads[key][:, 0]).max() < 1e-3 * abs(joint[0, 0])


def test_all_heads_of_a_layer_and_of_the_model_at_once():
    source, keep = effects("bart", fits=[zero], scopes=("head", "layer", "model"))
    model, anatomy = source.model, source.anatomy
    assert source.passes == pytest.approx(1 + (4 * (5 + 4) + 8 * (3 + 2 + 1)) / 5 + (9 + 2 * 6) / 5 + 1)
    for segment in SEGMENTS:
        question = source.ask(segment)
        logs = logs_of(model, anatomy, question)

        def changed(heads, question=question):
            with hooked(model, anatomy, dict.fromkeys(heads, torch.zeros_like)):
                return logs_of(model, anatomy, question)

        every = heads_of(anatomy)
        name = segment.document, segment.index
        np.testing.assert_allclose(
            keep.models[name][0], effect_of(logs, changed(every), question), rtol=1e-5, atol=1e-8
        )
        for kind, layer in (("encoder", 1), ("decoder", 0), ("cross", 2)):
            heads = [head for head in every if (head.kind, head.position[0]) == (kind, layer)]
            np.testing.assert_allclose(
                keep.layers[*name, kind, layer][0], effect_of(logs, changed(heads), question), rtol=1e-5, atol=1e-8
            )


def test_resampled_rows_are_of_their_class_and_of_another_document():
    interventions = []

    def fit(inputs):
        interventions.append(Resample.fitted(inputs))
        return interventions[0]

    source, keep = effects("bert", fits=[fit])
    (resample,) = interventions
    model, anatomy = source.model, source.anatomy
    questions = [source.ask(segment) for segment in SEGMENTS]
    outputs = outputs_by_hook(model, anatomy, questions)
    donors = resample.donors["encoder"]
    assert len(donors) == sum(map(len, SEGMENTS))  # so few that all are kept
    by_name = {(q.segment.document, q.segment.index): number for number, q in enumerate(questions)}
    head = HeadId("encoder", 2, 3)
    for question in questions:
        segment = question.segment
        drawn = _draw(collate([segment], vocabulary()).info, donors, seed=0)[0].tolist()
        names = classes_of(segment)
        slices = []
        for name, at in zip(names, drawn, strict=True):
            donor = donors[at]
            assert donor.document != segment.document
            of_donor = questions[by_name[donor.document, donor.index]].segment
            assert classes_of(of_donor)[donor.position] == name
            slices.append(outputs[by_name[donor.document, donor.index], head][donor.position])
        new = torch.stack(slices)
        with hooked(model, anatomy, {head: lambda old, new=new: new.reshape(old.shape)}):
            changed = logs_of(model, anatomy, question)
        expected = effect_of(logs_of(model, anatomy, question), changed, question)
        found = keep.heads[segment.document, segment.index, "encoder", 1][2, 0]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


def test_a_document_that_dominates_the_text_gets_rows_of_another():
    """A document of 1,500 inputs has all of the smallest hashes; its rows still need a row of the other document."""
    source, _ = effects("bert", fits=[zero])
    (short,) = (replace(each, document="short") for each in made_up_segments(1))
    long = made_up_segments(1500, documents=1)
    questions = [source.ask(segment) for segment in [short, *long]]
    inputs = FittingInputs(questions, vocabulary(), False, lambda _: None)
    donors = _donors(inputs, "encoder")
    for segment in (short, long[0]):
        drawn = _draw(collate([segment], vocabulary()).info, donors, seed=0)[0].tolist()
        assert {donors[at].document for at in drawn} == {"doc0" if segment is short else "short"}


def weights_by_tap(model, anatomy, question, head, weights_of):
    """Logarithms of what a model predicts with one head's weights replaced, through the tap, unpadded."""

    def listen(call):
        site = anatomy.calls[call.order]
        output, weights = call.eager()
        if (site.kind, site.layer) != (head.kind, head.position[0]):
            return output
        weights = weights.clone()
        weights[0, head.position[1]] = weights_of(weights[0, head.position[1]])
        return output_of(call, weights)

    with Tap(model, listen):
        _, inputs, _ = model_inputs([question.segment], anatomy, vocabulary())
        with torch.no_grad():
            logits = model(**inputs).logits[0]
    return torch.log_softmax(logits.double(), -1)[torch.from_numpy(question.targets) != NO_TARGET]


@pytest.mark.parametrize("family", ["bert", "llama", "mistral", "qwen3_next"])
def test_weights_at_all_keys_alike_and_at_the_sink(family):
    """By loops over the rows of one head at a time."""
    source, keep = effects(family, fits=[lambda _: Uniform(), lambda _: Sink()])
    model, anatomy = source.model, source.anatomy
    kind = anatomy.layout[0].kind
    for segment in SEGMENTS[:3]:
        question = source.ask(segment)
        logs = logs_of(model, anatomy, question)

        def uniform(weights):
            new = torch.zeros_like(weights)
            for row in range(len(weights)):
                first = 0
                if family == "mistral":
                    first = max(0, row - 5)
                last = row if kind == "decoder" else len(weights) - 1
                new[row, first : last + 1] = 1 / (last + 1 - first)
            return new

        def sink(weights, segment=question.segment):
            ids = segment.ids.tolist()
            new = weights.clone()
            for row in range(len(weights)):
                first = max(0, row - 5) if family == "mistral" else 0
                last = row if kind == "decoder" else len(weights) - 1
                sinks = [key for key in range(first, last + 1) if ids[key] in (CLS, SEP)]
                if sinks:
                    new[row] = 0
                    new[row, max(sinks, key=lambda key: float(weights[row, key]))] = 1
            return new

        for number, change in enumerate((uniform, sink)):
            for head in heads_of(anatomy)[:6]:
                changed = weights_by_tap(model, anatomy, question, head, change)
                found = keep.heads[segment.document, segment.index, kind, head.position[0]]
                np.testing.assert_allclose(
                    found[head.position[1], number],
                    effect_of(logs, changed, question),
                    rtol=1e-5,
                    atol=2e-6 if family in SINGLE else 1e-7,
                )


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5"])
def test_company_order_and_padding_change_nothing(family):
    fits = [zero, Mean.fitted, Resample.fitted, lambda _: Uniform()]
    _, alone = effects(family, fits=fits, size=1)
    _, together = effects(family, fits=fits, segments=SEGMENTS[::-1], size=5, padding_side="left")
    assert alone.heads.keys() == together.heads.keys()
    for key, found in alone.heads.items():
        np.testing.assert_allclose(together.heads[key], found, rtol=1e-6, atol=1e-8)


def test_one_document_has_no_other_to_learn_of():
    segments = made_up_segments(2, seed=3, documents=1)
    for fit in (Mean.fitted, Resample.fitted):
        with pytest.raises(InputError, match=r"takes what heads write in other documents, and this text has one"):
            effects("bert", fits=[fit], segments=segments)


def test_a_model_that_does_not_ask_the_interface():
    model = tiny_model("bloom")
    with pytest.raises(ModelError) as refused:
        source_of("bloom", fits=[zero], model=model)
    assert str(refused.value) == (
        "BloomModel does not hand its attention to transformers' attention interface, so its heads cannot be changed; "
        "choose another model"
    )


class Gated(nn.Module):
    """An output projection behind a gate that the output itself opens: nothing linear in it."""

    def __init__(self, projection):
        super().__init__()
        self.projection = projection

    def forward(self, states):
        return self.projection(states * torch.sigmoid(states))


def test_a_model_whose_projection_is_not_found():
    model = tiny_task_model("llama")
    model.model.layers[1].self_attn.o_proj = Gated(model.model.layers[1].self_attn.o_proj)
    with pytest.raises(ModelError) as refused:
        effects("llama", fits=[zero], model=model)
    assert str(refused.value) == (
        "decoder layer 2: no linear map takes the attention's output; what its heads write cannot be changed: choose "
        "intervention uniform or sink, or another model"
    )
    _, keep = effects("llama", fits=[lambda _: Uniform()], model=model)
    assert len(keep.heads) == 3 * len(SEGMENTS)


def test_losses_that_are_no_numbers():
    model = tiny_task_model("bert")
    with torch.no_grad():
        model.cls.predictions.bias[7] = float("inf")
    with pytest.raises(AttentionError) as stopped:
        effects("bert", fits=[zero], model=model)
    assert str(stopped.value) == (
        "the loss is NaN or infinite in segment 1 of document doc0; the weights or the input overflow: try --dtype "
        "float32, and check the checkpoint"
    )
    model = tiny_task_model("bert")
    dense = model.bert.encoder.layer[1].attention.output.dense
    forward = dense.forward
    dense.forward = lambda states: forward(states if states[..., 16:24].any() else states / 0)
    with pytest.raises(
        AttentionError, match=r"^with encoder head 2-3 changed, the loss is NaN or infinite in segment 1"
    ):
        effects("bert", fits=[zero], model=model)


def test_sets_of_heads_against_a_loop_with_hooks():
    """Sets of heads of any kinds and layers, each at once; a set begins at the lowest block that it changes."""
    sets = [
        {("cross", 1): [0, 3], ("decoder", 1): [2]},
        {("encoder", 1): [1]},
        {("encoder", 0): [0, 1, 2, 3], ("cross", 0): [1]},
    ]
    source, keep = effects("bart", fits=[zero], scopes=(), sets=sets)
    assert source.passes == pytest.approx(1 + (2 + 4 + 5) / 5)
    assert not keep.heads
    for segment in SEGMENTS:
        question = source.ask(segment)
        logs = logs_of(source.model, source.anatomy, question)
        for number, heads in enumerate(sets):
            changes = {
                HeadId.at(kind, layer, head): torch.zeros_like
                for (kind, layer), several in heads.items()
                for head in several
            }
            with hooked(source.model, source.anatomy, changes):
                changed = logs_of(source.model, source.anatomy, question)
            found = keep.sets[segment.document, segment.index][number, 0]
            np.testing.assert_allclose(found, effect_of(logs, changed, question), rtol=1e-5, atol=1e-8)


def test_some_single_heads_alone():
    every = effects("gpt2", fits=[zero])[1]
    only = {("decoder", 0): [1], ("decoder", 2): [0, 3]}
    source, keep = effects("gpt2", fits=[zero], only=only)
    assert source.passes == pytest.approx(1 + 1 + 2 / 3)
    for key, found in keep.heads.items():
        changed = only.get(key[2:], [])
        np.testing.assert_allclose(found[changed], every.heads[key][changed], rtol=1e-9, atol=1e-12)
        assert np.isnan(np.delete(found, changed, axis=0)).all()
