"""Attention replaced by its explanation: a loop with hooks, attention that is its explanation, runs that go on."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from transformers.models.bert import modeling_bert

from headscope.analyses.effects import explained_attention
from headscope.analyses.effects.kept_compute import (
    REPLACEMENTS,
    EffectKeptMeasurement,
    KeptAccumulator,
    kept_effect,
    kept_table,
)
from headscope.analyses.effects.kept_facts import replaced_of
from headscope.analyses.effects.tables import ADDED, EFFECT_KEPT, EXPLAINED
from headscope.analyses.explanation import explain
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.encoding.batching import collate
from headscope.encoding.loss_questions import NO_TARGET
from headscope.models.losses import ask_of
from headscope.present.study import open_study
from headscope.running.stages import measure_stage, measurement_of, stage_signatures
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.tables.frames import check_table
from support.by_hook import named_projections
from support.needed_heads import sharper_bert, sharper_gpt2, write_documents
from support.scanning import shards_of

small_shards = shards_of(600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def text(folder):
    return write_documents(folder / "text.txt")


@pytest.fixture(scope="module")
def bert(folder):
    return sharper_bert(folder / "bert")


@pytest.fixture(scope="module")
def gpt2(folder):
    return sharper_gpt2(folder / "gpt2")


def options(model, text, **more):
    common = {"packing": "single", "stages": ("effects",), "intervention": "explained", "controls": 0}
    return RunOptions(model=model, text=text, device="cpu", **common | more)


def measured(asked):
    """The run, what its two stages found, and what measured the second."""
    run = prepare(asked)
    earlier = {"explanation": measure_stage(STAGES["explanation"], run, {}, None)}
    measurement = measurement_of(STAGES["effect_kept"], run, earlier=earlier)
    return run, {**earlier, "effect_kept": measurement.measure()}, measurement


def predictions(run, by_kind, segment):
    """What heads are predicted to attend to in an input, `{(replacement, layer): [head, row, key]}`."""
    (part,) = run.layout
    # The first token of a decoder's text is of the class of [CLS].
    info = collate([segment], run.encoder.vocabulary, decoder=part.kind == "decoder").info
    tokens = Tokens(ids=segment.ids, classes=info.classes[0].numpy(), word_ids=segment.word_ids)
    size = len(segment.ids)
    visible = np.ones((size, size), dtype=bool)
    if part.kind == "decoder":
        visible = np.tril(visible)
    uniform = visible / visible.sum(1, keepdims=True)
    predicted = {("uniform", layer): np.broadcast_to(uniform, (part.heads, size, size)) for layer in range(part.layers)}
    every = []
    for each in by_kind[part.kind]:
        rows = each.rows(tokens)
        every += rows.tolist()
        context = RowContext(rows=rows, visible=visible[rows], queries=tokens, keys=tokens, vocabulary=each.vocabulary)
        pairs = each.predictor.read(context)
        for name, layer in product(("explained", "positions"), range(part.layers)):
            weights = each.predictor.predict(
                pairs,
                visible[rows],
                prediction=name,
                half=each.predictor.fitted.predicting_half(segment.document),
                layer=layer,
                sink=False,
            )
            whole = predicted.setdefault((name, layer), np.zeros((part.heads, size, size)))
            whole[:, rows] = weights[..., :-1]
    assert sorted(every) == list(range(size))
    return predicted


def loss_by_hook(model, anatomy, question, replaced):
    """The loss of an input with some heads' weights replaced, `{(layer, head): [row, key]}`, times the values."""
    (part,) = anatomy.layout
    projections = named_projections(model, part.kind, both=False)
    hooks, values = [], {}
    for layer in range(part.layers):
        if part.kind == "encoder":
            source = model.bert.encoder.layer[layer].attention.self.value
            take = lambda output: output  # noqa: E731
        else:
            source = model.transformer.h[layer].attn.c_attn
            take = lambda output: output.chunk(3, dim=-1)[2]  # noqa: E731

        def keep(_, __, output, layer=layer, take=take):
            values[layer] = take(output).unflatten(-1, (part.heads, -1))

        def change(_, arguments, layer=layer):
            by_head = arguments[0].clone().unflatten(-1, (part.heads, -1))
            for head in range(part.heads):
                if (layer, head) in replaced:
                    weights = torch.from_numpy(np.array(replaced[layer, head])).to(by_head.dtype)
                    by_head[0, :, head] = weights @ values[layer][0, :, head]
            return (by_head.flatten(-2),)

        hooks += [source.register_forward_hook(keep), projections[layer].register_forward_pre_hook(change)]
    with torch.no_grad():
        logits = model(input_ids=torch.from_numpy(question.segment.ids)[None]).logits[0]
    for hook in hooks:
        hook.remove()
    targets = torch.from_numpy(question.targets)
    return float(torch.nn.functional.cross_entropy(logits, targets, ignore_index=NO_TARGET))


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_replaced_attention_against_a_loop_with_hooks(family, request, text, monkeypatch):
    """Every head, a layer and the model, for each replacement, in transformers' own eager code, input by input."""
    monkeypatch.setattr(explained_attention, "FEWEST_ROWS", 20)
    run, found, measurement = measured(options(request.getfixturevalue(family), text))
    by_kind = measurement.predictors()
    (several,) = by_kind.values()
    assert len(several) == (2 if family == "bert" else 1)
    if family == "bert":
        one, other = (each.predictor.fitted.coefficients["explained"] for each in several)
        assert not np.array_equal(one, other)
    table = found["effect_kept"].tables["effect_kept"]
    auto = {"bert": tf.BertForMaskedLM, "gpt2": tf.GPT2LMHeadModel}[family]
    model = auto.from_pretrained(request.getfixturevalue(family), attn_implementation="eager").eval()
    (part,) = run.layout
    ask = ask_of(found["effect_kept"].facts["effect_kept"]["loss"], run.loaded.tokenizer, run.anatomy, seed=0)
    questions = [q for s in run.sample(48) if (q := ask(s)) is not None]
    assert table["n_inputs"].eq(len(questions)).all()
    every = [(layer, head) for layer in range(part.layers) for head in range(part.heads)]
    sets = {(layer + 1, head + 1): [(layer, head)] for layer, head in every}
    sets |= {(layer + 1, None): [each for each in every if each[0] == layer] for layer in range(part.layers)}
    sets[None, None] = every
    sums = dict.fromkeys(((key, name) for key in sets for name in REPLACEMENTS), 0.0)
    for question in questions:
        predicted = predictions(run, by_kind, question.segment)
        plain = loss_by_hook(model, run.anatomy, question, {})
        for key, name in sums:
            replaced = {at: predicted[name, at[0]][at[1]] for at in sets[key]}
            sums[key, name] += loss_by_hook(model, run.anatomy, question, replaced) - plain
    found_of = {(each.layer, each.head): each for each in replaced_of(table)}
    assert found_of.keys() == sets.keys()
    for name, each in found_of.items():
        for replacement, measure in zip(REPLACEMENTS, ADDED, strict=True):
            expected = sums[name, replacement] / len(questions)
            assert each.cells[measure].value == pytest.approx(expected, rel=1e-4, abs=2e-6)
        if each.kept.exists:
            added = [each.cells[measure].value for measure in ADDED]
            assert each.kept.value == pytest.approx(1 - added[1] / added[0])
    assert max(abs(each.effect) for each in found_of.values()) > 0.01
    # By chance no effect of the tiny BERT is sure.
    assert family == "bert" or any(each.kept.has_interval for each in found_of.values())


