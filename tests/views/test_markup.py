import html
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.views import Html, el, raw, text


class Reader(HTMLParser):
    """Reads tags, attributes and text back, as a browser would."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    return reader


@given(st.text())
def test_any_text_comes_back_as_text(value):
    reader = read(el("p", value))
    assert reader.tags == ["p"]
    assert reader.text == value.replace("\x00", "␀")


@given(st.text())
def test_any_attribute_comes_back_as_one(value):
    reader = read(el("p", title=value))
    assert reader.tags == ["p"]
    # An HTML parser reads \r and \r\n in attributes as they stand; NUL is written as its symbol.
    assert reader.attributes == [("title", value.replace("\x00", "␀"))]


def test_markup_is_not_escaped_twice():
    assert el("p", el("b", "a & b"), " & c") == "<p><b>a &amp; b</b> &amp; c</p>"
    assert isinstance(el("p"), Html)


def test_attributes():
    assert el("a", "x", href="#a", class_="b", aria_label="c", hidden=True, title=None, tabindex=0) == (
        '<a href="#a" class="b" aria-label="c" hidden tabindex="0">x</a>'
    )
    assert el("meta", name="viewport") == '<meta name="viewport">'


def test_children_may_be_nested_and_none():
    assert el("ul", [el("li", n) for n in (1, 2)], None) == "<ul><li>1</li><li>2</li></ul>"


@pytest.mark.parametrize("attack", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'>", "&lt;b&gt;"])
def test_attacks_stay_text(attack):
    assert read(el("p", attack, title=attack)).tags == ["p"]
    assert "<" not in text(attack)


def test_raw_is_kept():
    assert el("div", raw("<hr>")) == "<div><hr></div>"


def test_what_meets_markup_is_escaped():
    bold = el("b", "x")
    for made in (bold + "<i>", raw("<b>x</b>{}").format("<i>"), raw("<b>x</b>%s") % "<i>"):
        assert made == "<b>x</b>&lt;i&gt;"
        assert isinstance(made, Html)
    assert "\"'\0" + bold == "&quot;&#x27;␀<b>x</b>"
    assert raw(", ").join([bold, "&"]) == "<b>x</b>, &amp;"
    assert bold.replace("x", raw("<i>y</i>")) == "<b><i>y</i></b>"
    assert el("p", bold + bold) == "<p><b>x</b><b>x</b></p>"


@given(st.text())
def test_text_is_written_as_the_standard_library_writes_it(value):
    assert text(value) == html.escape(value, quote=True).replace("\0", "␀")
