"""The loss of a classifier: effects and gradients against loops over transformers' own code, and refusals."""

import csv
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.analyses.effects.facts import PARTS
from headscope.attention.head_id import HeadId
from headscope.attention.model.examination import examine
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError, ModelError, OptionError
from headscope.models.load_model import LoadedModel
from headscope.present.study import open_study
from headscope.running.stages import measure
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.by_hook import hooked
from support.measured import about
from support.model_folders import save_classifier, save_tiny_bert, save_tiny_llama, save_tiny_t5

CLASSES = ("calm", "tired", "torn")
TEXTS = [
    "The old bridge was closed, and nobody crossed it.",
    "It opened again on a Tuesday in spring.",
    "A dog came by and slept.",
    "The rain began to fall before they left the town.",
    "Nobody knew the way, so they asked a child.",
]
ROWS = [(f"Day {number}. {TEXTS[number % 5]}", CLASSES[number * 7 % 3]) for number in range(14)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("labels")


@pytest.fixture(scope="module")
def table(folder):
    path = folder / "rows.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "mood"), *ROWS])
    return str(path)


@pytest.fixture(scope="module")
def classifiers(folder):
    bare = {
        "bert": save_tiny_bert(folder / "bare-bert"),
        "llama": save_tiny_llama(folder / "bare-llama", [text for text, _ in ROWS]),
    }
    return {name: save_classifier(folder / name, each, CLASSES) for name, each in bare.items()}


def measure_stages(run):
    return {result.name: result for result in measure(run)}


@cache
def eager_model(model_folder):
    tokenizer = tf.AutoTokenizer.from_pretrained(model_folder)
    model = tf.AutoModelForSequenceClassification.from_pretrained(model_folder, attn_implementation="eager").eval()
    return tokenizer, model, examine(model, Encoder(tokenizer).vocabulary)


def by_hand(model_folder, changes=None):
    """Each text's loss by transformers' own code, one text at a time; and the logarithms of what it predicts."""
    tokenizer, model, examined = eager_model(model_folder)
    with hooked(model, examined, changes or {}), torch.no_grad():
        answers = [
            model(**tokenizer(text, return_tensors="pt"), labels=torch.tensor([CLASSES.index(label)]))
            for text, label in ROWS
        ]
    logs = torch.stack([torch.log_softmax(answer.logits[0].double(), -1) for answer in answers]).numpy()
    return np.array([float(answer.loss) for answer in answers]), logs


def options(model, table, **more):
    how = {"packing": "single", "device": "cpu", "stages": ("effects",), "joint_inputs": 0} | more
    return RunOptions(model=str(model), text=(table,), column="text", labels="mood", **how)


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize("size", [1, 5])
def test_effects_against_a_loop_with_hooks(family, size, classifiers, table):
    model = classifiers[family]
    losses, logs = by_hand(model)
    result = measure_stages(prepare(options(model, table, intervention="zero", batch_size=size)))["effects"]
    facts = result.facts["effects"]
    assert (facts["loss"], facts["segments"], facts["targets"]) == ("labels", len(ROWS), len(ROWS))
    assert facts["loss_mean"] == pytest.approx(losses.mean(), rel=1e-5)
    values = result.tables["effects"].set_index(["kind", "layer", "head", "measure"])["value"]
    for kind, layer, head in values.index.droplevel("measure").unique():
        without, changed = by_hand(model, {HeadId(kind, layer, head): torch.zeros_like})
        assert values[kind, layer, head, "loss"] == pytest.approx((without - losses).mean(), abs=5e-6)
        divergence = (np.exp(logs) * (logs - changed)).sum(-1).mean()
        assert values[kind, layer, head, "kl"] == pytest.approx(divergence, abs=5e-6)
    assert values.xs("loss", level="measure").abs().max() > 0.002


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_the_gate_is_the_gradient_of_the_classifiers_loss(family, classifiers, table):
    """d loss / d gate of a head is what is lost, by a small step, when it writes so much less."""
    model, step = classifiers[family], 1e-3
    run = prepare(options(model, table, stages=("importance",)))
    result = measure_stages(run)["importance"]
    assert result.facts["importance"]["loss"] == "labels"
    rows = result.tables["importance"].query("measure == 'gate'").dropna(subset="head")
    gates = rows.set_index(["kind", "layer", "head"])["value"]
    for (kind, layer, head), gate in gates.items():
        head_id = HeadId(kind, int(layer), int(head))
        more, less = (by_hand(model, {head_id: lambda z, by=by: z * by})[0] for by in (1 + step, 1 - step))
        assert gate == pytest.approx(np.abs((more - less) / (2 * step)).mean(), rel=2e-2, abs=2e-4)


def test_a_table_in_memory_gives_the_same(classifiers, table):
    frame = pd.DataFrame(ROWS, columns=["text", "mood"])
    of_file = hs.effects(str(classifiers["bert"]), text=table, column="text", labels="mood", joint_inputs=0)
    named = frame.rename(columns={"text": "sentence"})
    of_frame = hs.effects(str(classifiers["bert"]), text=named, column="sentence", labels="mood", joint_inputs=0)
    assert of_frame.table("effects").equals(of_file.table("effects"))
    loaded = tf.AutoModelForSequenceClassification.from_pretrained(classifiers["bert"])
    tokenizer = tf.AutoTokenizer.from_pretrained(classifiers["bert"])
    of_model = hs.effects(loaded, tokenizer=tokenizer, text=frame, labels="mood", joint_inputs=0)
    np.testing.assert_allclose(of_model.table("effects")["value"], of_file.table("effects")["value"], atol=1e-7)


def test_the_report_says_what_is_predicted(classifiers, table, tmp_path):
    stages = {"stages": ("stats", "effects"), "controls": 0, "joint_inputs": 2}
    write_run(prepare(options(classifiers["bert"], table, **stages)), tmp_path)
    study = open_study(tmp_path)
    page = "".join(section.html for section in PARTS.sections(about(study, found=PARTS.findings(about(study)))))
    assert "The loss is that of predicting the given labels:" in page
    assert "nats a text with all heads unchanged, over 14 inputs, 14 classes predicted" in page


def refusal(run_options):
    with pytest.raises((InputError, ModelError, OptionError)) as refused:
        measure_stages(prepare(run_options))
    return str(refused.value)


def test_a_label_that_is_no_class_is_named(classifiers, folder):
    """With the file and the row or entry that it stands in, whatever the format and the seed's order."""
    rows = [("It ran.", "calm"), ("It slept.", "angry"), ("It sat.", "calm")]
    frame, json_lines = pd.DataFrame(rows, columns=["text", "mood"]), folder / "wrong.jsonl"
    frame.to_csv(folder / "wrong.csv", index=False)
    frame.to_parquet(folder / "wrong.parquet")
    frame.assign(id=["a", "b", "c"]).to_json(json_lines, orient="records", lines=True)
    says = "its label 'mood' is angry; expected a class of the model (calm, tired, torn) or its number, from 0 to 2"
    places = {"wrong.csv": "row 2", "wrong.parquet": "row 2", "wrong.jsonl": "entry 2"}
    said = {name: refusal(options(classifiers["bert"], str(folder / name))) for name in places}
    assert said == {name: f"{folder / name}, {place}: {says}" for name, place in places.items()}
    with pytest.raises(InputError) as refused:
        hs.effects(str(classifiers["bert"]), text=frame, labels="mood", joint_inputs=0)
    assert str(refused.value) == f"text 2: {says}"


def test_a_model_without_a_head_for_classes_is_refused(folder, table):
    assert refusal(options(folder / "bare-bert", table)) == (
        "bare-bert has no trained head for classes: its checkpoint lacks bert.pooler.dense.bias and 3 more weights, "
        "which would be random; loss labels needs a checkpoint saved with its head "
        "(AutoModelForSequenceClassification), or leave --labels out"
    )


def test_a_model_in_memory_without_one_is_told_its_class(folder, table):
    model = tf.AutoModel.from_pretrained(folder / "bare-bert")
    loaded = LoadedModel(name="mine", model=model, tokenizer=tf.AutoTokenizer.from_pretrained(folder / "bare-bert"))
    run_options = RunOptions(loaded_model=loaded, text=(table,), column="text", labels="mood", stages=("effects",))
    assert refusal(run_options) == (
        "BertModel has no head for classes, which loss labels needs; load the model with "
        "AutoModelForSequenceClassification, or leave labels out"
    )


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"problem_type": "multi_label_classification"}, "any number of labels at once"),
        ({"problem_type": "regression"}, "a number"),
        ({"id2label": {0: "score"}, "label2id": {"score": 0}}, "a number"),
    ],
)
def test_what_is_not_one_class_of_several_is_refused(settings, what, folder, table, tmp_path):
    model = save_classifier(tmp_path / "other", folder / "bare-bert", CLASSES, **settings)
    assert refusal(options(model, table)) == (
        f"other predicts {what}, and not one class of several, whose cross entropy --labels takes; choose another "
        "model, or leave --labels out"
    )


def test_a_decoder_that_names_no_padding_is_refused(classifiers, table, tmp_path):
    model = save_classifier(tmp_path / "bare", classifiers["llama"], CLASSES, pad_token_id=None)
    assert refusal(options(model, table)) == (
        "bare names no padding token, so it cannot tell where a text of a batch ends; write pad_token_id into its "
        "config.json"
    )


def test_labels_contradict_another_loss_and_encoder_decoders(classifiers, table, folder):
    assert refusal(options(classifiers["bert"], table, loss="mlm")) == (
        "both --labels and --loss mlm were given; with labels the loss is the classifier's: leave one out"
    )
    t5 = save_tiny_t5(folder / "t5", [text for text, _ in ROWS])
    assert refusal(options(t5, table)) == (
        "--labels is for classifiers that are an encoder or a decoder, and t5 is an encoder-decoder; leave it out"
    )
