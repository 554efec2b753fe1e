"""BertViz's own signatures and calls, with one import line changed."""

import inspect
import json
import re

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.bertviz import head_view, model_view
from headscope.bertviz.neuron_view import show
from headscope.errors import AttentionError, ModelError, OptionError
from headscope.views.attention_page import StaticPage
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_tokenizer
from support.views import hand_made, read_maps, read_neuron, rows

COUNTS = "the first being 0 as BertViz counts"


def block(page):
    (found,) = re.findall(r'<script type="application/json" id="attention">(.*?)</script>', page.data, re.DOTALL)
    return json.loads(found)


@pytest.mark.parametrize(
    ("ours", "module", "name"),
    [
        (head_view, "bertviz.head_view", "head_view"),
        (model_view, "bertviz.model_view", "model_view"),
        (show, "bertviz.neuron_view", "show"),
    ],
)
def test_signatures_are_bertvizs(ours, module, name):
    """Order, names and defaults of every argument."""
    import importlib

    pytest.importorskip("bertviz", reason="BertViz is not installed: pip install bertviz")
    theirs = inspect.signature(getattr(importlib.import_module(module), name))
    shape = [(p.name, p.default, p.kind) for p in theirs.parameters.values()]
    assert [(p.name, p.default, p.kind) for p in inspect.signature(ours).parameters.values()] == shape


def attention_of(model, **inputs):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return model(**inputs, output_attentions=True)


@pytest.fixture
def bert():
    return shared_tiny_model("bert"), tiny_tokenizer("bert")


def test_one_sentence(bert):
    model, tokenizer = bert
    inputs = tokenizer.encode("the cat sat on the mat", return_tensors="pt")
    attention = attention_of(model, input_ids=inputs).attentions
    tokens = tokenizer.convert_ids_to_tokens(inputs[0])
    html = head_view(attention, tokens, html_action="return")
    told = block(html)
    (kind,) = told["kinds"]
    assert told["state"] == "view=head&layer=1&heads=3"  # the head that attends most sharply within the text
    assert kind["queries"]["tokens"] == tokens
    np.testing.assert_allclose(read_maps(kind), torch.cat(attention).numpy(), atol=1 / 255)
    assert html.data.startswith("<!doctype html>")


def test_a_pair_of_sentences(bert):
    model, tokenizer = bert
    given = tokenizer("the cat sat", "the dog ran", return_tensors="pt", return_token_type_ids=True)
    attention = attention_of(model, **given).attentions
    start = given["token_type_ids"][0].tolist().index(1)
    tokens = tokenizer.convert_ids_to_tokens(given["input_ids"][0])
    told = block(head_view(attention, tokens, start, layer=1, heads=[0, 3], html_action="return"))
    assert told["kinds"][0]["queries"]["segment_b"] == start == 5
    assert told["state"] == "view=head&layer=2&heads=1,4"


def test_some_layers_and_heads(bert):
    rng = np.random.default_rng(0)
    maps = rows(rng, 4, 3, 3, 3)
    tokens = ["a", "b", "c"]
    told = block(model_view(maps, tokens, include_layers=[1, 3], include_heads=[2], html_action="return"))
    kind = told["kinds"][0]
    assert (kind["layers"], kind["head_labels"]) == ([2, 4], [3])
    np.testing.assert_allclose(read_maps(kind), maps[[1, 3]][:, [2]], atol=1 / 255)
    assert told["state"] == "view=model"
    assert block(head_view(maps, tokens, include_layers=[1, 3], html_action="return"))["kinds"][0]["layers"] == [2, 4]


def test_the_model_view_is_dark_unless_told_otherwise():
    def scheme(page):
        return re.search(r'name="color-scheme" content="([^"]*)"', page.data)[1]

    given = {"attention": hand_made(), "tokens": ["a", "b", "c"], "html_action": "return"}
    assert scheme(model_view(**given)) == "dark"
    assert scheme(model_view(**given, display_mode="light")) == "light"
    assert scheme(head_view(**given)) == "light dark"


@pytest.mark.parametrize("view", [head_view, model_view])
def test_an_encoder_decoder(view):
    model, tokenizer = shared_tiny_model("t5"), tiny_tokenizer("t5")
    source = tokenizer("the cat sat", return_tensors="pt", add_special_tokens=True).input_ids
    target = tokenizer("the dog", return_tensors="pt", add_special_tokens=True).input_ids
    outputs = attention_of(model, input_ids=source, decoder_input_ids=target)
    page = view(
        encoder_attention=outputs.encoder_attentions,
        decoder_attention=outputs.decoder_attentions,
        cross_attention=outputs.cross_attentions,
        encoder_tokens=tokenizer.convert_ids_to_tokens(source[0]),
        decoder_tokens=tokenizer.convert_ids_to_tokens(target[0]),
        html_action="return",
    )
    kinds = block(page)["kinds"]
    assert [kind["kind"] for kind in kinds] == ["encoder", "decoder", "cross"]
    theirs = (outputs.encoder_attentions, outputs.decoder_attentions, outputs.cross_attentions)
    for kind, layers in zip(kinds, theirs):
        np.testing.assert_allclose(read_maps(kind), torch.cat(layers).numpy(), atol=1 / 255)
    assert (len(kinds[2]["queries"]["tokens"]), len(kinds[2]["keys"]["tokens"])) == (3, 4)


