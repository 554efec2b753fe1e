"""Heads removed together: a plain loop with hooks, orders and areas by hand, twins, runs that go on."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf
from scipy.integrate import trapezoid
from sklearn.metrics import r2_score

from headscope.analyses.effects.joint_compute import Halves, JointEffectsMeasurement
from headscope.analyses.effects.joint_sums import (
    DRAWS,
    SETS,
    RemovalPlan,
    additivity_of,
    area_below,
    curves_of,
    matched_draws,
    order_of,
    r2_interval,
    random_sets,
    removed_numbers,
)
from headscope.analyses.effects.tables import JOINT_TABLES
from headscope.attention.head_id import HeadId
from headscope.models.losses import ask_of
from headscope.present.study import open_study
from headscope.running.stages import measure_stage, measurement_of, stage_signatures
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.sums.groups import group_of
from headscope.statistics.tables.frames import check_table
from support.by_hook import effect_of, hooked, logs_of
from support.model_folders import WHOLE, save_tiny_masked_lm
from support.needed_heads import sharper_bert, sharper_gpt2, write_documents
from support.scanning import shards_of

small_shards = shards_of(600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("joint")


@pytest.fixture(scope="module")
def text(folder):
    return write_documents(folder / "text.txt")


@pytest.fixture(scope="module")
def bert(folder):
    return sharper_bert(folder / "bert", heads=4)


@pytest.fixture(scope="module")
def gpt2(folder):
    return sharper_gpt2(folder / "gpt2")


def options(model, text, **more):
    common = {"packing": "single", "stages": ("effects",), "intervention": "zero", "effect_inputs": 16}
    return RunOptions(model=model, text=text, device="cpu", **common | {"joint_inputs": 6} | more)


def measured(asked):
    """What the run found, by stage, and what measured the last."""
    run = prepare(asked)
    found = {}
    for stage in run.options.measured[:-1]:
        found[stage.name] = measure_stage(stage, run, found, None)
    measurement = measurement_of(STAGES["joint_effects"], run, earlier=found)
    return run, {**found, "joint_effects": measurement.measure()}, measurement


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_against_a_loop_with_hooks(family, request, text):
    """Orders, curves and sets, in transformers' own eager code, input by input: every set by hooks on its heads."""
    path = request.getfixturevalue(family)
    run, found, measurement = measured(options(path, text))
    auto = {"bert": tf.BertForMaskedLM, "gpt2": tf.GPT2LMHeadModel}[family]
    model = auto.from_pretrained(path, attn_implementation="eager").eval()
    loss = found["joint_effects"].facts["joint_effects"]["loss"]
    ask = ask_of(loss, run.loaded.tokenizer, run.anatomy, seed=0)
    sample = run.sample(16)
    heads = measurement.heads
    (part,) = run.layout

    @cache
    def plain_logs(document, index):
        return logs_of(model, run.anatomy, questions[document][index])

    @cache
    def added(document, index, numbers):
        question, plain = questions[document][index], plain_logs(document, index)
        changes = {HeadId.at(part.kind, heads[n][0][1], heads[n][1]): torch.zeros_like for n in numbers}
        with hooked(model, run.anatomy, changes):
            return effect_of(plain, logs_of(model, run.anatomy, question), question)[0]

    # Few heads have few sets: random sets and orders come to the same ones again and again.
    def added_of(document, index, numbers):
        return added(document, index, tuple(sorted(int(number) for number in numbers)))

    questions = {segment.document: [] for segment in sample}
    for segment in sample:
        if (question := ask(segment)) is not None:
            questions[segment.document].append(question)
    singles = {
        document: np.array(
            [sum(added_of(document, index, [n]) for index in range(len(several))) for n in range(len(heads))]
        )
        for document, several in questions.items()
    }
    # In the order of groups: every other group is of the second half, and the first ones are measured.
    groups = sorted({group_of(document) for document in questions})
    half_of = {document: groups.index(group_of(document)) % 2 for document in questions}
    sizes = Counter(group_of(segment.document) for segment in sample)
    read, inputs = set(), 0
    for group in groups:
        if inputs < 6:
            read.add(group)
            inputs += sizes[group]
    documents = [document for document in questions if group_of(document) in read]
    numbers = sorted({max(1, round(share * len(heads))) for share in (0.125, 0.25, 0.5, 0.75, 1)})
    curves = dict.fromkeys([("effect", None), *(("random", d) for d in (1, 7))], 0.0)
    sets = np.zeros(SETS)
    total = 0
    for document in documents:
        half = half_of[document]
        others = [d for d in questions if half_of[d] != half]
        mean = sum(singles[d] for d in others) / sum(len(questions[d]) for d in others)
        plan = measurement.plans[half]
        orders = {("effect", None): np.argsort(mean), **{("random", d): plan.draws[d - 1] for d in (1, 7)}}
        for index in range(len(questions[document])):
            total += 1
            sets += [added_of(document, index, each) for each in plan.sets]
            for name, order in orders.items():
                curves[name] = curves[name] + np.array([0.0, *(added_of(document, index, order[:k]) for k in numbers)])
    table = found["joint_effects"].tables["joint_curves"]
    assert table["n_inputs"].eq(total).all()
    for (name, draw), expected in curves.items():
        rows = table[(table["order"] == name) & (table["draw"].isna() if draw is None else table["draw"].eq(draw))]
        assert rows["n_removed"].tolist() == [0, *numbers]
        np.testing.assert_allclose(rows["value"], expected / total, rtol=1e-4, atol=1e-5)
    every = table[table["n_removed"] == len(heads)]["value"]
    assert every.max() - every.min() < 1e-12
    assert abs(every.iloc[0]) > 0.01
    sums = found["joint_effects"].tables["joint_sums"].set_index("measure")["value"]
    predicted = [sum(sum(singles[d][n] for d in documents) for n in each) / total for each in plan.sets]
    assert sums["joint"] == pytest.approx(sets.mean() / total, rel=1e-4, abs=1e-5)
    assert sums["total"] == pytest.approx(np.mean(predicted), rel=1e-4, abs=1e-5)
    assert sums["r2_total"] == pytest.approx(r2_score(sets / total, predicted), rel=1e-3, abs=1e-3)


