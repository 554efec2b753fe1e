"""The atlas in a real browser: heads found by map, grid, chips and words; cards, sentences, two heads side by side."""

import re

import numpy as np
import pytest

from headscope.views.markup import Page, assemble
from support.attention_pages import settled
from support.axe import violations
from support.measured import blank_figures
from support.mock_behaviors import place_of

pytestmark = pytest.mark.browser
SEARCH = "input[type=search]"


def cards(page):
    titles = page.locator(".at-card:not(.at-compared) h2").all_inner_texts()
    return [text.split("\n")[0] for text in titles]


def ask(page, words):
    page.fill(SEARCH, words)
    page.press(SEARCH, "Enter")


def found(page):
    return page.locator(".at-found a").all_inner_texts()


def bright(page, which):
    """Anchors of the heads that are not dimmed, on the map or in the grid."""
    marks = {"map": ".at-mark:not(.at-off)", "grid": "#grid [role=gridcell]:not(.off)"}[which]
    numbers = page.eval_on_selector_all(marks, "marks => marks.map(mark => Number(mark.dataset.index))")
    return {f"{index // 12 + 1}-{index % 12 + 1}" for index in numbers}


def middles(page):
    """Where the marks' middles are, [x, y], in head order: those that find something are drawn last, and larger."""
    return page.eval_on_selector_all(
        ".at-mark",
        """all => all.sort((a, b) => a.dataset.index - b.dataset.index).map(mark => mark.querySelector("rect"))
        .map(r => ["x", "y"].map((side, i) => +r.getAttribute(side) + r.getAttribute(["width", "height"][i]) / 2))""",
    )


@pytest.fixture
def finder(studies):
    """The head that finds a relation."""
    table = studies["whole"].roles

    def of(name):
        (row,) = [row for row in table.to_dict("records") if name in row["finds"]]
        return f"{row['layer']}-{row['head']}"

    return of


@pytest.mark.parametrize("name", ["whole", "bare", "two", "t5", "hostile", "tokens"])
def test_opens_without_an_error_or_a_request(visit, name):
    page = visit(name)
    assert page.locator("#grid [role=gridcell]").count() > 0
    assert len(cards(page)) == 1
    assert page.locator("h1").inner_text().startswith("Head atlas of ")


def test_every_head_is_on_the_map_and_in_the_grid(visit, studies):
    page = visit("whole")
    assert page.locator(".at-mark").count() == page.locator("#grid [role=gridcell]").count() == 72
    roles = studies["whole"].roles
    for row in roles.iloc[::11].to_dict("records"):
        index = (row["layer"] - 1) * 12 + row["head"] - 1
        mark = page.locator(f".at-mark[data-index='{index}']")
        assert mark.get_attribute("class").removesuffix(" at-finder") == f"at-mark role-{row['role']}"
        assert mark.get_attribute("aria-label").startswith(f"Head {row['layer']}-{row['head']} · ")
    table = studies["whole"].table("head_map")
    xs = middles(page)
    own = table.sort_values(["layer", "head"])
    assert np.corrcoef(np.array(xs)[:, 0], own["x"])[0, 1] == pytest.approx(1, abs=1e-4)
    assert np.corrcoef(np.array(xs)[:, 1], own["y"])[0, 1] == pytest.approx(-1, abs=1e-4)


def test_hover_names_and_click_opens(visit):
    page = visit("whole")
    page.locator(".at-mark[data-index='2'] > rect").hover(force=True)
    assert page.locator(".readout").first.inner_text().startswith("Head 1-3 · ")
    page.locator(".at-mark[data-index='2']").dispatch_event("click")
    assert cards(page) == ["Head 1-3"]
    assert page.url.endswith("#encoder-1-3")
    page.locator("#grid [data-index='40']").click()
    assert cards(page) == ["Head 4-5"]
    assert page.locator(".at-mark[data-index='40']").get_attribute("aria-pressed") == "true"


