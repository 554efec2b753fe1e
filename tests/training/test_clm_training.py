"""Whole trainings of decoders: the loss falls, a kill changes nothing, and invalid options are refused."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.errors import ModelError, OptionError
from headscope_train.prepared_training import prepare
from headscope_train.size import Size
from headscope_train.training_options import TrainOptions
from headscope_train.training_run import train
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5

HOW = {
    "objective": "clm",
    "size": "2x2x16",
    "groups": 1,
    "vocabulary": 300,
    "max_length": 48,
    "batch_size": 8,
    "learning_rate": 5e-3,
    "repeated": 0.3,
    "guided": 0.8,
    "dropout": 0.1,
    "seed": 3,
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


def test_the_loss_falls(text, tmp_path):
    how = {**HOW, "dropout": 0.0, "learning_rate": 2e-2, "repeated": 0.0, "guided": 0.0}
    run = train(text=text, out=tmp_path / "m", **how, steps=80, every=40)
    held = run.log.query("split == 'held-out'")
    loss = held[held["measure"] == "loss"].set_index("step")["value"]
    # The first loss is the logarithm of the vocabulary size, plus half of the variance of random scores.
    assert loss[0] == pytest.approx(np.log(300) + 0.5, abs=0.2)
    assert loss[80] < loss[0] - 1
    accuracy = held[held["measure"] == "accuracy"].set_index("step")["value"]
    assert accuracy[80] > accuracy[0] + 0.05
    taught = run.log.query("split == 'train' and measure == 'loss'")["value"].to_numpy()
    assert taught[-3:].mean() < taught[:3].mean() - 0.5


def test_the_held_out_numbers_by_transformers_own_loss(small, text):
    """Compare the last row of the log with transformers' own loss, one input at a time, without repeated passages."""
    model = tf.LlamaForCausalLM.from_pretrained(small.path).eval()
    given = {key: value for key, value in HOW.items() if key != "size"}
    prepared = prepare(TrainOptions(text=(str(text),), size=Size(2, 2, 16), **given, **STEPS))
    total = hits = number = 0
    for place in prepared.held_out:
        ids = torch.from_numpy(prepared.inputs.of(int(place))[0].astype(np.int64))[None]
        with torch.no_grad():
            out = model(input_ids=ids, labels=ids)
        total += float(out.loss) * (ids.shape[1] - 1)
        hits += int((out.logits[0, :-1].argmax(-1) == ids[0, 1:]).sum())
        number += ids.shape[1] - 1
    last = small.log.query("split == 'held-out' and step == 24").set_index("measure")
    assert (last["n_targets"] == number).all()
    assert last["value"]["loss"] == pytest.approx(total / number, rel=1e-5)
    assert last["value"]["accuracy"] == pytest.approx(hits / number)


KILLED = """
import json, os, signal, sys
import torch
torch.set_num_threads(1)
from headscope_train.training_run import train

def watch(progress):
    if progress.step == 17:
        os.kill(os.getpid(), signal.SIGKILL)

train(text=sys.argv[1], out=sys.argv[2], watch=watch, **json.loads(sys.argv[3]))
"""


@pytest.mark.slow
def test_killed_and_gone_on_is_the_same_as_never_stopped(small, text, tmp_path):
    out = tmp_path / "model"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(text), str(out), json.dumps({**HOW, **STEPS})],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert (out / "resume.safetensors").is_file()
    seen = []
    run = train(text=text, out=out, watch=lambda p: seen.append(p.step), **HOW, **STEPS)
    assert seen[0] == 11  # not from the start
    assert same_weights(run.path, small.path)
    pd.testing.assert_frame_equal(run.log.drop(columns="seconds"), small.log.drop(columns="seconds"))


def test_what_shapes_the_weights(small, text, tmp_path):
    again = train(text=text, out=tmp_path / "again", **HOW, **STEPS)
    assert same_weights(again.path, small.path)
    for name, value in (("repeated", 0.0), ("guided", 0.0), ("groups", 2), ("dropout", 0.0)):
        other = train(text=text, out=tmp_path / name, **{**HOW, name: value}, steps=2)
        assert other.facts["signature"] != small.facts["signature"]
        assert other.facts["options"][name] == value