def test_which_heads_go():
    assert removed_numbers(32).tolist() == [4, 8, 16, 24, 32]
    assert removed_numbers(72).tolist() == [9, 18, 36, 54, 72]
    assert removed_numbers(2).tolist() == [1, 2]
    assert order_of(np.array([0.3, np.nan, -1.0, 0.3])).tolist() == [1, 2, 0, 3]


def test_random_orders_take_heads_of_the_same_layers_at_every_step():
    generator = np.random.default_rng(1)
    layers = np.repeat(np.arange(4), 6)
    order = generator.permutation(24)
    draws = matched_draws(order, layers, draws=40, generator=generator)
    assert (np.sort(draws, axis=1) == np.arange(24)).all()
    assert (layers[draws] == layers[order]).all()
    # Every head of a layer comes first in its layer about equally often: 40 draws of 6 heads.
    firsts = Counter(draw[layers[draw] == 0][0] for draw in draws)
    assert set(firsts) == set(range(6))


def test_a_plan_has_its_sets_in_order():
    heads = [((kind, layer), head) for kind in ("encoder", "cross") for layer in range(2) for head in range(2)]
    orders = {"effect": np.arange(8)[::-1], "output_norm": np.arange(8)}
    plan = RemovalPlan.of(heads, orders, half=1, seed=3)
    sets = plan.heads()
    assert plan.numbers.tolist() == [1, 2, 4, 6, 8]
    assert len(sets) == (2 + DRAWS) * 4 + 1 + SETS
    assert sets[:2] == [{("cross", 1): [1]}, {("cross", 1): [0, 1]}]
    assert sets[6] == {("encoder", 0): [0, 1], ("encoder", 1): [0, 1]}
    assert sum(map(len, sets[-SETS - 1].values())) == 8
    assert all(sum(map(len, each.values())) == 2 for each in sets[-SETS:])
    other = RemovalPlan.of(heads, orders, half=0, seed=3)
    assert np.array_equal(other.sets, plan.sets)
    assert not np.array_equal(other.draws, plan.draws)
    again = RemovalPlan.of(heads, orders, half=1, seed=3)
    assert again.heads() == sets


def test_documents_are_halved_by_group():
    halves = Halves.of([7, 7, 7, 2, 9, 40, 41, 41], most=5)
    assert halves.measured == {2, 7, 9}
    assert [halves.measures(group, 0) for group in (2, 7, 9, 40)] == [True, False, True, False]
    # A group that is not of the sample, and the half that is not measured, order heads.
    assert [halves.orders(group, 0) for group in (2, 7, 40, 100)] == [False, True, True, True]
    assert Halves.of([5, 5, 5, 6], most=1).measured == {5, 6}