def test_the_map_by_keyboard(visit):
    page = visit("whole")
    assert page.locator(".at-mark[tabindex='0']").count() == 1
    page.locator(".at-mark[tabindex='0']").focus()
    page.keyboard.press("Home")
    places = middles(page)
    at = page.evaluate("Number(document.activeElement.dataset.index)")
    assert at == 0
    for key, way in (("ArrowRight", (0, 1)), ("ArrowLeft", (0, -1)), ("ArrowDown", (1, 1)), ("ArrowUp", (1, -1))):
        page.keyboard.press(key)
        now = page.evaluate("Number(document.activeElement.dataset.index)")
        axis, sign = way
        assert now == at or sign * (places[now][axis] - places[at][axis]) > 0, key
        at = now
    page.keyboard.press("Enter")
    assert cards(page) == [f"Head {at // 12 + 1}-{at % 12 + 1}"]
    assert page.evaluate("document.activeElement.dataset.index") == str(at)
    assert page.locator(".at-mark[tabindex='0']").count() == 1


def test_a_previous_head_an_object_head_and_a_sentence_are_two_clicks_away(visit, finder, studies):
    page = visit("whole")
    page.click(".at-chips [data-name=previous]")
    roles = studies["whole"].roles
    previous = {f"{r['layer']}-{r['head']}" for r in roles[roles["role"] == "previous"].to_dict("records")}
    assert set(found(page)) == previous == bright(page, "map") == bright(page, "grid")
    page.locator(".at-found a").first.click()
    assert cards(page)[0].removeprefix("Head ") in previous
    assert page.locator(".at-sentences .lines line").count() > 5
    page.click("text=Show all heads")
    assert len(bright(page, "map")) == 72
    page.click(".at-chips [data-name=obj]")
    page.locator(".at-found a").first.click()
    assert cards(page) == [f"Head {finder('obj')}"]
    assert page.locator(".at-sentences select").input_value() == "finds obj 1"
    assert "on the right words" in page.locator(".at-told").first.inner_text()
    assert page.locator(".at-sentences line.marked").count() > 0


@pytest.mark.parametrize(
    ("words", "relation"),
    [("which head finds objects?", "obj"), ("subjects", "nsubj"), ("antecedent of a pronoun", "coreference")],
)
def test_questions_in_words(visit, finder, words, relation):
    page = visit("whole")
    ask(page, words)
    assert found(page) == [finder(relation)]
    assert bright(page, "map") == {finder(relation)}
    first = page.locator(".at-list tbody tr").first
    assert finder(relation) in first.inner_text()
    assert page.locator(".at-list tbody tr").count() == 6
    assert "other heads that are most accurate" in page.locator(".at-list .caption").inner_text()


def test_heads_are_found_by_what_they_show(visit):
    page = visit("doing")
    induction, duplicate = ("-".join(map(str, place_of(name, 4, 8))) for name in ("induction", "duplicate"))
    ask(page, "induction")
    assert found(page) == [induction]
    assert cards(page) == [f"Head {induction}"]
    # What was asked for is what its card opens with.
    assert page.locator(".at-sentences select").input_value() == "shows induction 1"
    assert page.locator(".at-sentences .at-told").inner_text() == (
        "90% on tokens after an earlier copy, over the tokens that repeat here: “cat” → “sat”, “sat” → “where”."
    )
    lines = page.locator(".at-card .finds li").all_inner_texts()
    told = [" ".join(line.split()) for line in lines]
    assert "shows induction after an earlier copy 62.0% 55.8–68.2, norm-weighted 62.0%" in told
    rows = page.locator(".at-behaviors tbody tr").all_inner_texts()
    (row,) = [line for line in rows if line.startswith("induction\nafter")]
    assert all(part in row for part in ("62.0", "55.8–68.2", "3.0", "random 4.1", "shows it", "strongest of 32"))
    assert "tokens" in rows[-1]
    first = page.locator(".at-list tbody tr").first.inner_text()
    assert induction in first
    assert "62.0" in first
    page.click("[data-name='behaviors.duplicate']")
    assert "No head is found" in page.locator(".at-found").inner_text()
    page.get_by_text("Show all heads").click()
    page.click("[data-name='behaviors.duplicate']")
    assert found(page) == [duplicate]
    page.select_option(".at-color select", "more")
    page.select_option(".at-color select", "behaviors.distance")
    assert "tokens" in page.locator("section[aria-label='Grid of heads'] .readout").inner_text()