def test_marks_of_word_starts_go_unless_they_shall_stay():
    given = {"attention": hand_made(), "tokens": ["The", "Ġcat", "s"], "html_action": "return"}
    assert block(head_view(**given))["kinds"][0]["queries"]["tokens"] == ["The", "cat", "s"]
    told = block(head_view(**given, prettify_tokens=False))["kinds"][0]["queries"]["tokens"]
    assert told == ["The", "Ġcat", "s"]


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "llama", "gemma2", "modernbert", "t5", "distilbert"])
def test_the_neuron_view_of_modern_models(family):
    model, tokenizer = shared_tiny_model(family), tiny_tokenizer(family)
    page = show(model, "any", tokenizer, "the cat sat", layer=1, head=2, html_action="return")
    told = block(page)
    assert told["state"].startswith("view=neuron")
    assert "layer=2&head=3" in told["state"]
    for kind in told["kinds"]:
        q, k, _, _ = read_neuron(kind, 1)
        assert q.shape[0] == kind["heads"]
        assert np.abs(q).max() > 0
        assert np.abs(k).max() > 0


def test_the_neuron_view_of_a_pair(bert):
    model, tokenizer = bert
    page = show(model, "bert", tokenizer, "the cat sat on the mat", "the dog ran", "light", html_action="return")
    assert block(page)["kinds"][0]["queries"]["segment_b"] == 8
    assert 'name="color-scheme" content="light"' in page.data


def test_the_neuron_view_of_a_family_outside_the_interface():
    model, tokenizer = shared_tiny_model("deberta-v2"), tiny_tokenizer("deberta-v2")
    with pytest.raises(ModelError, match=r"^DebertaV2Model does not hand over its queries and keys"):
        show(model, "deberta", tokenizer, "the cat", html_action="return")


def test_the_page_is_shown_by_ipython(monkeypatch):
    import sys
    import types

    shown = []
    fake = types.ModuleType("IPython.display")
    fake.display = shown.append
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    assert head_view(hand_made(), ["a", "b", "c"]) is None
    (page,) = shown
    assert isinstance(page, StaticPage)
    markup = page._repr_html_()
    assert markup.startswith('<iframe title="Attention" sandbox="allow-scripts allow-downloads"')
    assert markup.count("<") == 2  # nothing of the page stands outside the attribute


def test_without_ipython_it_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(OptionError) as refused:
        head_view(hand_made(), ["a", "b", "c"])
    assert str(refused.value) == (
        "there is no notebook to display the view in (IPython is not installed); use html_action='return' and write "
        "its data to a file"
    )


@pytest.mark.parametrize(
    ("error", "given", "text"),
    [
        (OptionError, {"html_action": "print"}, "html_action 'print' is not known; choose one of view, return"),
        (OptionError, {"layer": 1}, f"layer names 1, which is not here; expected 0 to 0, {COUNTS}"),
        (OptionError, {"heads": [2]}, f"heads names 2, which is not here; expected 0 to 1, {COUNTS}"),
        (OptionError, {"include_layers": [4]}, "include_layers names 4; expected layers from 0 to 0"),
        (
            AttentionError,
            {"tokens": ["a"]},
            "encoder attention is 3 queries by 3 keys, and there are 1 and 1 tokens; give the tokens that the model "
            "read, special tokens included",
        ),
    ],
)
def test_wrong_arguments(error, given, text):
    with pytest.raises(error) as refused:
        head_view(**{"attention": hand_made(), "tokens": ["a", "b", "c"], "html_action": "return", **given})
    assert str(refused.value) == text


def test_an_unknown_display_mode():
    with pytest.raises(OptionError) as refused:
        model_view(hand_made(), ["a", "b", "c"], display_mode="blue")
    assert str(refused.value) == "display_mode 'blue' is not known; choose one of light, dark"


def test_a_model_that_kept_no_weights():
    model, tokenizer = tf.AutoModel.from_config(shared_tiny_model("gpt2").config), tiny_tokenizer("gpt2")
    inputs = tokenizer("the cat", return_tensors="pt")
    model.set_attn_implementation("sdpa")
    kept = model(**inputs, output_attentions=True).attentions or ()
    with pytest.raises(
        AttentionError, match=r"^there are no weights in encoder attention; give `outputs.attentions` of"
    ):
        head_view(kept, ["the", "cat"], html_action="return")