def test_areas_are_those_of_scipy():
    generator = np.random.default_rng(2)
    values, at = generator.normal(size=(3, 4, 6)), np.sort(generator.random(6))
    np.testing.assert_allclose(area_below(values, at), trapezoid(values, at, axis=-1))


def test_curves_are_paired_with_the_mean_of_random_orders():
    generator = np.random.default_rng(4)
    losses, counts = generator.normal(size=(15, 5, 3)), generator.integers(1, 4, 15)
    curves = curves_of(losses, counts, np.array([0, 2, 8]), draws=3)
    areas = trapezoid(losses, [0, 0.25, 1], axis=-1)
    random = areas[:, 2:].mean(1)
    expected = ratio_interval(areas[:, 0] - random, counts, scale="real")
    for name in ("value", "low", "high"):
        assert getattr(curves.less_random, name)[0] == pytest.approx(float(getattr(expected, name)))
    np.testing.assert_allclose(curves.added.value[-1], losses[:, 2:].sum(0).mean(0) / counts.sum())
    assert curves.less_random.value[-1] == 0


def world(joint, effects):
    """Sums of 12 documents of 2 inputs each, on which sets and heads cost the same."""
    counts = np.full(12, 2)
    return counts[:, None] * joint, counts[:, None] * effects, counts


def test_effects_that_add_up():
    generator = np.random.default_rng(5)
    effects = generator.exponential(size=20)
    sets = random_sets(20, sets=SETS, generator=generator)
    found = additivity_of(*world(effects[sets].sum(1), effects), sets)
    assert found["joint"].value == pytest.approx(found["total"].value)
    assert found["joint"].value == pytest.approx(effects[sets].sum(1).mean())
    assert found["r2_total"].value == pytest.approx(1)
    assert found["r2_linear"].value == pytest.approx(1)


def test_twins_show_nothing_alone():
    """Both of two heads gone cost 3 nats, either alone nothing: effects tell nothing, a linear model some of it."""
    generator = np.random.default_rng(6)
    sets = random_sets(12, sets=400, generator=generator)
    joint = 3.0 * (np.isin(sets, [2, 7]).sum(1) == 2)
    found = additivity_of(*world(joint, np.zeros(12)), sets)
    assert found["total"].value == 0
    assert found["joint"].value > 0.05
    assert found["r2_total"].value < 0
    assert 0.2 < found["r2_linear"].value < 0.6
    assert found["r2_total"].high < found["r2_linear"].low


@pytest.mark.slow
def test_twins_of_a_model(folder, text):
    """Either of two heads is made up for by the norm behind them: effects do not add up."""
    path = save_tiny_masked_lm(folder / "twins", heads=4, pieces=WHOLE)
    model = tf.BertForMaskedLM.from_pretrained(path)
    width = model.config.hidden_size // 4
    with torch.no_grad():
        first, last = model.bert.encoder.layer
        first.attention.output.dense.weight.zero_()
        attention, dense = last.attention.self, last.attention.output.dense
        for part in (attention.query, attention.key, attention.value):
            part.weight.mul_(40)
            part.weight[width : 2 * width], part.bias[width : 2 * width] = (part.weight[:width], part.bias[:width])
        dense.weight[:, 2 * width :] = 0
        dense.weight[:, :width] *= 1e6  # the norm sees the direction of what the twins write, alone
        dense.weight[:, width : 2 * width] = dense.weight[:, :width]
    model.save_pretrained(path)
    _, found, measurement = measured(options(str(path), text))
    twins = [measurement.heads.index((("encoder", 1), head)) for head in (0, 1)]
    both = np.isin(measurement.plans[0].sets, twins).sum(1) == 2
    assert 0 < both.sum() < SETS
    effects = found["effects"].tables["effects"].query("measure == 'loss'")["value"]
    assert effects.abs().max() < 1e-5
    sums = found["joint_effects"].tables["joint_sums"].set_index("measure")["value"]
    assert abs(sums["joint"]) > 100 * abs(sums["total"])
    assert sums["r2_total"] < 0
    assert abs(sums["joint"]) < 0.001  # which is worth no sentence


