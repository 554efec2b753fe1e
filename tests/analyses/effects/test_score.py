"""A score of a user's: its change with each head against a loop over transformers' own code, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.attention.head_id import HeadId
from headscope.attention.model.examination import examine
from headscope.encoding.encoder import Encoder
from headscope.errors import OptionError
from support import mock_inputs
from support.by_hook import hooked
from support.effect_pages import sections
from support.measured import only, with_parts
from support.mock_effects import with_effects
from support.model_folders import save_tiny_llama
from support.page_tables import Tables
from support.task_models import save_with_head

TEXTS = [f"Day {number}. {text}" for number, text in enumerate(["It slept.", "A dog came by and left."] * 7)]
FIRST, SECOND = 5, 9


def logit_difference(outputs, inputs):
    """At the last token of each input, by two tokens' logits: the inputs are filled up on the right."""
    last = torch.tensor([len(each.ids) - 1 for each in inputs])
    logits = outputs.logits[torch.arange(len(inputs)), last]
    return logits[:, FIRST] - logits[:, SECOND]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("score")
    return str(save_with_head(folder / "llama", save_tiny_llama(folder / "bare", TEXTS), tf.AutoModelForCausalLM))


def study_of(model, score, **more):
    how = {"packing": "single", "intervention": "zero", "device": "cpu", "batch_size": 4, "joint_inputs": 0} | more
    return hs.effects(model, text=TEXTS, score=score, **how)


def by_hand(folder, changes):
    """The score of each text by transformers' own code, one at a time."""
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    model = tf.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with hooked(model, examine(model, Encoder(tokenizer).vocabulary), changes), torch.no_grad():
        last = [model(**tokenizer(text, return_tensors="pt")).logits[0, -1].double() for text in TEXTS]
    return np.array([float(each[FIRST] - each[SECOND]) for each in last])


def test_its_change_is_that_of_a_loop_with_hooks(model):
    study = study_of(model, logit_difference)
    table = study.table("effects")
    rows = table[table["measure"] == "logit_difference"]
    before = by_hand(model, {})
    for row in rows.to_dict("records"):
        head = HeadId(row["kind"], row["layer"], row["head"])
        change = by_hand(model, {head: torch.zeros_like}) - before
        assert row["value"] == pytest.approx(change.mean(), abs=1e-6)
        error = change.std(ddof=1) / np.sqrt(len(TEXTS))
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert row["ci_high"] - row["ci_low"] == pytest.approx(2 * 2.16 * error, rel=0.15)
    assert rows["value"].abs().max() > 1e-3
    assert rows["q_value"].notna().all()
    named = study.heads["effects.logit_difference"]
    assert sorted(named.to_numpy()) == sorted(rows["value"].to_numpy())
    manifest = json.loads((study.path / "manifest.json").read_text())
    assert manifest["effects"]["score"] == "logit_difference"


def test_other_measures_are_as_without_it(model):
    """Logits are computed everywhere for it, and only where they are asked for without it."""
    scored, plain = study_of(model, logit_difference).table("effects"), study_of(model, None).table("effects")
    others = scored[scored["measure"] != "logit_difference"].reset_index(drop=True)
    assert others.drop(columns=["value", "ci_low", "ci_high", "q_value"]).equals(
        plain.drop(columns=["value", "ci_low", "ci_high", "q_value"])
    )
    np.testing.assert_allclose(others["value"], plain["value"], atol=1e-6)


def test_another_score_is_another_run(model, tmp_path):
    def longest(outputs, inputs):
        return [float(len(each.ids)) for each in inputs]

    study = study_of(model, longest, out=tmp_path / "run")
    rows = study.table("effects").query("measure == 'longest'")
    assert (rows["value"] == 0).all()
    again = study_of(model, logit_difference, out=tmp_path / "run")
    assert "logit_difference" in set(again.table("effects")["measure"])


def refusal(model, score):
    with pytest.raises(OptionError) as refused:
        study_of(model, score)
    return str(refused.value)


def test_what_is_no_score_is_refused(model):
    assert refusal(model, 3) == (
        "score is a int; expected a function of the model's output and its inputs that returns a number for each input"
    )
    assert refusal(model, lambda outputs, inputs: outputs.logits[:, 0, 0]) == (
        "score is named '<lambda>'; expected small letters, digits and _, as def logit_difference(outputs, inputs)"
    )

    def loss(outputs, inputs):
        return outputs.logits[:, 0, 0]

    assert refusal(model, loss) == ("score is named 'loss', as a measure of effects is; give the function another name")


def test_what_returns_no_numbers_is_refused(model):
    expected = "expected a finite number for each of the 4 inputs of a batch, [4]"

    def words(outputs, inputs):
        return "four"

    def whole(outputs, inputs):
        return outputs.logits[0]

    def missing(outputs, inputs):
        return outputs.logits[:, 0, 0] * float("nan")

    assert refusal(model, words) == f"score returned a str; {expected}"
    assert refusal(model, whole).startswith("score returned numbers of shape [")
    said = refusal(model, missing)
    assert said.startswith("score is NaN or infinite on an input of document ")
    assert said.endswith(expected)


def test_the_page_has_it_beside_the_loss():
    inputs = with_effects(mock_inputs.encoder(2, 4))
    table = inputs.tables.get("effects")
    scored = table[table["measure"] == "loss"].assign(measure="my_score", value=0.5, ci_low=0.4, ci_high=0.6)
    inputs = with_parts(inputs, effects=pd.concat([table, scored], ignore_index=True))
    rows = Tables(only(sections(inputs, "effects"))).found["table-effects-encoder"]
    assert rows[0][-1] == "change of my_score"
    assert all(row[-3:-1] == ["0.500", "0.400 to 0.600"] for row in rows[2:])