def planted_attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **_):
    """The first head looks at the token before, whatever its queries and keys are; the other one as ever."""
    scores = query @ key.transpose(2, 3) * module.scaling
    rows = torch.arange(scores.shape[-1])
    scores[:, 0] = 4.0 * (rows[:, None] - 1 == rows)
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = torch.softmax(scores, -1)
    return (weights @ value).transpose(1, 2).contiguous(), weights


@pytest.mark.slow
def test_attention_that_is_its_explanation_keeps_all_of_its_effect(bert, text, monkeypatch):
    monkeypatch.setattr(modeling_bert, "eager_attention_forward", planted_attention)
    # The penalty on coefficients, and text without hidden words, would leave some of the attention unexplained.
    monkeypatch.setattr(explain, "RIDGE", 0.01)
    monkeypatch.setattr(explained_attention, "FEWEST_ROWS", 20)
    _, found, _ = measured(options(bert, text))
    table = found["effect_kept"].tables["effect_kept"]
    heads = {(each.layer, each.head): each for each in replaced_of(table)}
    shares = found["explanation"].tables["explanation"].query("measure == 'weight'").set_index(["layer", "head"])
    for layer in (1, 2):
        assert shares.loc[(layer, 1), "explained"] > 0.999
        assert shares.loc[(layer, 2), "explained"] < 0.9
        planted = heads[layer, 1]
        assert abs(planted.cells[EXPLAINED].value) < 1e-2 * planted.effect
    kept = heads[2, 1].kept
    assert kept.value == pytest.approx(1, abs=2e-3)
    assert (kept.ci_low, kept.ci_high) == pytest.approx((1, 1), abs=2e-2)