def test_sets_fewer_than_heads_learn_from_single_effects():
    """Of 200 heads 64 sets could tell little by themselves; what single effects lack is a constant here."""
    generator = np.random.default_rng(7)
    effects = generator.exponential(size=200)
    sets = random_sets(200, sets=SETS, generator=generator)
    found = additivity_of(*world(effects[sets].sum(1) + 4.0, effects), sets)
    assert found["r2_total"].value < 0.9
    assert found["r2_linear"].value > 0.98


def test_r2_is_that_of_scikit_learn():
    generator = np.random.default_rng(8)
    joint = generator.normal(size=50)
    predicted = joint + generator.normal(scale=0.5, size=50)
    found = r2_interval(joint, predicted, seed=0)
    assert found.value == pytest.approx(r2_score(joint, predicted))
    assert found.low < found.value < found.high
    assert np.isnan(r2_interval(np.ones(5), np.ones(5), seed=0).value)


def test_without_all_effects_no_sum_is_told():
    generator = np.random.default_rng(9)
    effects = generator.exponential(size=20)
    sets = random_sets(20, sets=SETS, generator=generator)
    some = np.where(np.arange(20) < 3, np.nan, effects)
    found = additivity_of(*world(effects[sets].sum(1), some), sets)
    assert np.isnan([found["total"].value, found["r2_total"].value, found["r2_total"].low]).all()
    assert found["joint"].value > 0
    assert found["r2_linear"].value > 0.9


@pytest.mark.slow
def test_shards_batches_and_a_run_that_goes_on_give_the_same_numbers(bert, text, folder):
    asked = options(bert, text, shard_minutes=0)
    whole = folder / "whole"
    write_run(prepare(asked), whole)
    tables = open_study(whole).tables
    for schema in JOINT_TABLES:
        check_table(schema, tables.get(schema.name))
    _, found, _ = measured(replace(asked, batch_size=3))
    for name, table in found["joint_effects"].tables.items():
        np.testing.assert_allclose(table["value"], tables.get(name)["value"], rtol=1e-2, atol=1e-3, err_msg=name)
    stopped = folder / "stopped"
    shards = []

    class Killed(Exception):
        """The run is killed."""

    def kill(told):
        if told.segments and told.stage == "heads removed together":
            shards.append(told)
            if len(shards) == 3:
                raise Killed

    with pytest.raises(Killed):
        write_run(prepare(asked), stopped, watch=kill)
    assert list((stopped / "shards").glob("joint_effects.*"))
    write_run(prepare(asked), stopped)
    for schema in JOINT_TABLES:
        pd.testing.assert_frame_equal(open_study(stopped).table(schema.name), tables.get(schema.name), check_exact=True)


def test_what_shapes_it_is_in_its_signature(bert, text):
    def ids(**more):
        return stage_signatures(prepare(options(bert, text, **more)))

    first = ids()
    assert list(first) == ["effects", "joint_effects"]
    for change, reached in (
        ({"joint_inputs": 20}, {"joint_effects"}),
        ({"effect_inputs": 20}, {"effects", "joint_effects"}),
        ({"batch_size": 2}, set()),
    ):
        other = ids(**change)
        assert {name for name in first if other[name] != first[name]} == reached
    assert list(ids(joint_inputs=0)) == ["effects"]


def test_one_document_with_something_to_predict_is_not_halved(bert, text):
    _, found, _ = measured(options(bert, text, max_inputs=1))
    result = found["joint_effects"]
    for schema in JOINT_TABLES:
        check_table(schema, result.tables[schema.name])
        assert not len(result.tables[schema.name])
    assert result.notes == ("heads removed together: there are not two documents with something to predict",)


@pytest.mark.slow
def test_few_documents_have_no_intervals(bert, text):
    _, found, _ = measured(options(bert, text, max_inputs=4))
    result = found["joint_effects"]
    assert result.tables["joint_curves"]["ci_low"].isna().all()
    assert result.notes == (
        "heads removed together: intervals need at least 10 documents; heads were removed together from 4",
    )


def test_no_part_of_a_run_and_no_worker_scans_what_needs_effects(bert, text):
    scans = list(JointEffectsMeasurement(prepare(options(bert, text))).scans())
    assert [scan.name for scan in scans] == ["half-1", "half-2"]
    assert all(scan.local for scan in scans)