def test_a_behavior_that_cannot_occur_or_was_not_measured_is_not_called_absent(visit):
    for name, why in (("doing", "it cannot occur in this text"), ("bare", "run headscope report again")):
        page = visit(name)
        ask(page, "white space")
        said = page.locator(".at-found").inner_text()
        assert f"This run did not measure blank (blanks): {why}." in said


def test_what_was_not_tested_is_not_called_negative(visit):
    page = visit("few")
    ask(page, "which head finds objects?")
    said = page.locator(".at-found").inner_text()
    assert "no head is shown" not in said
    assert (
        "Whether a head beats its baseline was not tested for obj (it needs at least 10 documents with such "
        "words); this is the best one."
    ) in said


def test_numbers_and_layers(visit):
    page = visit("whole")
    ask(page, "4-7")
    assert found(page) == ["4-7"]
    ask(page, "layer 3")
    assert page.locator(".at-list tbody tr").count() == 12
    assert bright(page, "grid") == {f"3-{head}" for head in range(1, 13)}


@pytest.mark.parametrize("words", ["L3H1", "layer 3 head 1", "3-1"])
def test_one_hit_opens_its_card_while_the_reader_types_on(visit, words):
    page = visit("whole", anchor="#encoder-5-5")
    page.fill(SEARCH, words)
    page.wait_for_selector(".at-card[data-head=encoder-3-1]")
    assert page.url.endswith("#encoder-3-1")
    assert page.evaluate("document.activeElement.type") == "search"


def test_enter_opens_the_first_of_several(visit):
    page = visit("whole", anchor="#encoder-5-5")
    page.fill(SEARCH, "layer 3")
    page.wait_for_timeout(300)
    assert cards(page) == ["Head 5-5"]
    page.press(SEARCH, "Enter")
    assert cards(page) == [f"Head {page.locator('.at-list tbody th').first.inner_text()}"] == ["Head 3-1"]
    ask(page, "unicorns")
    assert cards(page) == ["Head 3-1"]


@pytest.mark.parametrize(("words", "known"), [("possessive", "nmod:poss"), ("attention sink", "[CLS]")])
def test_words_that_people_use(visit, words, known):
    page = visit("whole")
    ask(page, words)
    assert "Nothing here is called" not in page.locator(".at-found").inner_text()
    if known == "[CLS]":
        roles = page.locator(".at-list tbody td.words:nth-child(2)").all_inner_texts()
        assert set(roles) & {"[CLS]", "[SEP]"}
        assert set(roles) <= {"[CLS]", "[SEP]"}
    else:
        assert known in page.locator(".at-list").inner_text() + page.locator(".at-found").inner_text()


def test_chips_and_the_map_name_the_heads_that_find_something(visit, finder):
    page = visit("whole")
    assert page.locator(".at-chips [data-name=obj]").inner_text().split() == ["obj", finder("obj")]
    named = page.locator(".at-name-finds").all_text_contents()
    assert any(len(name.split()) > 1 for name in named)
    layer, head = map(int, finder("obj").split("-"))
    sizes = page.eval_on_selector_all(".at-mark > rect", "all => all.map(r => +r.getAttribute('width'))")
    finding = page.eval_on_selector_all(".at-finder", "all => all.map(one => Number(one.dataset.index))")
    assert (layer - 1) * 12 + head - 1 in finding
    own = page.locator(f".at-mark[data-index='{finding[0]}'] > rect").get_attribute("width")
    assert float(own) > min(sizes)


def test_the_grid_takes_the_color_of_a_relation(visit, studies):
    page = visit("whole")
    page.select_option(".at-color select", "finds obj")
    table = studies["whole"].table("syntax")
    own = table[(table["relation"] == "obj") & (table["model"] == "trained")]
    best = own.groupby(["layer", "head"])["accuracy"].max()
    for (layer, head), value in best.iloc[::9].items():
        cell = page.locator(f"#grid [data-index='{(layer - 1) * 12 + head - 1}']")
        shade = cell.evaluate("e => e.style.getPropertyValue('--amount')")
        assert float(shade.rstrip("%")) == pytest.approx(100 * value / best.max(), abs=0.51)
        assert "finds obj " in cell.get_attribute("aria-label")


