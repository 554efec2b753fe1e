"""`hs.head_view` and its kin: a widget where there is anywidget, the page in a frame where there is none."""

import json
import re
import sys

import numpy as np
import pytest

import headscope as hs
from headscope.errors import ModelError, OptionError
from headscope.views.attention_page import StaticPage, frame
from headscope.views.state import figure_call
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_loaded, tiny_tokenizer
from support.views import hand_made, read_maps

TOKENS = ["[CLS]", "play", "##ing"]
FUNCTIONS = {
    "head": hs.head_view,
    "model": hs.model_view,
    "neuron": hs.neuron_view,
    "heatmap": hs.heatmap,
    "matrix": hs.matrix_view,
}


@pytest.fixture
def bert():
    return tiny_loaded("bert")


def told(page):
    (found,) = re.findall(r'<script type="application/json" id="attention">(.*?)</script>', page.data, re.DOTALL)
    return json.loads(found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_view_of_a_model(bert, name):
    page = FUNCTIONS[name]("the cat sat", model=bert, layer=2, heads=[3], static=True)
    head = "heads=3" if name in ("head", "model") else "head=3"
    assert told(page)["state"] == f"view={name}&layer=2&{head}"
    assert told(page)["kinds"][0]["queries"]["tokens"] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    assert told(page)["kinds"][0]["neuron"]["width"] == 8
    page = FUNCTIONS[name]("the cat sat " * 15, model=bert, static=True)
    assert (told(page)["kinds"][0]["neuron"] is not None) == (name == "neuron")


def test_a_users_own_model_and_tokenizer():
    page = hs.head_view(
        "the cat", model=shared_tiny_model("gpt2"), tokenizer=tiny_tokenizer("gpt2"), include_layers=[2], static=True
    )
    assert told(page)["model"] == "GPT2Model"
    assert told(page)["kinds"][0]["layers"] == [2]
    assert told(page)["call"] == "text='the cat', model=model, tokenizer=tokenizer, include_layers=[2]"


def test_attention_that_is_there_already():
    page = hs.heatmap(attention=hand_made(), tokens=TOKENS, static=True)
    np.testing.assert_allclose(read_maps(told(page)["kinds"][0]), hand_made(), atol=1 / 255)
    assert told(page)["call"] == "attention=attention, tokens=['[CLS]', 'play', '##ing']"
    some = hs.model_view(attention=hand_made(), tokens=TOKENS, include_heads=[2], static=True)
    assert told(some)["kinds"][0]["head_labels"] == [2]


def test_the_copied_state_opens_the_same_view(bert):
    state = "view=matrix&layer=3&head=2&level=word"
    assert told(hs.matrix_view("the cat", model=bert, state=state, static=True))["state"] == state


def said(error, call):
    with pytest.raises(error) as refused:
        call()
    return str(refused.value)


def test_what_cannot_be_looked_at(bert):
    assert said(OptionError, lambda: hs.head_view(model=bert)) == (
        "there is nothing to look at; give a text for the model to read, or attention with its tokens"
    )
    assert said(OptionError, lambda: hs.head_view("a", model=bert, attention=hand_made(), tokens=TOKENS)) == (
        "both attention and model were given; give attention with its tokens, or a model with a text"
    )
    assert said(OptionError, lambda: hs.neuron_view(attention=hand_made(), tokens=TOKENS)) == (
        "the neuron view needs queries and keys, which weights alone do not tell; give a model and a text"
    )
    assert said(OptionError, lambda: hs.head_view("a", model=shared_tiny_model("bert"))) == (
        "model is a BertModel; expected a hub name, a folder, what headscope.load_model returns, or a transformers "
        "model together with its tokenizer"
    )
    assert said(ModelError, lambda: hs.neuron_view("the cat", model=tiny_loaded("mpnet"))).startswith(
        "MPNetModel does not hand over its queries and keys"
    )
    assert said(OptionError, lambda: hs.head_view("the cat", model=bert, layer=9)) == (
        "there is no layer 9 here; choose from 1-3"
    )


def test_without_anywidget_the_page_is_shown(bert, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "headscope.app.widget", raising=False)
    page = hs.head_view("the cat", model=bert, height=333)
    assert isinstance(page, StaticPage)
    assert "height:333px" in page._repr_html_()
    assert len(repr(page)) < 100
    assert repr(page).startswith("<headscope view of 'the cat', 0.")


def test_a_page_is_saved(bert, tmp_path):
    page = hs.head_view("the cat", model=bert, static=True)
    path = page.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == page.data
    kept = tmp_path / "kept" / "notes.txt"
    kept.parent.mkdir()
    kept.write_text("mine")
    with pytest.raises(OptionError, match="is a folder; expected a file"):
        page.save(kept.parent)
    assert kept.read_text() == "mine"


def test_a_frame_shuts_the_page_off():
    markup = frame('<p title="a">&amp;</p>', title='"><script>', height=10)
    assert markup == (
        '<iframe title="&quot;&gt;&lt;script&gt;" sandbox="allow-scripts allow-downloads" '
        'style="width:100%;height:10px;border:0" '
        'srcdoc="&lt;p title=&quot;a&quot;&gt;&amp;amp;&lt;/p&gt;"></iframe>'
    )


def test_figure_calls():
    assert figure_call('say "hi"', model="gpt2", generate=3, layers=(), decoder_text=None, attention=None) == (
        "text='say \"hi\"', model='gpt2', generate=3"
    )
    assert figure_call(attention=np.zeros(3), tokens=("a", "b")) == "attention=attention, tokens=('a', 'b')"


class TestWidget:
    @pytest.fixture(autouse=True)
    def anywidget(self):
        pytest.importorskip("anywidget", reason="anywidget is not installed: pip install '.[notebook]'")

    def test_a_widget_holds_the_payload_as_bytes(self, bert):
        widget = hs.head_view("the cat sat", model=bert, heads=[1])
        payload = json.loads(widget.data)
        assert isinstance(widget.data, bytes)
        assert payload["schema"] == "headscope.attention"
        assert payload["call"] == "text='the cat sat', model=model"
        assert widget.state == "view=head&heads=1"
        assert len(repr(widget)) < 100

    def test_the_script_exports_its_render(self, bert):
        widget = hs.head_view("the cat", model=bert)
        assert widget._esm.rstrip().endswith("export default { render };")
        assert "function render({" in widget._esm
        assert len(re.findall(r"^(?:import|export)\b", widget._esm, re.MULTILINE)) == 1

    def test_where_widgets_cannot_run_the_page_stands(self, bert):
        bundle, *_ = hs.head_view("the cat", model=bert)._repr_mimebundle_()
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert bundle["text/html"].startswith("<iframe ")
        assert bundle["text/plain"] == "<headscope view of 'the cat': view=head>"

    def test_a_page_too_large_to_keep_is_left_out(self, bert, monkeypatch):
        from headscope.app import widget

        monkeypatch.setattr(widget, "MOST_FALLBACK", 10)
        bundle, *_ = hs.head_view("the cat", model=bert)._repr_mimebundle_()
        assert bundle["text/html"] == (
            "<p>the cat: this view is too large to be kept in the notebook; run its cell again.</p>"
        )

    def test_the_saved_page_shows_what_the_widget_shows(self, bert, tmp_path):
        widget = hs.head_view("the cat", model=bert)
        widget.state = "view=model&layer=2"
        page = StaticPage(widget.save(tmp_path / "page.html").read_text(encoding="utf-8"), title="")
        assert told(page)["state"] == "view=model&layer=2"
