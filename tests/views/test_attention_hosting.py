"""What all views share: state in the address, saving, copying, hostile tokens, several in one document."""

import re
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from headscope.views import bundle
from headscope.views.markup import json_text
from headscope.views.view_payload import payload
from support.attention_pages import VIEWS, ink, settled
from support.made_maps import HOSTILE

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["pair", "long", "generated", "hostile", "three"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens_without_an_error_or_a_request(visit, name, view):
    page = visit(name, f"view={view}")
    assert page.locator("[role=tabpanel] > section:not([hidden])").count() == 1
    assert not page.locator(".hs-trouble").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("view", VIEWS)
def test_no_view_is_wider_than_a_phone(visit, view):
    for name in ("pair", "long"):
        page = visit(name, f"view={view}", width=360)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def test_the_page_says_what_it_shows_and_how_exactly(visit, made):
    page = visit("pair")
    assert page.locator("h1").inner_text() == made["pair"].title
    error = payload(made["pair"])["largest_error"]
    assert page.locator(".hs-exact").inner_text() == (
        f"Weights are stored in one byte each: they differ from the model's by {float(f'{error:.2g}'):g} at most."
    )


@pytest.mark.parametrize(
    "state",
    [
        "view=head&layer=2&heads=1,3-4&least=0.05&token=q6",
        "view=head&layer=3&heads=2&mean=1&level=word&filter=ba",
        "view=model&layer=2&head=3&sort=entropy&role=sep&draw=maps&open=1",
        "view=neuron&layer=1&head=4&order=weight&token=q3",
        "view=heatmap&layer=1&direction=given&special=0&token=k5",
        "view=matrix&layer=2&head=1&token=k3",
    ],
)
def test_an_address_opens_its_state_and_is_written_again(visit, state):
    page = visit("pair", state)
    # A change and its undoing write the address anew.
    page.get_by_role("tab", name="Head view").click()
    page.get_by_role(
        "tab",
        name={
            "head": "Head view",
            "model": "Model view",
            "neuron": "Neuron view",
            "heatmap": "Heat map",
            "matrix": "Matrix",
        }[state.split("&")[0][5:]],
    ).click()
    assert set(page.url.split("#")[1].split("&")) == set(state.split("&"))


def test_a_changed_address_changes_the_view(visit):
    page = visit("pair", "view=head")
    page.evaluate("location.hash = '#view=matrix&layer=2&head=1'")
    page.wait_for_selector(".hs-matrix:not([hidden])")
    assert page.get_by_role("tab", name="Matrix").get_attribute("aria-selected") == "true"
    assert not page.locator(".hs-head").first.is_visible()


def saved(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["pair", "hostile"])
def test_a_view_is_saved_as_svg(visit, name, view):
    page = visit(name, f"view={view}")
    if name == "hostile" and view == "neuron":
        page.get_by_role("button", name="Save SVG").click()
        assert page.locator(".hs-toolbar .hs-note").inner_text() == "There is nothing to save"
        return
    page.wait_for_timeout(300)
    filename, content = saved(page, "Save SVG")
    assert re.fullmatch(r"[\w.-]+\.svg", filename)
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "title",
        "g",
        "rect",
        "path",
        "text",
        "image",
    }
    assert not any(key.lower().startswith("on") for element in root.iter() for key in element.attrib)
    width, height = int(root.get("width")), int(root.get("height"))
    assert width > 200
    assert height > 50
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    if view != "model":
        assert any("committ" in text or "alert(1)" in text for text in texts)
    if name == "hostile" and view != "model":
        assert b"&lt;/script&gt;" in content


def test_the_saved_head_view_has_the_lines_that_are_seen(visit):
    page = visit("pair", "heads=1-2")
    said = page.locator(".hs-head .hs-count").inner_text()
    _, content = saved(page, "Save SVG")
    paths = [path.get("d") for path in ElementTree.fromstring(content).iter(f"{SVG}path")]
    # Two lines of the colors' key.
    assert sum(path.count("M") for path in paths) == int(said.split()[0].replace(",", "")) + 2
    page.click(".hs-query [data-place='5']")
    alone = page.locator(".hs-head .hs-count").inner_text()
    _, content = saved(page, "Save SVG")
    root = ElementTree.fromstring(content)
    assert sum(path.get("d").count("M") for path in root.iter(f"{SVG}path")) == int(alone.split()[0]) + 2
    assert any(text.text and text.text.endswith("%") for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_is_saved_as_png_at_twice_the_size(visit, view):
    page = visit("pair", f"view={view}")
    page.wait_for_timeout(300)
    _, drawing = saved(page, "Save SVG")
    root = ElementTree.fromstring(drawing)
    filename, content = saved(page, "Save PNG")
    assert filename.endswith(".png")
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    assert abs(width - 2 * int(root.get("width"))) <= 2
    assert abs(height - 2 * int(root.get("height"))) <= 2


def test_link_and_code_are_copied(visit):
    page = visit("pair", "view=heatmap&layer=2&head=3&token=q6")
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (it) => (window.copied = it) } })"
    )
    page.get_by_role("button", name="Copy link").click()
    assert page.evaluate("window.copied") == page.url
    assert page.locator(".hs-toolbar .hs-note").inner_text() == "Link copied"
    page.get_by_role("button", name="Copy code").click()
    assert page.evaluate("window.copied") == (
        'import headscope as hs\n\nhs.heatmap("a text", model="made/maps", '
        'state="view=heatmap&layer=2&head=3&token=q6")\n'
    )


