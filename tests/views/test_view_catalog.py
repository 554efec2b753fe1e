"""The list of views, which the scripts and Python share: what holds for every view on it."""

import json
import re
import shutil
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

import headscope as hs
from headscope.views import bundle
from headscope.views import bundle as catalog
from headscope.views.bundle import View, needs_neuron, offered, view_names, views
from support.attention_pages import ink, settled

NODE = shutil.which("node")
DOCS = Path(__file__).parents[2] / "docs" / "views.md"
PROBE = """
import { VIEWS } from "./views/list.js";
export const told = VIEWS.map(({ name, label, heads, needs, level, call = null, gathers = false }) =>
  ({ name, label, heads, needs, level, call, gathers }));
"""


def with_sources(monkeypatch, **files):
    """Scripts by their paths, in place of or beside those on disk."""
    plain = bundle.source
    named = {name.replace("__", "/") + ".js": text for name, text in files.items()}

    def source(name):
        return named[name] if name in named else plain(name)

    monkeypatch.setattr(bundle, "source", source)
    monkeypatch.setattr(catalog, "source", source)
    catalog.views.cache_clear()


@pytest.fixture
def _fresh():
    yield
    catalog.views.cache_clear()


def test_python_reads_what_the_scripts_say(monkeypatch):
    if NODE is None:
        pytest.skip("needs Node: no `node` on the path (apt install nodejs)")
    plain = bundle.source
    monkeypatch.setattr(bundle, "source", lambda name: PROBE if name == "probe.js" else plain(name))
    script = bundle.script("probe.js") + "console.log(JSON.stringify(told));"
    done = subprocess.run([NODE, "--input-type=module"], input=script, capture_output=True, text=True, check=True)
    assert [asdict(view) for view in views()] == json.loads(done.stdout)


def test_the_views_that_every_page_has():
    assert view_names()[0] == "head"
    assert {"head", "model", "neuron", "heatmap", "matrix"} <= set(view_names())
    assert [view.name for view in views() if view.gathers] == ["all"]
    assert [needs_neuron(name) for name in ("neuron", "head", "all", "none")] == [True, False, False, False]
    assert [view.draws_several for view in offered() if view.name in ("head", "model", "matrix")] == [True, True, False]


NEW = """
export const VIEW = {
  name: "ring",
  label: "Ring",
  heads: "mean",
  needs: "weights",
  level: "any",
  element: () => null,
};
"""
LIST = """
import { VIEW as head } from "./head/head_view.js";
import { VIEW as ring } from "./ring.js";
export const VIEWS = [ring, head];
"""


@pytest.mark.usefixtures("_fresh")
def test_a_view_is_a_module_and_a_row(monkeypatch):
    with_sources(monkeypatch, views__list=LIST, views__ring=NEW)
    assert view_names() == ("ring", "head")
    assert views()[0] == View(name="ring", label="Ring", heads="mean", needs="weights", level="any")


@pytest.mark.usefixtures("_fresh")
def test_a_view_that_does_not_describe_itself_is_named(monkeypatch):
    with_sources(monkeypatch, views__list=LIST, views__ring=NEW.replace('  label: "Ring",\n', ""))
    with pytest.raises(ValueError, match=r"needs and level in views/ring\.js, got none for label; write each"):
        views()
    with_sources(monkeypatch, views__list="export const NOTHING = [];\n")
    with pytest.raises(ValueError, match=r"^Expected `export const VIEWS = \[a, b\];` in views/list\.js, got none; li"):
        views()


@pytest.mark.parametrize("view", [view for view in views() if view.call], ids=lambda view: view.name)
def test_the_function_that_draws_it_is_there(view):
    assert getattr(hs, view.call).__doc__


def test_the_docs_name_every_view():
    table = DOCS.read_text(encoding="utf-8").split("| view | shows |")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == view_names()


@pytest.mark.browser
@pytest.mark.parametrize("view", offered(), ids=lambda view: view.name)
def test_a_view_draws_is_named_and_is_reached_by_keyboard(visit, view):
    page = visit("pair", f"view={view.name}&layer=1&head=1")
    shown = page.locator("[role=tabpanel] > section:not([hidden])")
    assert view.label in shown.get_attribute("aria-label")
    tab = page.get_by_role("tab", name=view.label, exact=True)
    assert tab.get_attribute("aria-selected") == "true"
    assert page.locator("[role=tabpanel]").get_attribute("aria-labelledby") == tab.get_attribute("id")
    # Drawn: on a canvas, or as text of every token.
    drawn = ink(page, "[role=tabpanel] > section:not([hidden]) canvas")
    assert drawn > 100 or shown.locator("[data-place]").count() >= 9
    # The tab key goes from the toolbar into the view, and something in it takes it.
    inside = "() => document.querySelector('[role=tabpanel] > section:not([hidden])').contains(document.activeElement)"
    tab.focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate(inside):
            break
    assert page.evaluate(inside)
    # And the arrow keys go from tab to tab.
    tab.focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    names = view_names()
    assert page.url.split("view=")[1].split("&")[0] == names[(names.index(view.name) + 1) % len(names)]


@pytest.mark.browser
@pytest.mark.parametrize("view", offered(), ids=lambda view: view.name)
def test_a_view_is_saved_as_a_picture(visit, view):
    page = visit("pair", f"view={view.name}&layer=1&head=1")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save SVG").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert text.startswith("<svg ")
    assert len(re.findall(r"<(?:path|rect|image|text) ", text)) > 10