@pytest.mark.slow
def test_shards_batches_and_a_run_that_goes_on_give_the_same_numbers(bert, text, folder):
    asked = options(bert, text, effect_inputs=40, shard_minutes=0)
    whole = folder / "whole"
    write_run(prepare(asked), whole)
    table = open_study(whole).table("effect_kept")
    check_table(EFFECT_KEPT, table)
    assert set(open_study(whole).manifest["stages"]) == {"explanation", "effect_kept"}
    _, found, _ = measured(replace(asked, batch_size=3))
    one_by_one = found["effect_kept"].tables["effect_kept"]
    for name in ("value", "ci_low", "ci_high"):
        np.testing.assert_allclose(one_by_one[name], table[name], rtol=1e-2, atol=1e-3, err_msg=name)
    stopped = folder / "stopped"
    shards = []

    class Killed(Exception):
        """The run is killed."""

    def kill(told):
        if told.segments and told.stage == "effect kept":
            shards.append(told)
            if len(shards) == 3:
                raise Killed

    with pytest.raises(Killed):
        write_run(prepare(asked), stopped, watch=kill)
    assert list((stopped / "shards").glob("effect_kept.*"))
    write_run(prepare(asked), stopped)
    pd.testing.assert_frame_equal(open_study(stopped).table("effect_kept"), table, check_exact=True)
    again = KeptAccumulator.from_state(found["effect_kept"].state)
    pd.testing.assert_frame_equal(kept_table(again.compute()), one_by_one)


def test_what_shapes_it_is_in_its_signature(bert, text):
    def ids(**more):
        return stage_signatures(prepare(options(bert, text, **more)))

    first = ids()
    assert list(first) == ["explanation", "effect_kept"]
    for change, reached in (
        ({"effect_inputs": 30}, {"effect_kept"}),
        ({"controls": 1}, {"explanation", "effect_kept"}),
        ({"batch_size": 2}, set()),
    ):
        other = ids(**change)
        assert {name for name in first if other[name] != first[name]} == reached


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        ({"stages": ("effects",)}, ["effects", "joint_effects"]),
        ({"stages": ("effects",), "intervention": "explained"}, ["explanation", "effect_kept"]),
        ({"stages": ("effects",), "joint_inputs": 0}, ["effects"]),
        ({"stages": ("effects", "explanation")}, ["explanation", "effects", "joint_effects", "effect_kept"]),
        ({"stages": ("effects", "explanation"), "intervention": "explained"}, ["explanation", "effect_kept"]),
        ({"stages": ("explanation",), "intervention": "explained"}, ["explanation"]),
    ],
)
def test_when_it_is_measured(asked, measured):
    assert [stage.name for stage in RunOptions(**asked).measured] == measured


def test_too_few_documents_fit_nothing(bert, text):
    _, found, _ = measured(options(bert, text, max_inputs=FEWEST_DOCUMENTS - 1))
    result = found["effect_kept"]
    check_table(EFFECT_KEPT, result.tables["effect_kept"])
    assert not len(result.tables["effect_kept"])
    assert result.notes == ("effect kept: intervals need at least 10 documents; this run has 9",)


def test_no_part_of_a_run_and_no_worker_scans_what_needs_explanations(bert, text):
    scans = list(EffectKeptMeasurement(prepare(options(bert, text))).scans())
    assert [scan.name for scan in scans] == ["hidden", "trained"]
    assert all(scan.local for scan in scans)


def test_effects_kept_by_hand():
    """Two documents' worth of sums a group: uniform adds 1 and 3 nats, the explanation a quarter of that."""
    generator = np.random.default_rng(3)
    uniform = generator.uniform(1, 3, size=(20, 2))
    added = np.stack([uniform, uniform / 4, uniform / 2], -1)
    effect = kept_effect(added, np.ones((20, 1, 1), dtype=np.int64))
    np.testing.assert_allclose(effect.kept.value, 0.75)
    np.testing.assert_allclose(effect.over_positions.value, 0.5)
    np.testing.assert_allclose(effect.added.value, added.mean(0))