@pytest.mark.parametrize("view", ["head", "heatmap"])
def test_hostile_tokens_are_text(visit, view):
    page = visit("hostile", f"view={view}")
    drawn = page.locator(".hs-query .hs-label" if view == "head" else ".hs-text bdi").all_text_contents()
    assert len(drawn) == len(HOSTILE)
    assert drawn[1] == "</script><script>alert(1)</script>"
    assert drawn[2] == "\"'><img src=x onerror=alert(2)>"
    assert drawn[4] == "⟨U+202E⟩gnp.exe"
    assert drawn[5] == HOSTILE[5]
    assert drawn[6] == "⟨U+200B⟩"
    assert len(drawn[7]) <= 80
    assert drawn[7].endswith("…")
    assert drawn[10] == "⟨empty⟩"
    assert page.locator("main img, main script, main b").count() == 0
    assert page.locator("h1").inner_text() == "</title><script>alert(3)</script>"
    row = page.locator(".hs-query li" if view == "head" else ".hs-text [data-place]").nth(7)
    assert len(row.get_attribute("title")) >= 150
    assert row.bounding_box()["height"] < 40


MOUNTED = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>t</title></head><body>
<div id="a"></div><div id="b"></div>
<script type="application/json" id="payload">{payload}</script>
<style id="sheet">{style}</style>
<script type="module">{script}</script></body></html>"""
HOST = """
import { mountAttention } from "./views/attention_app.js";
import { embeddedSource } from "./views/embedded_source.js";
const payload = JSON.parse(document.getElementById("payload").textContent);
window.heard = [];
window.mounted = ["a", "b"].map((id, i) => {
  const root = document.getElementById(id).attachShadow({ mode: "open" });
  root.append(document.getElementById("sheet").cloneNode(true));
  return mountAttention(root, {
    source: embeddedSource(payload),
    state: { view: i ? "matrix" : "head" },
    onState: (state, hash) => window.heard.push([id, hash]),
    host: { scheme: i ? "dark" : "light" },
  });
});
"""
IN_ROOTS = """(ask) => ["a", "b"].map((id) => document.getElementById(id).shadowRoot).map(
  (root) => ask === "ids"
    ? [...root.querySelectorAll("[id]")].map((one) => one.id).filter((id) => id !== "sheet")
    : getComputedStyle(root.querySelector(".hs-attention")).backgroundColor)"""


@pytest.fixture
def two(visit_file, made, tmp_path, monkeypatch):
    plain = bundle.source
    monkeypatch.setattr(bundle, "source", lambda name: HOST if name == "host.js" else plain(name))
    path = tmp_path / "two.html"
    path.write_text(
        MOUNTED.format(
            payload=json_text(payload(made["pair"])),
            style=bundle.style("views/attention.css"),
            script=bundle.script("host.js"),
        ),
        encoding="utf-8",
    )
    page = visit_file(path)
    page.wait_for_function("window.mounted")
    page.evaluate("Promise.all(window.mounted.map(view => view.ready()))")
    settled(page)
    return page


def test_several_views_in_one_document_have_their_own_states(two):
    page = two
    ids = [name for own in page.evaluate(IN_ROOTS, "ids") for name in own]
    assert len(ids) == len(set(ids)) > 4
    assert page.evaluate("window.mounted.map(view => view.state().view)") == ["head", "matrix"]
    page.locator("#a .hs-query [data-place='5']").click()
    assert page.evaluate("window.heard.length") == 1
    assert page.evaluate("window.heard[0][0]") == "a"
    assert page.evaluate("window.mounted[1].state().token") is None
    assert page.evaluate(IN_ROOTS, "colors") == ["rgb(251, 251, 249)", "rgb(21, 23, 26)"]
    # Without an address and a call there is nothing to copy.
    assert page.locator("#a").get_by_role("button", name="Copy link").count() == 0


def test_a_destroyed_view_leaves_nothing_behind(two):
    page = two
    page.evaluate("window.mounted[0].destroy()")
    assert page.evaluate("document.getElementById('a').shadowRoot.querySelector('.hs-attention')") is None
    page.emulate_media(color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.set_viewport_size({"width": 500, "height": 500})
    settled(page)
    assert page.evaluate("window.mounted[1].state().view") == "matrix"


def test_the_scheme_of_the_reader_is_followed_while_the_page_is_open(visit):
    page = visit("pair", "heads=1")
    paper = "getComputedStyle(document.querySelector('.hs-attention')).backgroundColor"
    assert page.evaluate(paper) == "rgb(251, 251, 249)"
    page.emulate_media(color_scheme="dark")
    settled(page)
    assert page.evaluate(paper) == "rgb(21, 23, 26)"
    assert ink(page, ".hs-head .hs-base") > 100


def test_data_that_cannot_be_read_is_said_in_one_sentence(visit_file, pages, tmp_path):
    page = (pages / "pair.html").read_text(encoding="utf-8")
    (tmp_path / "other.html").write_text(page.replace('"version":1', '"version":9'), encoding="utf-8")
    opened = visit_file(tmp_path / "other.html")
    assert opened.locator("[role=alert]").inner_text() == (
        "Expected data of headscope.attention version 1, got headscope.attention version 9; write the page again with "
        "this version."
    )
    found = re.search(r'"maps":\[\{"encoding":"deflate-raw\+base64","data":"([^"]{40})', page)
    (tmp_path / "broken.html").write_text(page.replace(found.group(1), "A" * 40), encoding="utf-8")
    opened = visit_file(tmp_path / "broken.html")
    opened.wait_for_selector(".hs-trouble:not([hidden])")
