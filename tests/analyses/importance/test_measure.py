"""The stage of gradient importance: its table and facts, each kind of model, the user's own labels, and refusals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.analyses.importance.compute import (
    ImportanceAccumulator,
    ImportanceMeasurement,
    importance_differences,
    importance_table,
)
from headscope.analyses.importance.tables import IMPORTANCE, IMPORTANCE_DIFFERENCES
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.scan import scan
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError, ModelError, OptionError
from headscope.models.losses import ask_of
from headscope.models.task_heads import load_task_model
from headscope.running.stages import check_maps
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.input_sizes import gradient_batch_size, gradient_fits
from headscope.scans.prepare.prepared_run import prepare
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_masked_lm, save_tiny_t5
from support.needed_heads import LINES
from support.task_models import save_with_head


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("importance")


@pytest.fixture(scope="module")
def text(folder):
    """12 documents of 2 to 4 lines."""
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


def options(model, text, **given):
    return RunOptions(model=model, text=text, packing="single", stages=("importance",), device="cpu", **given)


def test_an_encoders_table_is_that_of_its_own_scan(bert, text):
    run = prepare(options(bert, text, seed=4))
    told = []
    result = ImportanceMeasurement(run, watch=told.append).measure()
    loaded = load_task_model(bert, loss="mlm", device="cpu")
    anatomy = examine(loaded.model, run.encoder.vocabulary)
    segments = list(run.segments())
    ask = ask_of("mlm", loaded.tokenizer, anatomy, seed=4)
    source = GradientSource(loaded.model, anatomy, run.encoder.vocabulary, [[s] for s in segments], ask)
    sums = ImportanceAccumulator(anatomy.layout)
    scan(source, [sums])
    expected = importance_table(sums.compute())
    found = result.tables["importance"]
    assert list(found.columns) == IMPORTANCE.names
    assert found.drop(columns=["value", "ci_low", "ci_high"]).equals(
        expected.drop(columns=["value", "ci_low", "ci_high"])
    )
    for column in ("value", "ci_low", "ci_high"):
        np.testing.assert_allclose(found[column], expected[column], rtol=1e-3, atol=1e-9)
    assert found["value"].notna().all()
    assert found["ci_low"].notna().all()
    facts = result.facts["importance"]
    questions = [ask(segment) for segment in segments]
    assert (facts["loss"], facts["segments"], facts["nothing_to_predict"]) == ("mlm", len(segments), 0)
    assert facts["targets"] == sum(question.number for question in questions)
    np.testing.assert_allclose(facts["loss_mean"], source.counts.mean, rtol=1e-5)
    json.dumps(facts)
    assert (result.name, result.notes) == ("importance", ())
    assert told[-1].segments == len(segments)
    assert told[-1].stage == "importance"
    again = ImportanceAccumulator.from_state(result.state)
    assert importance_table(again.compute()).equals(found)
    apart = result.tables["importance_differences"]
    assert list(apart.columns) == IMPORTANCE_DIFFERENCES.names
    assert importance_differences(again.compute()).equals(apart)
    assert apart["ci_low"].notna().all()
    # The mean over a layer's heads, class by class, less that of other tokens.
    means = found[found["head"].isna()].set_index(["layer", "measure", "key_class"])["value"]
    for row in apart.to_dict("records"):
        own, other = (means[row["layer"], row["measure"], name] for name in (row["key_class"], "other"))
        assert row["difference"] == pytest.approx(own - other, abs=1e-12)
        assert row["ci_low"] <= row["difference"] <= row["ci_high"]


def test_the_batch_size_changes_nothing(bert, text):
    tables = [
        ImportanceMeasurement(prepare(options(bert, text, batch_size=size))).measure().tables["importance"]
        for size in (1, 9)
    ]
    for column in ("value", "ci_low", "ci_high"):
        np.testing.assert_allclose(tables[0][column], tables[1][column], rtol=1e-3, atol=1e-9)


def test_a_decoder_predicts_the_next_token(folder, text):
    model = str(save_tiny_gpt2(folder / "gpt2", LINES))
    run = prepare(options(model, text))
    result = ImportanceMeasurement(run).measure()
    segments = list(run.segments())
    assert result.facts["importance"]["loss"] == "clm"
    assert result.facts["importance"]["targets"] == sum(len(segment) - 1 for segment in segments)
    table = result.tables["importance"]
    assert set(table["kind"]) == {"decoder"}
    # Its tokenizer has no separator: the class cannot occur. The first token takes the part of [CLS].
    assert (table[table["key_class"] == "sep"]["n_inputs"] == 0).all()
    assert (table[table["key_class"] == "cls"]["n_inputs"] == len(segments)).all()


def test_an_encoder_decoder_writes_what_was_hidden(t5, text):
    result = ImportanceMeasurement(prepare(options(t5, text, loss="denoise"))).measure()
    table = result.tables["importance"]
    assert result.facts["importance"]["loss"] == "denoise"
    assert list(dict.fromkeys(table["kind"])) == ["encoder", "decoder", "cross"]
    means = table[table["head"].isna() & (table["key_class"] == "other") & (table["measure"] == "gradient")]
    assert (means["value"] > 0).all()


def test_labels_of_the_users_own(folder, t5):
    """Entries of a JSON file carry what the decoder shall write."""
    entries = [{"text": line, "summary": LINES[-1 - place]} for place, line in enumerate(LINES)]
    path = folder / "entries.json"
    path.write_text(json.dumps(entries))
    run = prepare(options(t5, (str(path),)))
    tokenizer = run.loaded.tokenizer

    def labels(segment):
        return tokenizer(segment.fields["summary"])["input_ids"]

    result = ImportanceMeasurement(run, labels=labels).measure()
    facts = result.facts["importance"]
    assert facts["loss"] == "labels"
    assert facts["targets"] == sum(len(tokenizer(entry["summary"])["input_ids"]) for entry in entries)
    model = load_task_model(t5, loss="denoise", device="cpu").model
    losses = []
    with torch.no_grad():
        for entry in entries:
            given, wanted = (torch.tensor([tokenizer(entry[name])["input_ids"]]) for name in ("text", "summary"))
            losses.append(float(model(input_ids=given, labels=wanted).loss))
    np.testing.assert_allclose(facts["loss_mean"], np.mean(losses), rtol=1e-5)


def test_labels_for_a_model_without_a_decoder_are_refused(bert, text):
    with pytest.raises(OptionError) as refused:
        ImportanceMeasurement(prepare(options(bert, text)), labels=lambda segment: [1]).measure()
    assert str(refused.value) == (
        "labels are what the decoder behind an encoder writes, and bert has none; leave them out"
    )


def test_a_checkpoint_without_its_head_is_refused(folder, text):
    save_tiny_bert(folder / "bare")
    with pytest.raises(ModelError, match=r"^bare has no trained masked-LM head: "):
        ImportanceMeasurement(prepare(options(str(folder / "bare"), text))).measure()


def test_a_loss_of_another_kind_is_refused(bert, text):
    with pytest.raises(OptionError) as refused:
        ImportanceMeasurement(prepare(options(bert, text, loss="clm"))).measure()
    assert str(refused.value) == "loss clm is for decoders, and bert is an encoder; choose loss mlm"


def test_saved_maps_are_refused():
    with pytest.raises(OptionError) as refused:
        check_maps(STAGES["importance"], RunOptions(maps=Path("maps")))
    assert str(refused.value) == (
        "saved maps hold no gradients; give a model and text in place of --maps to measure importance"
    )


def test_few_documents_are_noted_and_inputs_with_nothing_to_predict_counted(folder, bert, text, monkeypatch):
    run = prepare(options(bert, text, max_inputs=4))
    first, *rest = list(run.inputs.segments())
    empty = replace(
        first, ids=first.ids[[0, -1]], token_types=first.token_types[[0, -1]], word_ids=first.word_ids[[0, -1]]
    )
    monkeypatch.setattr(run.inputs, "segments", lambda: iter([empty, *rest]))
    result = ImportanceMeasurement(run).measure()
    documents = len({segment.document for segment in rest})
    assert result.notes == (
        "importance: inputs left out because there is nothing to predict in them: 1",
        f"importance: intervals need at least 10 documents; this run has {documents}",
    )
    assert result.facts["importance"]["nothing_to_predict"] == 1
    assert result.tables["importance"]["ci_low"].isna().all()
    monkeypatch.setattr(run.inputs, "segments", lambda: iter([empty]))
    with pytest.raises(InputError) as refused:
        ImportanceMeasurement(run).measure()
    assert str(refused.value) == (
        "nothing could be predicted: every input is of special tokens alone, or of one token; give longer text"
    )


def test_a_large_vocabulary_makes_batches_smaller(bert, t5):
    for model, loss in ((bert, "mlm"), (t5, "denoise")):
        loaded = load_task_model(model, loss=loss, device="cpu")
        anatomy = examine(loaded.model, Encoder(loaded.tokenizer).vocabulary)
        vocabulary = loaded.model.get_input_embeddings().weight.shape[0]
        heads = sum(part.layers * part.heads for part in anatomy.layout)
        for length in (8, 128, 1024):
            size = gradient_batch_size(length, anatomy, loaded)
            assert size >= 1
            assert size == 1 or size * length * (heads * length + vocabulary) <= 1 << 27
            assert size <= max(1, 2048 // length)
            assert gradient_fits(length, anatomy, loaded)
        assert not gradient_fits(1 << 16, anatomy, loaded)
