"""The stage of effects: its table and facts, each kind of model, a run that goes on, what it says, and refusals."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import transformers as tf

from headscope.analyses.effects.compute import EffectsMeasurement, effects_table
from headscope.analyses.effects.effects_text import FITS, documents_needed, effect_batch_size
from headscope.analyses.effects.sums import EffectsAccumulator
from headscope.analyses.effects.tables import EFFECTS
from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from headscope.encoding.choices import INTERVENTIONS
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError, ModelError, OptionError
from headscope.models.losses import ask_of
from headscope.models.task_heads import load_task_model
from headscope.present.study import open_study
from headscope.running.stages import check_maps
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_masked_lm, save_tiny_t5
from support.needed_heads import LINES
from support.task_models import save_with_head


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("effects")


@pytest.fixture(scope="module")
def text(folder):
    """12 documents of 3 or 4 lines."""
    documents = ["\n".join(LINES[place % 3 : place % 3 + 2 + place % 2]) for place in range(12)]
    path = folder / "text.txt"
    path.write_text("\n\n".join(f"Day {n}.\n{document}" for n, document in enumerate(documents)) + "\n")
    return (str(path),)


@pytest.fixture(scope="module")
def bert(folder):
    return str(save_tiny_masked_lm(folder / "bert"))


@pytest.fixture(scope="module")
def t5(folder):
    bare = save_tiny_t5(folder / "bare-t5", LINES)
    return str(save_with_head(folder / "t5", bare, tf.AutoModelForSeq2SeqLM, sentinels=8))


def options(model, text, **more):
    return RunOptions(model=model, text=text, packing="single", stages=("effects",), device="cpu", **more)


def test_an_encoders_table_is_that_of_its_own_scan(bert, text):
    run, told = prepare(options(bert, text, seed=4, batch_size=5)), []
    result = EffectsMeasurement(run, watch=told.append).measure()
    loaded = load_task_model(bert, loss="mlm", device="cpu")
    anatomy = examine(loaded.model, run.encoder.vocabulary)
    segments = list(run.segments())
    ask = ask_of("mlm", loaded.tokenizer, anatomy, seed=4)
    one_by_one = [[segment] for segment in segments]
    source = EffectSource(
        loaded.model, anatomy, run.encoder.vocabulary, one_by_one, ask,
        fits=[FITS["mean"]], fitting=lambda: one_by_one, first_order=True, seed=4,
    )  # fmt: skip
    sums = EffectsAccumulator(anatomy.layout)
    scan(source, [sums])
    expected, found = effects_table(sums.compute(), "mean"), result.tables["effects"]
    assert list(found.columns) == EFFECTS.names
    numbers = ["value", "ci_low", "ci_high", "q_value"]
    assert found.drop(columns=numbers).equals(expected.drop(columns=numbers))
    for column in numbers[:3]:
        np.testing.assert_allclose(found[column], expected[column], rtol=2e-3, atol=2e-7)
    assert found["ci_low"].notna().all()
    facts = result.facts["effects"]
    questions = [ask(segment) for segment in segments]
    assert (facts["loss"], facts["segments"], facts["intervention"]) == ("mlm", len(segments), "mean")
    assert facts["targets"] == sum(question.number for question in questions)
    (part,) = anatomy.layout
    assert facts["passes"] == 1 + part.heads * (part.layers + 1) / 2
    assert (facts["backward_passes"], facts["no_gradient"]) == (1, "")
    np.testing.assert_allclose(facts["loss_mean"], source.counts.mean, rtol=1e-5)
    json.dumps(facts)
    assert (result.name, result.notes) == ("effects", ())
    (note,) = [each.note for each in told if each.note]
    # How long depends on the machine, and on what else it does.
    assert re.fullmatch(
        rf"effects take {facts['passes']:.1f} forward passes and 1 backward pass of {len(segments)} inputs, about "
        r"\d+\.\d minutes by the first batch; about [\d,]+ documents show an effect of 0\.01 nats",
        note,
    )
    assert told[-1].segments == len(segments)
    again = EffectsAccumulator.from_state(result.state)
    assert effects_table(again.compute(), "mean").equals(found)


def test_the_number_of_documents_is_that_of_a_test_with_a_power_of_80_percent():
    """By simulation: so many normal effects are told from 0 in four runs of five."""
    from scipy import stats

    number = documents_needed(0.05)
    draws = np.random.default_rng(0).normal(0.01, 0.05, size=(4000, number))
    found = stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.02)
    assert documents_needed(float("nan")) is None
    assert documents_needed(0.0) == 2


def test_the_batch_size_changes_nothing(bert, text):
    tables = [
        EffectsMeasurement(prepare(options(bert, text, batch_size=size))).measure().tables["effects"] for size in (1, 9)
    ]
    for column in ("value", "ci_low", "ci_high"):
        np.testing.assert_allclose(tables[0][column], tables[1][column], rtol=2e-3, atol=2e-7)


@pytest.mark.parametrize("intervention", INTERVENTIONS)
def test_every_intervention_on_a_decoder(folder, text, intervention):
    model = str(save_tiny_gpt2(folder / "gpt2", LINES))
    run = prepare(options(model, text, intervention=intervention))
    result = EffectsMeasurement(run).measure()
    segments = list(run.segments())
    assert result.facts["effects"]["loss"] == "clm"
    assert result.facts["effects"]["targets"] == sum(len(segment) - 1 for segment in segments)
    table = result.tables["effects"]
    assert set(table["kind"]) == {"decoder"}
    assert set(table["intervention"]) == {intervention}
    assert (table.loc[table["measure"] == "kl", "value"] > 0).all()


def test_an_encoder_decoder_has_heads_of_three_kinds(t5, text):
    result = EffectsMeasurement(prepare(options(t5, text, loss="denoise"))).measure()
    table = result.tables["effects"]
    assert result.facts["effects"]["loss"] == "denoise"
    assert list(dict.fromkeys(table["kind"])) == ["encoder", "decoder", "cross"]
    assert (table.loc[table["measure"] == "kl", "value"] > 0).all()


def test_so_many_inputs_are_spread_over_the_documents(bert, text):
    result = EffectsMeasurement(prepare(options(bert, text, effect_inputs=11))).measure()
    assert (result.tables["effects"]["n_inputs"] == 11).all()
    assert len(EffectsAccumulator.from_state(result.state).sums) == 11
    fewer = EffectsMeasurement(prepare(options(bert, text, effect_inputs=11, max_inputs=4))).measure()
    assert (fewer.tables["effects"]["n_inputs"] == 4).all()
    assert fewer.notes == ("effects: intervals need at least 10 documents; this run has 4",)


def test_a_checkpoint_without_its_head_is_refused(folder, text):
    save_tiny_bert(folder / "bare")
    with pytest.raises(ModelError, match=r"^bare has no trained masked-LM head: "):
        EffectsMeasurement(prepare(options(str(folder / "bare"), text))).measure()


def test_a_loss_of_another_kind_is_refused_before_anything_is_read(bert, text):
    with pytest.raises(OptionError) as refused:
        EffectsMeasurement(prepare(options(bert, text, loss="clm"))).check()
    assert str(refused.value) == "loss clm is for decoders, and bert is an encoder; choose loss mlm"


def test_saved_maps_are_refused():
    with pytest.raises(OptionError) as refused:
        check_maps(STAGES["effects"], RunOptions(maps=Path("maps")))
    assert str(refused.value) == (
        "saved maps hold no model whose heads could be changed; give a model and text in place of --maps"
    )


def test_inputs_with_nothing_to_predict_are_counted(bert, text):
    run = prepare(options(bert, text))
    measurement = EffectsMeasurement(run)
    first, *rest = measurement.text.inputs
    short = {name: getattr(first, name)[[0, -1]] for name in ("ids", "token_types", "word_ids")}
    measurement.text.inputs = [replace(first, **short), *rest]
    result = measurement.measure()
    assert result.notes == ("effects: inputs left out because there is nothing to predict in them: 1",)
    assert (result.tables["effects"]["n_inputs"] == len(rest)).all()
    measurement = EffectsMeasurement(run)
    measurement.text.inputs = [replace(first, **short)]
    with pytest.raises(InputError) as refused:
        measurement.measure()
    assert str(refused.value) == (
        "nothing could be predicted: every input is of special tokens alone, or of one token; give longer text"
    )


def test_a_large_vocabulary_makes_batches_smaller(bert):
    loaded = load_task_model(bert, loss="mlm", device="cpu")
    anatomy = examine(loaded.model, Encoder(loaded.tokenizer).vocabulary)
    vocabulary = loaded.model.get_input_embeddings().weight.shape[0]
    for length in (8, 128, 1024):
        size = effect_batch_size(length, anatomy, loaded)
        assert 1 <= size <= max(1, 2048 // length)
        assert size == 1 or 4 * size * length * vocabulary <= 1 << 27


def test_some_of_the_heads_are_changed_the_others_estimated(bert, text):
    whole, told = EffectsMeasurement(prepare(options(bert, text, intervention="zero"))).measure(), []
    run = prepare(options(bert, text, effect_heads=2, intervention="zero"))
    part = EffectsMeasurement(run, watch=told.append).measure()
    every, found = whole.tables["effects"], part.tables["effects"]
    place = ["kind", "layer", "head"]
    changed = found[found["measure"] == "loss"][place]
    assert len(changed) == 2
    gates = every[every["measure"] == "gate"].sort_values("value", ascending=False)
    assert set(map(tuple, gates[place].head(1).values)) <= set(map(tuple, changed.values))
    both = found.merge(every, on=[*place, "measure"], suffixes=("", "_every"))
    assert len(both) == len(found)
    for column in ("value", "ci_low", "ci_high"):
        np.testing.assert_allclose(both[column], both[f"{column}_every"], rtol=2e-3, atol=2e-7)
    assert (found["measure"] == "gate").sum() == len(gates)
    assert part.facts["effects"]["passes"] < whole.facts["effects"]["passes"]
    assert set(part.tables["effect_estimates"]["measure"]) == {"slope", "wrong_signs", "overlooked"}
    notes = [each.note for each in told if each.note]
    assert notes[0].startswith("estimates take 1.0 forward passes and 1 backward pass of ")
    assert len(notes) == 2
    many = EffectsMeasurement(prepare(options(bert, text, effect_heads=1000)))
    assert len(list(many.scans())) == 1


def test_inputs_too_long_for_a_gradient_keep_their_exact_effects(bert, text, monkeypatch):
    whole = EffectsMeasurement(prepare(options(bert, text))).measure().tables["effects"]
    monkeypatch.setattr("headscope.analyses.effects.effects_text.gradient_fits", lambda *_: False)
    result = EffectsMeasurement(prepare(options(bert, text, effect_heads=2))).measure()
    assert result.facts["effects"]["no_gradient"] == (
        "the weights of all layers of an input of 128 tokens take too much memory at once; lower --max-length"
    )
    assert result.facts["effects"]["backward_passes"] == 0
    found = result.tables["effects"]
    assert list(dict.fromkeys(found["measure"])) == ["loss", "kl"]
    assert len(found) == 2 * 2
    assert len(result.tables["effect_estimates"]) == 0
    both = found.merge(whole, on=["kind", "layer", "head", "measure"])
    np.testing.assert_allclose(both["value_x"], both["value_y"], rtol=2e-3, atol=2e-7)


@pytest.fixture(scope="module")
def some_heads(bert, text):
    # Heads removed together go on in tests of their own.
    how = {"effect_inputs": 24, "joint_inputs": 0, "shard_minutes": 0, "batch_size": 2}
    return options(bert, text, effect_heads=2, intervention="zero", **how)


@pytest.fixture(scope="module")
def whole_run(some_heads, folder):
    write_run(prepare(some_heads), folder / "whole")
    return open_study(folder / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("scan_label", ["effects: estimates", "effects"])
def test_a_run_of_some_heads_that_was_killed_goes_on(some_heads, whole_run, tmp_path, scan_label):
    """In either scan: what the first found decides about the heads of the second."""

    class Killed(Exception):
        """The run is killed."""

    def kill(told):
        if told.segments > 4 and told.stage == scan_label:
            raise Killed

    with pytest.raises(Killed):
        write_run(prepare(some_heads), tmp_path / "stopped", watch=kill)
    write_run(prepare(some_heads), tmp_path / "stopped")
    for name in ("effects", "effect_estimates"):
        stopped = open_study(tmp_path / "stopped").table(name)
        pd.testing.assert_frame_equal(whole_run.table(name), stopped, check_exact=True)
