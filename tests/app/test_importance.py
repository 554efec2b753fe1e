"""`headscope importance`: the layers' means on the terminal, the whole table on disk, and wrong options."""

import json

import pandas as pd
import pytest

from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_masked_lm

LINES = ["The old bridge was closed, and nobody crossed it.", "It opened again on a Tuesday.", "A dog slept."]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("importance-command")
    (made / "text.txt").write_text("\n\n".join(f"{LINES[n % 3]}\n{LINES[(n + 1) % 3]}" for n in range(12)) + "\n")
    save_tiny_masked_lm(made / "bert")
    save_tiny_bert(made / "bare")
    save_tiny_gpt2(made / "gpt2", LINES)
    return made


def common(folder, model="bert"):
    return ("--model", folder / model, "--text", folder / "text.txt", "--packing", "single", "-q")


def test_the_terminal_shows_the_layers_means_and_the_folder_all(cli, folder, tmp_path):
    out = tmp_path / "out"
    code, said, err = cli("importance", *common(folder), "--out", out)
    assert (code, err) == (0, "")
    table = pd.read_parquet(out / "tables" / "importance.parquet")
    assert list(table.columns) == [
        *("kind", "layer", "head", "measure", "key_class", "value", "ci_low", "ci_high", "n_inputs")
    ]
    assert len(table) == 2 * 3 * (2 * 4 + 1)
    lines = said.splitlines()
    assert lines[0].split() == ["layer", "gradient:", "cls", "sep", ".", ",", "other", "w", "x", *lines[0].split()[9:]]
    assert lines[0].split()[-1] == "gate"
    table["key_class"] = table["key_class"].fillna("all")
    means = table[table["head"].isna()].set_index(["layer", "measure", "key_class"])["value"]
    for layer in (1, 2):
        shown = [float(cell) for cell in lines[layer].split()]
        expected = [
            1000 * means[layer, measure, name]
            for measure in ("gradient", "weight_times_gradient")
            for name in ("cls", "sep", "period_comma", "other")
        ]
        assert shown[0] == layer
        assert shown[1:] == pytest.approx([*expected, 1000 * means[layer, "gate", "all"]], rel=5e-3)
    facts = json.loads((out / "manifest.json").read_text())["importance"]
    assert f"loss mlm: {facts['loss_mean']:.2f} nats a token on average over 24 segments" in said
    assert lines[-1] == f"tables: {out / 'tables'}"


def test_a_decoder_has_the_next_token_and_no_separator(cli, folder):
    code, said, _ = cli("importance", *common(folder, "gpt2"), "--max-inputs", 4)
    assert code == 0
    row = said.splitlines()[1].split()
    assert [place for place, cell in enumerate(row) if cell == "-"] == [2, 6]
    assert "loss clm: " in said
    assert "note: importance: intervals need at least 10 documents; this run has 4" in said


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--loss", "clm"), "loss clm is for decoders, and bert is an encoder; choose loss mlm"),
        (("--loss", "none"), "--loss 'none' is not known; choose one of mlm, clm, denoise"),
    ],
)
def test_a_wrong_loss_is_refused(cli, folder, options, text):
    code, said, err = cli("importance", *common(folder), *options)
    assert (code, said, err) == (2, "", f"headscope: {text}\n")


def test_a_checkpoint_without_its_head_is_refused_in_plain_words(cli, folder):
    code, said, err = cli("importance", *common(folder, "bare"))
    assert (code, said) == (2, "")
    assert err == (
        "headscope: bare has no trained masked-LM head: its checkpoint lacks cls.predictions.bias and 5 more weights, "
        "which would be random; loss mlm needs a checkpoint saved with its head (AutoModelForMaskedLM), or use --loss "
        "none\n"
    )
