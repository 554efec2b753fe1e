"""A model compared with itself, with its heads in another order, and with a changed copy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from headscope.analyses.compare.pairs import CHANGED, SAME
from headscope.declarations.run_options import RunOptions
from headscope.errors import OptionError
from headscope.models.loading.load_model import load_model
from headscope.prepare.prepared_run import prepare
from headscope.running.stages import measure

LAYERS, HEADS, WIDTH = 6, 12, 384


def changed_model(folder, change):
    """Save the embedded model after a change, and return the folder."""
    loaded = load_model(None)
    with torch.no_grad():
        for number, layer in enumerate(loaded.model.encoder.layer):
            change(number, layer.attention)
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    words = [
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat",
        "and",
        "it",
        "slept",
        "while",
        "rain",
        "fell",
        "over",
        "old",
        "stone",
        "walls",
        "near",
        "town",
    ]
    draw = np.random.default_rng(0)
    path.write_text("\n\n".join(" ".join(draw.choice(words, 14)) + ".\n" + " ".join(draw.choice(words, 9)) + "."
                                for _ in range(24)))  # fmt: skip
    return str(path)


def tables(text, other, **more):
    options = RunOptions(text=(text,), other=other, stages=("compare",), controls=0, **more)
    (result,) = measure(prepare(options))
    return result.tables


def permuted(orders):
    def change(number, attention):
        order = orders[number]
        for linear in (attention.self.query, attention.self.key, attention.self.value):
            linear.weight.copy_(linear.weight.view(HEADS, -1, WIDTH)[order].reshape(WIDTH, WIDTH))
            linear.bias.copy_(linear.bias.view(HEADS, -1)[order].reshape(-1))
        output = attention.output.dense.weight
        output.copy_(output.view(WIDTH, HEADS, -1)[:, order].reshape(WIDTH, WIDTH))

    return change


@pytest.mark.slow
def test_a_model_does_not_differ_from_itself(text):
    changes = tables(text, "headscope-minilm")["head_changes"]
    assert (changes["change"] == 0).all()
    assert set(changes["verdict"]) == {SAME}
    differences = tables(text, "headscope-minilm")["measure_changes"]
    assert (differences["difference"].dropna() == 0).all()


@pytest.mark.slow
def test_heads_in_another_order_are_matched(text, tmp_path):
    draw = np.random.default_rng(1)
    orders = [torch.from_numpy(draw.permutation(HEADS)) for _ in range(LAYERS)]
    folder = changed_model(tmp_path / "permuted", permuted(orders))
    changes = tables(text, folder, pairs="matched")["head_changes"]
    partners = [(row.layer, int(orders[row.layer - 1][row.other_head - 1]) + 1) for row in changes.itertuples()]
    assert partners == list(zip(changes["layer"], changes["head"]))
    assert (changes["layer"] == changes["other_layer"]).all()
    assert set(changes["verdict"]) == {SAME}
    in_order = tables(text, folder)["head_changes"]
    moved = [bool(orders[row.layer - 1][row.head - 1] != row.head - 1) for row in in_order.itertuples()]
    assert ((in_order["verdict"] == CHANGED) <= moved).all()
    assert (in_order["verdict"] == CHANGED).mean() > 0.5


@pytest.mark.slow
def test_the_change_is_that_of_both_models_eager_attention(text, tmp_path):
    """One layer's queries are scaled; a plain loop over `output_attentions` gives the same mean over rows."""

    def sharpen(number, attention):
        if number == 2:
            attention.self.query.weight.mul_(1.5)
            attention.self.query.bias.mul_(1.5)

    folder = changed_model(tmp_path / "sharper", sharpen)
    run = prepare(RunOptions(text=(text,), other=folder, stages=("compare",), controls=0))
    (result,) = measure(run)
    changes = result.tables["head_changes"].set_index(["layer", "head"])["change"]
    sums, rows = np.zeros((LAYERS, HEADS)), 0
    models = [load_model(name) for name in (None, folder)]
    for each in models:
        each.model.set_attn_implementation("eager")
    for segment in run.segments():
        inputs = {
            "input_ids": torch.from_numpy(segment.ids)[None],
            "token_type_ids": torch.from_numpy(segment.token_types)[None],
        }
        with torch.inference_mode():
            first, second = (torch.stack(m.model(**inputs, output_attentions=True).attentions)[:, 0] for m in models)
        keys = first.shape[-1]
        p, q = ((0.999 * each.double() + 0.001 / keys).numpy() for each in (first, second))
        sums += (jensenshannon(p, q, axis=-1) ** 2).sum(-1)
        rows += keys
    expected = sums / rows
    assert expected[2].min() > 1e-5 > expected[:2].max()
    for layer in range(LAYERS):
        np.testing.assert_allclose(changes.loc[layer + 1].to_numpy(), expected[layer], atol=1e-6)


def test_a_second_model_is_needed(text):
    with pytest.raises(OptionError, match="a comparison needs a second model; name it with --other"):
        list(measure(prepare(RunOptions(text=(text,), stages=("compare",), controls=0))))


def test_batches_change_no_number(text, tmp_path):
    options = RunOptions(text=(text,), other="headscope-minilm", pairs="matched", stages=("compare",), controls=0)
    results = [next(iter(measure(prepare(replace(options, batch_size=size))))) for size in (1, 7)]
    one, other = (result.tables["head_changes"] for result in results)
    np.testing.assert_allclose(one["change"], other["change"], atol=1e-7)
    assert one["other_head"].equals(other["other_head"])
