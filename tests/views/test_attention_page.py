"""The page as a file: whole, offline, hostile text inert, and as small as promised."""

import json
import re

import numpy as np
import pytest

from headscope.views.attention_page import attention_page
from headscope.views.view_payload import payload
from support.views import hand_made_view, pair_view, read_maps, three_kinds_view


def block(page):
    (found,) = re.findall(r'<script type="application/json" id="attention">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def test_the_page_holds_the_payload_and_how_it_opens():
    page = attention_page(pair_view(), state="view=model&layer=4", call='text="a"')
    told = block(page)
    assert (told.pop("state"), told.pop("call")) == ("view=model&layer=4", 'text="a"')
    assert told == payload(pair_view())
    assert '<main id="app"></main>' in page
    assert "<title>A pair · tiny</title>" in page


def test_hostile_tokens_stay_in_their_element():
    page = attention_page(pair_view())
    assert page.count("alert(1)") == 2  # the token and the word of the payload
    assert "<script>alert" not in page
    assert len(re.findall(r"<script\b", page)) == 2


def test_nothing_is_loaded_from_anywhere():
    page = attention_page(three_kinds_view())
    assert "default-src &#x27;none&#x27;" in page
    # In a script the word stands in the SVG that is saved, where pictures are data.
    markup = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'\b(?:src|href)="(?!#)', markup)
    # Names of XML's own languages are no addresses that anything loads.
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_queries_and_keys_stay_out_where_they_are_not_wanted():
    assert block(attention_page(pair_view(), neuron=False))["kinds"][0]["neuron"] is None
    assert block(attention_page(pair_view()))["kinds"][0]["neuron"]["width"] == 4


def test_one_scheme_where_one_is_asked_for():
    page = attention_page(hand_made_view(), scheme="dark")
    assert 'name="color-scheme" content="dark"' in page
    assert "prefers-color-scheme:dark){:root" not in page
    assert 'content="light dark"' in attention_page(hand_made_view())


def test_an_uncompressed_page_reads_the_same():
    small, plain = attention_page(pair_view()), attention_page(pair_view(), compress=False)
    assert "deflate" not in json.dumps(block(plain))
    np.testing.assert_array_equal(read_maps(block(small)["kinds"][0]), read_maps(block(plain)["kinds"][0]))


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [128, 256])
def test_bytes_a_weight_on_the_embedded_model(tokens):
    """Without compression 1.4 bytes of HTML a weight, base64 included; with it 1."""
    pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    from headscope.installing import demo_text
    from headscope.models.load_model import load_model
    from headscope.views.capture import AttentionReader

    text = " ".join(demo_text().read_text(encoding="utf-8").split("\n")[:60])
    view = AttentionReader(load_model()).view(text, max_length=tokens, too_long="truncate")
    assert len(view.kinds[0].queries) == tokens
    size = view.kinds[0].weights.size
    bare = len(attention_page(hand_made_view()).encode()) - 700  # the scripts and styles of any page
    for compress, most in ((False, 1.4), (True, 1.0)):
        page = len(attention_page(view, compress=compress).encode())
        print(f"{tokens} tokens, compress={compress}: {page / size:.3f} bytes a weight, {bare} of {page} are scripts")
        assert (page - bare) / size <= most