def test_it_is_a_model_that_reports_take(small):
    loaded = hs.load_model(small.path)
    config = loaded.model.config
    assert (config.model_type, config.num_attention_heads, config.num_key_value_heads) == ("llama", 2, 1)
    card = (small.path / "README.md").read_text()
    assert card.startswith("# model\n\nA `LlamaForCausalLM`: 2 layers x 2 heads, 16 wide, ")
    assert "(a byte-level BPE tokenizer trained on the same text)" in card
    assert "Every token is predicted from the tokens before it in its input" in card
    assert "In 30% of the inputs, drawn anew in each epoch, something is repeated: a passage of 1/8 to 1/2" in card
    assert "masked" not in card.lower()


def test_a_decoder_is_gone_on_with(small, text, tmp_path):
    more = train(small.path, objective="clm", text=text, out=tmp_path / "more", max_length=48, steps=2, seed=3)
    first = more.log.query("split == 'held-out' and step == 0 and measure == 'loss'")["value"].item()
    last = small.log.query("split == 'held-out' and step == 24 and measure == 'loss'")["value"].item()
    assert first == pytest.approx(last, rel=1e-5)
    card = (more.path / "README.md").read_text()
    assert "Its language-model head was trained on as well." in card
    gpt2 = save_tiny_gpt2(tmp_path / "gpt2", ["the cat sat on the mat", "a dog came by"])
    other = train(gpt2, objective="clm", text=text, out=tmp_path / "other", max_length=16, max_inputs=40, steps=1)
    assert other.facts["model"]["family"] == "gpt2"


def test_models_that_foretell_nothing(text, tmp_path):
    for folder, why in (
        (save_tiny_bert(tmp_path / "bert"), "it sees what follows"),
        (save_tiny_t5(tmp_path / "t5", ["the cat"]), "transformers has no causal head for its family"),
    ):
        with pytest.raises(ModelError) as refused:
            train(folder, objective="clm", text=text, out=tmp_path / "out", steps=1)
        name = str(folder) if "family" in why else folder.name
        assert str(refused.value) == (
            f"{name} cannot be trained to foretell the next token: {why}; expected a decoder such as GPT-2 or Llama"
        )


OPTIONS = [
    (
        {},
        "--objective clm needs a decoder, and the embedded model is an encoder; give --size for a new one, or --model",
    ),
    ({"size": "1x1x8", "cased": True}, "--cased goes with --objective mlm; byte-level pieces always keep case"),
    (
        {"size": "1x1x8", "packing": "single"},
        "--packing goes with --objective mlm; with clm the lines of a document follow one another",
    ),
    ({"objective": "mlm", "repeated": 0.1}, "--repeated goes with --objective clm"),
    ({"objective": "mlm", "size": "1x2x8", "groups": 1}, "--groups goes with --objective clm"),
    ({"model": "m", "groups": 2}, "--groups goes with --size; a model that is gone on with keeps its own heads"),
    (
        {"size": "1x4x8", "groups": 3},
        "--groups 3: 4 heads cannot be divided among this number; expected a divisor of 4",
    ),
    ({"size": "1x4x8", "repeated": 1.0}, "--repeated is 1.0; expected a share from 0 up to, but not, 1"),
    ({"size": "1x4x8", "groups": 0}, "--groups is 0; expected a whole number from 1"),
    ({"objective": "next"}, "--objective 'next' is not known; choose one of mlm, clm"),
]


@pytest.mark.parametrize(("options", "sentence"), OPTIONS, ids=[sentence[:40] for _, sentence in OPTIONS])
def test_options_that_are_refused(options, sentence, tmp_path):
    with pytest.raises(OptionError) as refused:
        train(text="my.txt", out=tmp_path / "m", **{"objective": "clm", **options})
    assert str(refused.value) == sentence
    assert not (tmp_path / "m").exists()
