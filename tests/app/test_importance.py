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
    means = table[table["head"].isna()].set_index(["layer", "measure", "key_class"])["value"]
    for measure, title in (("gradient", "gradient of the loss by the weight"), ("weight_times_gradient", "weight ×")):
        (start,) = [at for at, line in enumerate(lines) if line.startswith(f"Table: {title}")]
        rows = [line.split() for line in lines[start + 1 :] if line[:1].isdigit()][:2]
        for layer, row in enumerate(rows, 1):
            shown = [float(value) for value in row[1:13:3]]
            expected = [1000 * means[layer, measure, name] for name in ("cls", "sep", "period_comma", "other")]
            assert int(row[0]) == layer
            assert shown == pytest.approx(expected, rel=5e-3)
    gate = table[table["head"].isna() & (table["measure"] == "gate")].set_index("layer")["value"]
    assert float(row[13]) == pytest.approx(1000 * gate[2], rel=5e-3)
    facts = json.loads((out / "manifest.json").read_text())["importance"]
    assert f"- The loss is that of masked language modeling: {facts['loss_mean']:.2f} nats a token on average" in said
    assert lines[-1] == f"tables: {out / 'tables'}"


def test_a_decoder_has_the_next_token_and_no_separator(cli, folder):
    code, said, _ = cli("importance", *common(folder, "gpt2"), "--max-inputs", 4)
    assert code == 0
    assert "The first token: mean" not in said.replace("\n", " ")
    assert "separator" not in said
    assert "The loss is that of predicting the next token" in said
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
