"""Whole trainings: the loss falls, an interruption changes nothing, and the card matches the log."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.batching import length_buckets
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.errors import ModelError, OptionError, OutputError
from headscope_train import session as session_module
from headscope_train.prepared_training import prepare
from headscope_train.record import COLUMNS, read_facts, write_facts
from headscope_train.size import Size
from headscope_train.start import go_on_with
from headscope_train.text import TrainingText
from headscope_train.training_masks import Masker
from headscope_train.training_options import TrainOptions
from headscope_train.training_run import train
from support.demo_treebank import demo_documents
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5
from support.tiny_models import CONFIGS

HOW = {
    "size": "1x2x16",
    "vocabulary": 300,
    "batch_size": 8,
    "learning_rate": 5e-3,
    "seed": 3,
    "dropout": 0.1,
    "packing": "single",
}
STEPS = {"steps": 24, "every": 10}


@pytest.fixture(scope="module")
def small(tmp_path_factory, text):
    """Return one training without interruption; tests do not change it."""
    torch.set_num_threads(1)
    return train(text=text, out=tmp_path_factory.mktemp("small") / "model", **HOW, **STEPS)


def same_weights(one, other):
    files = sorted(path.relative_to(one) for path in one.glob("**/model.safetensors"))
    assert files == sorted(path.relative_to(other) for path in other.glob("**/model.safetensors"))
    return all((one / file).read_bytes() == (other / file).read_bytes() for file in files)


def without_clock(log):
    return log.drop(columns="seconds")


def facts_without_clock(training):
    files = {name: each for name, each in training.facts["files"].items() if name != "training.parquet"}
    return {**training.facts, "files": files, "seconds": None}


def test_the_loss_falls(tmp_path):
    # With this many documents, the result does not depend on the choice of the held-out ones.
    text = tmp_path / "text.txt"
    documents = demo_documents(1, 250)
    text.write_text("\n\n".join("\n".join(s.text for s in document.sentences) for document in documents))
    run = train(text=text, out=tmp_path / "m", **{**HOW, "dropout": 0.0, "learning_rate": 2e-2}, steps=200, every=100)
    held = run.log.query("split == 'held-out'")
    loss = held[held["measure"] == "loss"].set_index("step")["value"]
    assert list(loss.index) == [0, 100, 200]
    # The first loss is about the logarithm of the vocabulary size.
    assert loss[0] == pytest.approx(np.log(300), abs=0.1)
    assert loss[200] < loss[100] < loss[0] - 0.1
    accuracy = held[held["measure"] == "accuracy"].set_index("step")
    # One in 300 tokens, 0.3%, is right by chance.
    assert accuracy["value"][200] > accuracy["value"][0] + 0.02
    taught = run.log.query("split == 'train' and measure == 'loss'")["value"].to_numpy()
    assert taught[-3:].mean() < taught[0] - 0.3


def test_what_is_written(small, text):
    names = sorted(path.name for path in small.path.iterdir())
    folders = ["checkpoint-000000", "checkpoint-000010", "checkpoint-000020", "checkpoint-000024"]
    files = ["README.md", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert names == sorted([*folders, *files, "training.json", "training.parquet"])
    assert [path.name for path in small.checkpoints.values()] == folders
    assert list(small.checkpoints) == [0, 10, 20, 24]
    assert (small.path / "model.safetensors").read_bytes() == (
        small.path / "checkpoint-000024" / "model.safetensors"
    ).read_bytes()
    log = small.log
    assert list(log.columns) == list(COLUMNS)
    assert sorted(set(log["step"])) == list(range(25))
    held = log[log["split"] == "held-out"]
    assert list(held["step"]) == [0, 0, 10, 10, 20, 20, 24, 24]
    assert held["n_targets"].nunique() == 1  # the same masks each time
    assert log.loc[log["split"] == "train", "ci_low"].isna().all()
    facts = small.facts
    sentences = [len(block.split("\n")) for block in text.read_text().split("\n\n")]
    parts = facts["data"]["train"], facts["data"]["held_out"]
    assert sum(part["inputs"] for part in parts) == sum(sentences)
    assert sum(part["documents"] for part in parts) == len(sentences) == 30
    assert sum(part["tokens"] for part in parts) == facts["data"]["tokens"]
    assert facts["complete"]
    written = json.loads((small.path / "training.json").read_text())
    assert {**facts, "seal": written["seal"]} == written
    assert facts["data"]["held_out"]["documents"] == 6
    assert facts["notes"] == ["held out: intervals need at least 10 documents; here are 6"]


def test_the_held_out_numbers_by_transformers_own_loss(small, text):
    """Compare the last row of the log with the whole head, labels of -100, and one input at a time."""
    model = tf.BertForMaskedLM.from_pretrained(small.path).eval()
    given = {key: value for key, value in HOW.items() if key != "size"}
    prepared = prepare(TrainOptions(text=(str(text),), size=Size(1, 2, 16), **given, **STEPS))
    masker = Masker.of(tf.AutoTokenizer.from_pretrained(small.path))
    total = hits = number = 0
    for place in prepared.held_out:
        ids, _ = prepared.inputs.of(int(place))
        shown, chosen = masker.draw(ids, key=int(prepared.inputs.keys[place]), epoch=None)
        labels = np.full(len(ids), -100)
        labels[chosen] = ids[chosen]
        with torch.no_grad():
            out = model(input_ids=torch.tensor(shown[None].astype(np.int64)), labels=torch.tensor(labels[None]))
        total += float(out.loss) * len(chosen)
        hits += int((out.logits[0].argmax(-1).numpy()[chosen] == ids[chosen]).sum())
        number += len(chosen)
    last = small.log.query("split == 'held-out' and step == 24").set_index("measure")
    assert (last["n_targets"] == number).all()
    assert last["value"]["loss"] == pytest.approx(total / number, rel=1e-5)
    assert last["value"]["accuracy"] == pytest.approx(hits / number)


def test_again_is_the_same_and_another_seed_is_not(small, text, tmp_path):
    again = train(text=text, out=tmp_path / "again", **HOW, **STEPS)
    assert same_weights(again.path, small.path)
    pd.testing.assert_frame_equal(without_clock(again.log), without_clock(small.log))
    other = train(text=text, out=tmp_path / "other", **{**HOW, "seed": 4}, **STEPS)
    assert not same_weights(other.path, small.path)


def test_torchs_randomness_is_left_alone(text, tmp_path):
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    train(text=text, out=tmp_path / "m", **HOW, steps=2)
    assert torch.equal(torch.rand(3), expected)


KILLED = """
import os, signal, sys
import torch
torch.set_num_threads(1)
from headscope_train.training_run import train