def test_two_heads_are_told_apart_by_number_first(visit, studies):
    page = visit("whole", width=1400, anchor="#encoder-2-4~encoder-5-3")
    told = page.locator(".at-cards > article").first
    assert told.locator("h2").inner_text() == "Head 2-4 and 5-3"
    pairs = studies["whole"].table("head_distances")
    (row,) = pairs[
        (pairs["layer_a"] == 2) & (pairs["head_a"] == 4) & (pairs["layer_b"] == 5) & (pairs["head_b"] == 3)
    ].to_dict("records")
    assert told.locator(".at-apart").inner_text().startswith(f"{row['divergence']:.3f} nats apart")
    gaps = [(text.split("\n")[0], text) for text in told.locator("tbody td:nth-child(4)").all_inner_texts()]
    assert len(gaps) == 8
    stats = studies["whole"].stats
    values = {
        head: stats[(stats["layer"] == layer) & (stats["head"] == number)].set_index("statistic")["value"]
        for head, layer, number in (("a", 2, 4), ("b", 5, 3))
    }
    shares = [name for name in values["a"].index if not name.startswith("entropy")]
    widest = max(abs(values["a"][name] - values["b"][name]) for name in shares)
    first = max(float(re.search(r"[\d.]+", text)[0]) for text, _ in gaps)
    assert first >= 100 * widest - 0.06
    # Both are marked, on the map and in the grid.
    assert page.locator("#grid [aria-selected=true]").count() == 2
    assert page.locator(".at-ring[visibility=visible]").count() == 2


def test_nothing_found_says_what_can_be_asked(visit):
    page = visit("whole")
    ask(page, "which head finds unicorns?")
    text = page.locator(".at-found").inner_text()
    assert text.startswith("No head is found. Nothing here is called “unicorns”. Search for a role (previous, next,")
    assert bright(page, "map") == set()
    bare = visit("bare")
    ask(bare, "objects")
    assert bare.locator(".at-found").inner_text() == (
        "No head is found. This run did not measure obj (direct object): give the run a --treebank."
    )


def test_the_list_sorts(visit, studies):
    page = visit("whole")
    page.select_option(".at-list select", "statistic entropy")
    stats = studies["whole"].stats
    own = stats[(stats["statistic"] == "entropy") & stats["head"].notna()].sort_values("value")
    names = [f"{layer}-{head}" for layer, head in own[["layer", "head"]].to_numpy()]
    rows = page.locator(".at-list tbody th")
    assert rows.all_inner_texts()[:5] == names[::-1][:5]
    page.click(".at-list-top button")
    assert rows.all_inner_texts()[:5] == names[:5]
    page.select_option(".at-list select", "relation obj")
    told = page.locator(".at-list td.at-number").all_inner_texts()
    values = [float(re.match(r"\d+\.\d", text)[0]) for text in told]
    assert values == sorted(values, reverse=True)


def test_the_card_against_the_tables(visit, studies, finder):
    page = visit("whole", anchor=f"#encoder-{finder('obj')}")
    layer, head = map(int, finder("obj").split("-"))
    study = studies["whole"]
    stats = study.stats
    ranks = page.locator(".strip .rank").all_inner_texts()
    names = page.locator(".strip dt").all_inner_texts()
    assert len(ranks) == len(names) == 12
    own = stats[(stats["statistic"] == "previous") & stats["head"].notna()]
    value = own[(own["layer"] == layer) & (own["head"] == head)]["value"].iloc[0]
    assert int(re.match(r"\d+", ranks[0])[0]) == 1 + (own["value"].round(6) > round(value, 6)).sum()
    first = page.locator(".at-relations tbody tr").first.inner_text()
    assert first.startswith("obj")
    assert "chosen, beats it" in first
    near = page.locator(".at-nearest li")
    assert near.count() == 5
    name = near.first.locator("a").inner_text()
    near.first.locator("a").click()
    assert cards(page) == [f"Head {name}"]


