"""A model compared with itself, with its heads in another order, and with a changed copy."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

import headscope as hs
from headscope.analyses.compare.pairs import CHANGED, SAME
from headscope.errors import HeadscopeError, OptionError
from headscope.models.in_memory import with_random_weights
from headscope.models.load_model import LoadedModel, load_model
from headscope.running.stages import measure
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.random_lines import save_random_lines

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
    words = "the cat sat on a mat and it slept while rain fell over old stone walls near town"
    return save_random_lines(tmp_path_factory.mktemp("text") / "text.txt", words.split())


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


@pytest.mark.slow
def test_only_rounded_heads_change(text, tmp_path):
    rounded_heads = {0: 2, 2: 4, 5: 7}

    def rounded(number, attention):
        if (head := rounded_heads.get(number)) is not None:
            for linear in (attention.self.query, attention.self.key):
                rows = linear.weight[32 * head : 32 * head + 32]
                step = rows.abs().max() / 7
                rows.copy_((rows / step).round().clamp(-8, 7) * step)

    changes = tables(text, changed_model(tmp_path / "rounded", rounded), margin=0.0005)["head_changes"]
    places = {(number + 1, head + 1) for number, head in rounded_heads.items()}
    others = [row.verdict for row in changes.itertuples() if (row.layer, row.head) not in places]
    assert set(others) == {SAME}
    assert not (changes["verdict"] == SAME).all()


@pytest.mark.slow
def test_other_tokenizers_are_compared_by_words_and_random_weights_have_no_match(text):
    decoder = load_model("headscope-decoder")
    random = LoadedModel(model=with_random_weights(decoder.model), tokenizer=decoder.tokenizer, name="random")
    matched = {}
    for name, other in (("trained", decoder), ("random", random)):
        study = hs.compare("headscope-minilm", other, text=text, controls=1)
        changes = matched[name] = study.table("head_changes")
        assert len(changes) == 32
        assert changes[["other_layer", "other_head"]].drop_duplicates().shape[0] == 32
        assert set(changes["other_kind"]) == {"decoder"}
        assert any("different tokens" in note for note in study.manifest["notes"])
    assert not matched["random"]["match"].any()
    first = matched["trained"].set_index(["layer", "head"]).loc[(1, 3)]
    assert (first["other_layer"], first["other_head"], first["match"]) == (1, 1, True)


@pytest.mark.slow
def test_an_adapter_is_the_model_that_peft_merges_it_into(text, tmp_path):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    loaded = load_model(None)
    how = peft.LoraConfig(r=2, lora_alpha=8, target_modules=["query", "value"], init_lora_weights=False)
    adapted = peft.get_peft_model(loaded.model, how)
    adapted.save_pretrained(tmp_path / "adapter")
    merged = LoadedModel(model=adapted.merge_and_unload(), tokenizer=loaded.tokenizer, name="merged")
    by_name = hs.compare(None, tmp_path / "adapter", text=text, controls=0).table("head_changes")
    in_memory = hs.compare(None, merged, text=text, controls=0).table("head_changes")
    np.testing.assert_allclose(by_name["change"], in_memory["change"], atol=1e-9)
    assert by_name["change"].max() > 0.01


def test_models_that_cannot_be_compared_are_refused(text, tmp_path):
    loaded = load_model(None)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "manifest.json").write_text("{}")
    write_adapter(tmp_path / "prefix", peft_type="PREFIX_TUNING")
    write_adapter(tmp_path / "empty", peft_type="LORA")
    cases = [
        ((loaded,), {}, "compare expects two models, as in hs.compare(a, b, text=...); came 1"),
        ((None, None, None), {"pairs": "matched"}, "compare of 3 models takes pairs='same' only; leave it out"),
        (
            (loaded, loaded),
            {},
            "both models are the same object; peft changes a model in place: load it once more for the second, or give "
            "the folder of the adapter",
        ),
        (
            (None, tmp_path / "run"),
            {},
            f"{tmp_path / 'run'} has no config.json; expected a model folder as save_pretrained writes it; it holds a "
            "finished run, which has no weights: give the model that the run read",
        ),
        (
            (None, tmp_path / "prefix"),
            {},
            f"{tmp_path / 'prefix'} is an adapter of type PREFIX_TUNING; expected LORA: merge it into its model with "
            "peft's merge_and_unload, save the whole model, and give its folder",
        ),
        (
            (None, tmp_path / "empty"),
            {},
            f"{tmp_path / 'empty'} has no adapter_model.safetensors; save the adapter with save_pretrained, as "
            "safetensors",
        ),
        (
            (None, "headscope-decoder"),
            {"packing": "joined"},
            "--packing joined cuts the text by tokens, and the two models have different tokens; leave it out, or give "
            "--packing single",
        ),
        (
            (None, "headscope-decoder"),
            {"pairs": "same"},
            "--pairs same compares heads of one number, and the models differ in their numbers of layers or heads; "
            "leave it out, or give --pairs matched",
        ),
    ]
    for models, options, message in cases:
        with pytest.raises(HeadscopeError) as refused:
            hs.compare(*models, text=text, controls=0, **options)
        assert str(refused.value) == message


def write_adapter(folder, **config):
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps(config))


def test_batches_change_no_number(text, tmp_path):
    options = RunOptions(text=(text,), other="headscope-minilm", pairs="matched", stages=("compare",), controls=0)
    results = [next(iter(measure(prepare(replace(options, batch_size=size))))) for size in (1, 7)]
    one, other = (result.tables["head_changes"] for result in results)
    np.testing.assert_allclose(one["change"], other["change"], atol=1e-7)
    assert one["other_head"].equals(other["other_head"])


@pytest.mark.slow
def test_three_models_are_each_compared_with_the_last(text, tmp_path):
    def sharpen(number, attention):
        if number == 2:
            attention.self.query.weight.mul_(1.5)

    folder = changed_model(tmp_path / "sharper", sharpen)
    models = folder, "headscope-minilm", "headscope-minilm"
    first, second = hs.compare(*models, text=text, controls=0, out=tmp_path / "steps")
    assert first.table("head_changes")["change"].max() > 1e-5
    assert (second.table("head_changes")["change"] == 0).all()
    assert (tmp_path / "steps" / "checkpoints.html").exists()
    assert (tmp_path / "steps" / "02" / "compare.html").exists()
    assert len(hs.compare(*models, text=text, controls=0)) == 2
