"""`headscope train`: from text to checkpoints and a card, and its refusals."""

import json

import pytest
import torch

from headscope_train.command import TrainingPrinter, describe
from headscope_train.session import TrainingProgress

STORY = "The cat sat on the mat.\nIt slept, and dreamt of fish.\nA dog came by.\nIt left again.\n\n"
SMALL = ("--size", "1x2x16", "--vocabulary", 60, "--max-length", 32, "--batch-size", 4)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text(STORY * 60)
    return path


def test_a_training_says_what_it_made(cli, text, tmp_path):
    out = tmp_path / "model"
    code, said, err = cli("train", "--text", text, *SMALL, "--steps", 6, "--every", 4, "--out", out)
    assert code == 0
    lines = said.splitlines()
    assert lines[0] == f"new BERT 1x2x16, 6 steps on my.txt: 3 checkpoints in {out}"
    import pandas as pd

    log = pd.read_parquet(out / "training.parquet")
    last = log.query("split == 'held-out' and step == 6").set_index("measure")
    loss, accuracy = last.loc["loss"], last.loc["accuracy"]
    assert lines[1] == (
        f"held out: loss {loss['value']:.3f} nats ({loss['ci_low']:.3f} to {loss['ci_high']:.3f}), masked accuracy "
        f"{100 * accuracy['value']:.1f}% ({100 * accuracy['ci_low']:.1f} to {100 * accuracy['ci_high']:.1f}), "
        f"n = {int(loss['n_targets'])} tokens"
    )
    assert lines[2:] == [f"card: {out / 'README.md'}"]
    told = [line for line in err.splitlines() if "held out" in line]
    assert [line.split(",")[0] for line in told] == [f"headscope: step {n} of 6" for n in (0, 4, 6)]
    assert "Traceback" not in err
    # A second call is the same training: it computes nothing and prints the same.
    assert cli("train", "--text", text, *SMALL, "--steps", 6, "--every", 4, "--out", out) == (0, said, "")


@pytest.mark.slow
def test_a_report_takes_a_checkpoint_and_the_model(cli, text, tmp_path):
    out = tmp_path / "model"
    cli("train", "--text", text, *SMALL, "--steps", 2, "--every", 1, "--out", out, "--quiet")
    heads = []
    for model in (out / "checkpoint-000000", out / "checkpoint-000002", out):
        table = tmp_path / f"{model.name}.json"
        code, _, _ = cli("stats", "--model", model, "--text", text, "--max-length", 32, "--out", table, "--quiet")
        assert code == 0
        heads.append([row["value"] for row in json.loads(table.read_text())])
    assert heads[0] != heads[1]
    assert heads[1] == heads[2]


def test_quiet_and_notes(cli, text, tmp_path):
    text.write_text(STORY * 12)
    given = ("--text", text, *SMALL, "--steps", 1, "--out", tmp_path / "m", "--quiet")
    code, said, err = cli("train", *given)
    assert (code, err) == (0, "")
    assert "note: held out: intervals need at least 10 documents; here are 2" in said.splitlines()
    assert " to " not in said.splitlines()[1]


def test_what_is_refused(cli, text, tmp_path):
    out = ("--out", tmp_path / "out")
    for given, sentence in (
        ((), "nothing to train on was given; expected --text with a text file, or --treebank"),
        (("--text", text, "--size", "big"), "--size 'big' is not known; expected LAYERSxHEADSxWIDTH, as 4x4x128"),
        (
            ("--text", text, "--packing", "paragraph"),
            "--packing 'paragraph' is not known; choose one of pretraining, paragraphs, joined, single; did you mean "
            "paragraphs?",
        ),
        (
            ("--text", text, "--dtype", "float16"),
            "--dtype 'float16' is not known; choose one of auto, float32, bfloat16; did you mean bfloat16?",
        ),
        (("--text", text, "--steps", 1, "--minutes", 1), "both --steps and --minutes were given; expected one of them"),
        (
            ("--text", text, "--size", "1x1x8", "--vocabulary", 7),
            "--vocabulary 7 is too small: the corpus has 20 characters; expected at least 34 pieces",
        ),
        (("--treebank", text), None),
    ):
        code, said, err = cli("train", *given, *out)
        assert (code, said) == (2, "")
        if sentence is not None:
            assert err == f"headscope: {sentence}\n"
        assert not (tmp_path / "out").exists()


def test_lines_between_checkpoints_are_few(capsys):
    show = TrainingPrinter()
    states = [TrainingProgress(step, 100, 5.0, None, None, 1.0, 99.0) for step in range(1, 4)]
    for state in [*states, TrainingProgress(4, 100, 5.0, 5.5, 0.25, 1.0, 99.0)]:
        show(state)
    assert capsys.readouterr().err.splitlines() == [
        "headscope: step 1 of 100, loss 5.000 nats, 2 min left",
        "headscope: step 4 of 100, loss 5.000 nats, held out 5.500 nats, 25.0% right, 2 min left",
    ]
    assert describe(TrainingProgress(0, 9, None, None, None, 0.0, None)) == "step 0 of 9"


def test_standard_input(cli, tmp_path, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((STORY * 12).encode())))
    torch.set_num_threads(1)
    code, said, _ = cli("train", "--text", "-", *SMALL, "--steps", 1, "--out", tmp_path / "m", "--quiet")
    assert code == 0
    assert said.startswith("new BERT 1x2x16, 1 step on standard input: 2 checkpoints in ")