def test_two_heads_side_by_side(visit):
    page = visit("whole", width=1400, anchor="#encoder-2-4")
    page.click(".at-card-actions >> text=Compare")
    assert "Choose the head to compare Head 2-4 with" in page.locator(".at-hint").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".at-hint").is_hidden()
    page.click(".at-card-actions >> text=Compare")
    page.locator("#grid [data-index='50']").click()
    assert cards(page) == ["Head 2-4", "Head 5-3"]
    assert page.url.endswith("#encoder-2-4~encoder-5-3")
    left, right = (page.locator(".at-card:not(.at-compared)").nth(place).bounding_box() for place in (0, 1))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]
    # Both on the same sentence, so that they can be compared.
    assert (
        page.locator(".at-sentences select").evaluate_all("all => all.map(s => s.value)")
        == ["the same for all heads"] * 2
    )
    page.locator("#grid [data-index='51']").click()
    assert cards(page) == ["Head 2-4", "Head 5-4"]
    page.click("[aria-label='Close Head 2-4']")
    assert cards(page) == ["Head 5-4"]
    assert page.url.endswith("#encoder-5-4")
    page.locator(".at-nearest button").first.click()
    assert len(cards(page)) == 2


def test_compared_heads_are_drawn_on_the_same_sentences_together(visit, studies):
    page = visit("sentences", width=1400, anchor="#encoder-1-2~encoder-2-3")
    choices = page.locator(".at-sentences select")
    assert (
        choices.evaluate_all("all => all.map(s => [...s.options].map(one => one.text))")
        == [[f"the same for all heads {number}" for number in (1, 2, 3)]] * 2
    )
    choices.first.select_option(index=1)
    assert choices.evaluate_all("all => all.map(s => s.selectedIndex)") == [1, 1]
    page.locator(".at-card:not(.at-compared)").nth(1).locator("[aria-label='Next sentence']").click()
    assert choices.evaluate_all("all => all.map(s => s.selectedIndex)") == [2, 2]
    for card in page.locator(".at-card:not(.at-compared) .at-sentences").all():
        assert "third" in card.locator("svg").last.text_content()
    # A card alone has the head's own sentences first.
    page.click("[aria-label='Close Head 1-2']")
    own = choices.evaluate("s => [...s.options].map(one => one.text)")
    assert len(own) > 3
    assert own[-3:] == [f"the same for all heads {number}" for number in (1, 2, 3)]


def test_addresses(visit):
    assert cards(visit("whole", anchor="#encoder-2-4~encoder-5-3")) == ["Head 2-4", "Head 5-3"]
    page = visit("two", anchor="#decoder-3-4")
    assert cards(page) == ["Decoder head 3-4"]
    assert page.locator("[role=tab][aria-selected=true]").inner_text() == "decoder"
    page.evaluate("location.hash = 'encoder-2-2'")
    page.wait_for_function("document.querySelector('.at-card').dataset.head === 'encoder-2-2'")
    assert len(cards(visit("whole", anchor="#encoder-99-1"))) == 1
    assert len(cards(visit("whole", anchor="#encoder-2-4~encoder-2-4"))) == 1
    assert visit("whole", anchor="#encoder-2-4").evaluate("scrollY") == 0


def test_without_distances_the_grid_is_the_way_in(visit):
    page = visit("bare")
    assert page.locator(".at-map").count() == 0
    assert "no distances between heads, so there is no map" in page.locator("[aria-label='Map of heads']").inner_text()
    page.locator("#grid [data-index='4']").click()
    assert cards(page) == ["Head 2-2"]
    text = page.locator(".at-card").inner_text()
    assert "This run measured no relations: give the run a --treebank." in text
    assert "This run measured no distances between heads" in text


def test_chips_by_keyboard(visit, finder):
    page = visit("whole")
    page.focus(".at-chips [data-name=obj]")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.name") == "obj"
    assert page.locator("[data-name=obj]").get_attribute("aria-pressed") == "true"
    page.focus(".at-found a")
    page.keyboard.press("Enter")
    assert cards(page) == [f"Head {finder('obj')}"]