def watch(progress):
    if progress.step == 17:
        os.kill(os.getpid(), signal.SIGKILL)

train(text=sys.argv[1], out=sys.argv[2], watch=watch, packing="single", size="1x2x16", vocabulary=300, batch_size=8,
      learning_rate=5e-3, seed=3, dropout=0.1, steps=24, every=10)
"""


@pytest.mark.slow
def test_killed_and_gone_on_is_the_same_as_never_stopped(small, text, tmp_path):
    out = tmp_path / "model"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", KILLED, str(text), str(out)], env=environment, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert not json.loads((out / "training.json").read_text())["complete"]
    assert (out / "resume.safetensors").is_file()
    seen = []
    run = train(text=text, out=out, watch=lambda p: seen.append(p.step), **HOW, **STEPS)
    assert seen[0] == 11  # not from the start
    assert same_weights(run.path, small.path)
    pd.testing.assert_frame_equal(without_clock(run.log), without_clock(small.log))
    assert facts_without_clock(run) == facts_without_clock(small)


@pytest.mark.parametrize(
    ("where", "calls"),
    [
        *(("write_checkpoint", 2), ("write_resume", 3), ("publish", 1), ("write_facts", 2)),
    ],
)  # fmt: skip
def test_stopped_anywhere_it_comes_to_the_same(where, calls, small, text, tmp_path, monkeypatch):
    """Press Ctrl-C at each place that writes files, then resume without interruption."""
    own, left = getattr(session_module, where), [calls]

    def stopping(*arguments, **named):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return own(*arguments, **named)

    out = tmp_path / "model"
    with monkeypatch.context() as patch:
        patch.setattr(session_module, where, stopping)
        with pytest.raises(KeyboardInterrupt):
            train(text=text, out=out, **HOW, **STEPS)
    run = train(text=text, out=out, **HOW, **STEPS)
    assert same_weights(run.path, small.path)
    pd.testing.assert_frame_equal(without_clock(run.log), without_clock(small.log))
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in small.path.iterdir())


def test_a_finished_training_is_not_repeated(small, text, monkeypatch):
    def never(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr(session_module, "Trainer", never)
    again = train(text=text, out=small.path, **HOW, **STEPS)
    assert again.facts == small.facts


def test_the_cards_numbers_are_the_logs(small):
    card = (small.path / "README.md").read_text()
    assert card.startswith("# model\n\nA `BertForMaskedLM`: 1 layers x 2 heads, 16 wide, ")
    rows = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| ([\d.-]+) \| ([\d.]+) \| ([\d.]+)% \|$", card, re.MULTILINE)
    assert [int(row[0]) for row in rows] == [0, 10, 20, 24]
    log = small.log
    for step, tokens, trained, loss, accuracy in rows:
        own = log[log["step"] == int(step)]
        values = own.set_index(["split", "measure"])["value"]
        assert int(tokens.replace(",", "")) == own["tokens"].iloc[0]
        assert loss == f"{values['held-out', 'loss']:.3f}"
        assert accuracy == f"{100 * values['held-out', 'accuracy']:.1f}"
        assert trained == ("-" if step == "0" else f"{values['train', 'loss']:.3f}")
    for number in (small.facts["tokens"], small.facts["data"]["tokens"], small.facts["model"]["parameters"]):
        assert f"{number:,}" in card
    assert small.facts["data"]["hash"] in card
    assert "Trained from scratch" in card
    assert f"torch {torch.__version__}" in card
    model = tf.BertForMaskedLM.from_pretrained(small.path)
    assert small.facts["model"]["parameters"] == model.num_parameters()
    assert small.facts["tokens"] == log["tokens"].max()


def test_every_checkpoint_gives_attention(small, text):
    values = []
    for folder in small.checkpoints.values():
        loaded = hs.load_model(folder)
        encoder = Encoder(loaded.tokenizer)
        anatomy = examine(loaded.model, encoder.vocabulary)
        assert [(part.kind, part.layers, part.heads) for part in anatomy.layout] == [("encoder", 1, 2)]
        sums = StatsAccumulator(anatomy.layout)
        documents = TrainingText(text=(str(text),)).read()
        segments = Packer(encoder, packing="single", max_length=128).pack(documents, max_inputs=20)
        batches = length_buckets(segments, batch_size=8)
        scan(ModelSource(loaded.model, anatomy, encoder.vocabulary, batches), [sums])
        values.append(sums.compute()[0].heads.value)
    assert np.isfinite(values[-1]).any()
    assert not np.allclose(values[0], values[-1], equal_nan=True)


def test_a_checkpoint_with_its_head_is_gone_on_with(small, text, tmp_path):
    start = go_on_with(str(small.path))
    assert not start.new_head
    more = train(small.path, text=text, out=tmp_path / "more", steps=2, batch_size=8)
    assert more.facts["start"] == {"name": "model", "weights": more.facts["start"]["weights"], "new_head": False}
    first = more.log.query("split == 'held-out' and step == 0 and measure == 'loss'")["value"].item()
    assert first < np.log(300) - 0.1  # it continues from the other's end
    assert "Trained on from model" in (more.path / "README.md").read_text()
    assert "Its masked-LM head was trained on as well." in (more.path / "README.md").read_text()
    # The starting point is a checkpoint, too, with identical weights.
    began = (more.path / "checkpoint-000000" / "model.safetensors").read_bytes()
    assert began == (small.path / "model.safetensors").read_bytes()


def test_a_checkpoint_without_a_head_gets_a_new_one_and_the_card_says_so(text, tmp_path):
    folder = save_tiny_bert(tmp_path / "bare")
    run = train(folder, text=text, out=tmp_path / "m", steps=1, batch_size=4, max_inputs=60)
    assert run.facts["start"]["new_head"]
    assert run.facts["notes"][0] == (
        "bare has no trained masked-LM head: a new one is trained, and its first losses are those of chance"
    )
    card = (run.path / "README.md").read_text()
    assert "That checkpoint has no trained masked-LM head: **this head was trained from new**." in card
    # The head comes from the seed, the body from the checkpoint.
    one, same, other = (go_on_with(str(folder), seed=seed).model for seed in (0, 0, 1))
    head = "cls.predictions.transform.dense.weight"
    assert torch.equal(one.get_parameter(head), same.get_parameter(head))
    assert not torch.equal(one.get_parameter(head), other.get_parameter(head))
    bare = tf.BertModel.from_pretrained(folder, add_pooling_layer=False)
    assert torch.equal(other.bert.encoder.layer[0].output.dense.weight, bare.encoder.layer[0].output.dense.weight)


def test_text_is_trained_on_in_pairs(tmp_path):
    path = tmp_path / "my.txt"
    story = "The cat sat on the mat.\nIt slept, and dreamt of fish.\nA dog came by.\nIt left again.\n\n"
    path.write_text(story * 30)
    run = train(text=path, size="1x1x8", vocabulary=60, max_length=32, steps=3, out=tmp_path / "m")
    assert run.facts["data"]["name"] == "my.txt"
    assert run.facts["data"]["documents"] == 30
    assert hs.load_model(run.path).model.config.max_position_embeddings == 32
    again = tf.AutoTokenizer.from_pretrained(run.path)
    assert again("the cat", "a dog")["token_type_ids"][-1] == 1


@pytest.mark.slow
def test_minutes_become_steps(text, tmp_path):
    given = {**HOW, "dropout": 0.0}
    timed = train(text=text, out=tmp_path / "timed", minutes=0.02, every=1000, **given)
    steps = timed.facts["steps"]
    assert 1 <= steps < 5000
    # The time limit did not change anything: the same number of steps gives the same weights.
    asked = train(text=text, out=tmp_path / "asked", steps=steps, every=1000, **given)
    assert same_weights(asked.path, timed.path)


def test_bfloat16_is_near_float32(text, tmp_path):
    found = {}
    for dtype in ("float32", "bfloat16"):
        run = train(text=text, out=tmp_path / dtype, dtype=dtype, **HOW, steps=10)
        held = run.log.query("split == 'held-out' and measure == 'loss' and step == 10")
        found[dtype] = held["value"].item()
        assert run.facts["precision"] == dtype
        assert hs.load_model(run.path).model.dtype == torch.float32
    assert found["bfloat16"] == pytest.approx(found["float32"], abs=0.02)
    assert found["bfloat16"] != found["float32"]


def test_without_held_out_documents(text, tmp_path):
    run = train(text=text, out=tmp_path / "m", held_out=0.0, **HOW, steps=4, every=2)
    assert set(run.log["split"]) == {"train"}
    assert run.facts["data"]["held_out"] == {"documents": 0, "inputs": 0, "tokens": 0}
    card = (run.path / "README.md").read_text()
    assert re.search(r"^\| 4 \| [\d,]+ \| [\d.]+ \| - \| - \|$", card, re.MULTILINE)


def test_another_training_in_the_folder_is_refused(small, text, tmp_path):
    with pytest.raises(OutputError) as refused:
        train(text=text, out=small.path, **{**HOW, "seed": 9}, **STEPS)
    assert str(refused.value) == (
        f"{small.path} already holds a different training (of new BERT 1x2x16 on small.txt, signature "
        f"{small.facts['signature']}); give another --out, or delete that folder"
    )
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError) as refused:
        train(text=text, out=tmp_path, **HOW, **STEPS)
    assert str(refused.value) == (f"{tmp_path} holds other files and no training; give --out a new or empty folder")
    with pytest.raises(OutputError) as refused:
        train(text=text, out=tmp_path / "mine.txt", **HOW, **STEPS)
    assert str(refused.value) == f"{tmp_path / 'mine.txt'} is a file; --out expects a folder, new or empty"


def test_other_versions_do_not_go_on(text, tmp_path):
    out = tmp_path / "m"

    def stop(progress):
        if progress.step == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(text=text, out=out, watch=stop, **HOW, **STEPS)
    facts = read_facts(out)
    now = facts["versions"]["torch"]
    facts["versions"]["torch"] = "2.0.0"
    write_facts(out, facts)
    with pytest.raises(OutputError) as refused:
        train(text=text, out=out, **HOW, **STEPS)
    assert str(refused.value) == (
        f"the training in {out} was begun with torch 2.0.0, and this is {now}: it would not come to the same answer; "
        "use that version, or give another --out"
    )


def test_models_that_cannot_fill_in_masks(text, tmp_path):
    sentences = ["the cat sat on the mat", "a dog came by"]
    for folder, why in (
        (save_tiny_gpt2(tmp_path / "gpt2", sentences), "transformers has no masked-LM head for its family"),
        (save_tiny_t5(tmp_path / "t5", sentences), "transformers has no masked-LM head for its family"),
        (bart(tmp_path / "bart"), "it has an encoder and a decoder"),
        (without_mask(tmp_path / "blind"), "its tokenizer has no mask token"),
    ):
        with pytest.raises(ModelError) as refused:
            train(folder, text=text, out=tmp_path / "out", steps=1)
        name = str(folder) if "family" in why else folder.name
        assert str(refused.value) == (
            f"{name} cannot be trained with masks: {why}; expected an encoder such as BERT or RoBERTa"
        )
    with pytest.raises(ModelError) as refused:
        train(text=text, size="1x1x8", tokenizer=str(tmp_path / "blind"), out=tmp_path / "out")
    assert str(refused.value) == (
        "the tokenizer has no mask token; expected one such as BERT's, or leave --tokenizer out to train one"
    )


def bart(folder):
    config = CONFIGS["bart"]()
    config.vocab_size = 30522
    tf.BartForConditionalGeneration(config).save_pretrained(folder)
    save_tiny_bert(folder.parent / "bert")
    tf.AutoTokenizer.from_pretrained(folder.parent / "bert").save_pretrained(folder)
    return folder


def without_mask(folder):
    save_tiny_bert(folder)
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mask_token": None}))
    return folder


def test_half_a_checkpoint_is_refused(small, text, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "half"
    tf.BertForMaskedLM.from_pretrained(small.path).save_pretrained(folder)
    tf.AutoTokenizer.from_pretrained(small.path).save_pretrained(folder)
    weights = load_file(folder / "model.safetensors")
    del weights["bert.encoder.layer.0.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError) as refused:
        train(folder, text=text, out=tmp_path / "out", steps=1)
    assert str(refused.value) == (
        "half: the checkpoint lacks 1 of the model's weights (bert.encoder.layer.0.output.dense.weight, ...), which "
        "would be random; expected a whole checkpoint of this architecture"
    )


def test_lengths_that_do_not_fit(small, text, tmp_path):
    with pytest.raises(OptionError) as refused:
        train(small.path, text=text, out=tmp_path / "out", max_length=129)
    assert str(refused.value) == "--max-length 129 is more than model can read; expected at most 128 tokens"
    with pytest.raises(OptionError) as refused:
        train(small.path, text=text, out=tmp_path / "out", max_length=4)
    assert str(refused.value) == ("--max-length 4 leaves no room beside the special tokens; expected at least 5 tokens")


def test_a_loss_that_is_no_number_stops_the_training(text, tmp_path):
    with pytest.raises(OptionError) as refused:
        train(text=text, out=tmp_path / "m", **{**HOW, "learning_rate": 1e30}, **STEPS)
    assert re.fullmatch(
        r"the loss is not a number after \d+ steps; give a lower --learning-rate \(it is 1e\+30\) and another "
        r"--out",
        str(refused.value),
    )


OPTIONS = [
    ({}, "nothing to train on was given; expected --text with a text file, or --treebank"),
    ({"text": "-", "treebank": "-"}, "- is given twice, but standard input can be read only once; give it once"),
    (
        {"model": "m", "size": "1x1x8"},
        "both --model and --size were given; expected a model to go on with, or the size of a new one",
    ),
    ({"size": "1x8"}, "--size '1x8' is not known; expected LAYERSxHEADSxWIDTH, as 4x4x128"),
    ({"size": "0x1x8"}, "--size '0x1x8' is not known; expected LAYERSxHEADSxWIDTH, as 4x4x128"),
    ({"size": "2x3x64"}, "--size 2x3x64: 3 heads cannot share a width of 64; expected a multiple of 3, as 63"),
    ({"vocabulary": 9}, "--vocabulary goes with --size; a model that is gone on with keeps its own tokenizer"),
    ({"tokenizer": "t"}, "--tokenizer goes with --size; a model that is gone on with keeps its own tokenizer"),
    ({"cased": True}, "--cased goes with --size; a model that is gone on with keeps its own tokenizer"),
    (
        {"size": "1x1x8", "tokenizer": "t", "cased": True},
        "--tokenizer was given with --vocabulary or --cased, which are for a tokenizer that is trained; leave one out",
    ),
    ({"steps": 5, "minutes": 1.0}, "both --steps and --minutes were given; expected one of them"),
    ({"packing": "loose"}, "--packing 'loose' is not known; choose one of pretraining, paragraphs, joined, single"),
    ({"dtype": "float16"}, "--dtype 'float16' is not known; choose one of auto, float32, bfloat16"),
    ({"steps": 0}, "--steps is 0; expected a whole number from 1"),
    ({"every": -1}, "--every is -1; expected a whole number from 1"),
    ({"batch_size": 0}, "--batch-size is 0; expected a whole number from 1"),
    ({"minutes": 0.0}, "--minutes is 0.0; expected a number above 0"),
    ({"learning_rate": float("nan")}, "--learning-rate is nan; expected a number above 0"),
    ({"warm_up": 1.0}, "--warm-up is 1.0; expected a share from 0 up to, but not, 1"),
    ({"held_out": -0.1}, "--held-out is -0.1; expected a share from 0 up to, but not, 1"),
    ({"seed": -1}, "--seed is -1; expected a whole number from 0"),
]


@pytest.mark.parametrize(("options", "sentence"), OPTIONS, ids=[sentence[:40] for _, sentence in OPTIONS])
def test_options_that_are_refused(options, sentence, tmp_path):
    given = {} if not options or "text" in options else {"text": "my.txt"}
    with pytest.raises(OptionError) as refused:
        train(out=tmp_path / "m", **given, **options)
    assert str(refused.value) == sentence
    assert not (tmp_path / "m").exists()