@pytest.mark.parametrize("name", ["hostile", "tokens"])
def test_hostile_text_is_text(visit, name):
    page = visit(name)
    for index in range(page.locator("#grid [role=gridcell]").count()):
        page.locator(f"#grid [data-index='{index}']").click()
        for _ in range(page.locator(".at-sentences option").count() - 1):
            page.click("[aria-label='Next sentence']")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 4  # three blocks of data, and the page's own
    ask(page, "</script><script>alert(1)</script> zebra")
    assert "“zebra”" in page.locator(".at-found").inner_text()


@pytest.mark.parametrize("widths", [(360, 400, 768), (1280, 1600)], ids=["phone", "screen"])
@pytest.mark.parametrize("name", ["whole", "t5", "tokens", "doing"])
def test_the_page_never_scrolls_sideways(visit, name, widths):
    page = visit(name, width=widths[0], height=800)
    assert page.evaluate("document.documentElement.scrollWidth") <= widths[0]
    page.locator(".at-card-actions button").first.click()
    page.locator("#grid [data-index='1']").dispatch_event("click")
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["whole", "doing", "directed", "pieces"])
def test_no_part_of_a_card_is_wider_than_a_phone(visit, name):
    page = visit(name, width=390, height=800)
    for section in page.locator(".at-card section").all():
        wide, there = section.evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert wide <= there + 1, section.inner_text()[:80]
    # Of one number no part stands on another line.
    for cell in page.locator(".at-card .at-relations td:nth-child(2) small").all():
        assert cell.evaluate("one => one.getClientRects().length") == 1


@pytest.mark.parametrize(
    ("name", "anchor", "words"),
    [
        ("whole", "", ""),
        ("whole", "#encoder-2-4~encoder-5-3", "objects"),
        ("two", "#decoder-3-4", ""),
        ("doing", "", "induction"),
        ("bare", "", "zebra"),
    ],
)
def test_the_accessibility_check(visit, name, anchor, words):
    page = visit(name, anchor=anchor)
    if words:
        ask(page, words)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settled(page)
        assert violations(page) == [], scheme


def test_a_host_hears_of_sentences(visit_file, studies, tmp_path, monkeypatch):
    """The explorer mounts the same code: its own entry gets the sentence that the reader asks to see."""
    from headscope.reporting.atlas_page import STYLES, atlas_blocks
    from headscope.views import bundle
    from headscope.views.markup import el

    entry = """
import { mountAtlas } from "./atlas/atlas_app.js";
window.heard = [];
window.atlasView = mountAtlas(document.getElementById("app"), {
  onSentence: (sentence) => window.heard.push(sentence),
  onHead: (anchor) => window.heard.push(anchor),
});
window.atlasView.show("encoder-3-7");
"""
    plain = bundle.source
    monkeypatch.setattr(bundle, "source", lambda name: entry if name == "host.js" else plain(name))
    page_text = assemble(
        Page(
            title="host",
            body=[el("main", el("h1", "host"), id="app")],
            data=atlas_blocks(studies["whole"]),
            entry="host.js",
            styles=STYLES,
        )
    )
    (tmp_path / "host.html").write_text(page_text, encoding="utf-8")
    page = visit_file(tmp_path / "host.html")
    assert page.evaluate("window.heard") == []
    page.locator("#grid [data-index='30']").click()
    page.click("text=Show in the views")
    anchor, sentence = page.evaluate("window.heard")
    assert anchor == "encoder-3-7"
    assert {name: sentence[name] for name in ("kind", "layer", "head")} == {"kind": "encoder", "layer": 3, "head": 7}
    assert sentence["text"]
    assert "[CLS]" not in sentence["text"]
    assert sentence["tokens"][0] == "[CLS]"
    page.evaluate("window.atlasView.destroy()")
    assert page.locator(".at-atlas").count() == 0


def test_the_report_and_its_atlas_lead_to_one_another(studies, browser):
    from headscope.reporting.atlas_files import draw

    with blank_figures():
        draw(studies["whole"])
    page = browser.new_page()
    page.goto(studies["whole"].report_path.as_uri())
    page.click("#encoder-2-4")
    page.click("text=This head in the atlas")
    page.wait_for_selector(".at-card")
    assert cards(page) == ["Head 2-4"]
    page.click("text=the report")
    page.wait_for_selector("#card h2")
    page.click("#atlas-link")
    page.wait_for_selector(".at-card")
    page.close()
