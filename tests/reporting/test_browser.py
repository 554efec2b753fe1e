"""The report in a real browser: no error, no request, every control by mouse and keyboard, both schemes, a phone."""

import re

import numpy as np
import pytest

from headscope.present.words import words_for
from headscope.reporting.report_page import render_report
from headscope.statistics.statistic_catalog import NAMES, is_share
from support import mock_inputs
from support.attention_pages import settled
from support.axe import violations
from support.made_once import MadeWhenRead
from support.mock_behaviors import place_of, with_behaviors
from support.mock_distribution import with_distribution

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def inputs():
    return {
        "encoder": mock_inputs.encoder(),
        "t5": mock_inputs.t5(),
        "decoder": mock_inputs.decoder(),
        "hostile": mock_inputs.hostile(),
        "random": mock_inputs.random_weights(),
        "rows": with_behaviors(with_distribution(mock_inputs.encoder())),
    }


@pytest.fixture(scope="module")
def files(inputs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")

    def make(name):
        path = folder / f"{name}.html"
        path.write_text(render_report(inputs[name]), encoding="utf-8")
        return path

    return MadeWhenRead(inputs, make)


@pytest.fixture
def visit(visit_file, files):
    return lambda name, **options: visit_file(files[name], **options)


@pytest.mark.parametrize("name", ["encoder", "t5", "decoder", "hostile", "random"])
def test_opens_without_an_error_or_a_request(visit, name):
    page = visit(name)
    assert page.locator("#grid button").count() > 0
    assert page.locator("#card h2").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["t5", "rows"])
def test_no_rule_of_accessibility_is_broken(visit, name, scheme):
    page = visit(name, scheme=scheme)
    settled(page)
    assert violations(page) == []


def test_grid_has_a_named_cell_for_each_head(visit, inputs):
    page = visit("encoder")
    roles = inputs["encoder"].roles
    assert page.locator("#grid [role=row]").count() == 6
    assert page.locator("#grid [role=gridcell]").count() == len(roles) == 72
    for _, row in roles.iterrows():
        cell = page.locator(f"#encoder-{row['layer']}-{row['head']}")
        assert cell.get_attribute("class") == f"role-{row['role']}"
        assert cell.get_attribute("aria-label").startswith(f"Head {row['layer']}-{row['head']} · ")
        assert cell.locator("use").get_attribute("href") == f"#shape-{row['role']}"


def test_click_opens_the_card_and_writes_the_address(visit):
    page = visit("encoder")
    page.click("#encoder-2-4")
    assert page.locator("#card h2").inner_text().startswith("Head 2-4")
    assert page.locator("#encoder-2-4").get_attribute("aria-selected") == "true"
    assert page.locator("[aria-selected=true]").count() == 1
    assert page.url.endswith("#encoder-2-4")


def test_address_opens_its_head(visit):
    assert visit("t5", anchor="#cross-2-3").locator("#card h2").inner_text().startswith("Cross head 2-3")
    assert visit("encoder", anchor="#encoder-99-1").locator("#card h2").inner_text().startswith("Head 1-2")


def test_hover_and_focus_name_the_head(visit):
    page = visit("encoder")
    page.hover("#encoder-2-4")
    assert page.locator("#readout").inner_text().startswith("Head 2-4 · Next token: 89% of its attention")
    page.mouse.move(5, 5)
    assert page.locator("#readout").inner_text().startswith("Head 1-2")


def test_arrow_keys_move_and_enter_opens(visit):
    page = visit("encoder")
    page.focus("#encoder-1-2")
    steps = [
        ("ArrowRight", "encoder-1-3"), ("ArrowDown", "encoder-2-3"), ("ArrowLeft", "encoder-2-2"),
        ("ArrowUp", "encoder-1-2"), ("ArrowUp", "encoder-1-2"), ("End", "encoder-1-12"), ("ArrowRight", "encoder-1-12"),
        ("Home", "encoder-1-1"), ("ArrowLeft", "encoder-1-1"), ("PageDown", "encoder-6-1"), ("PageUp", "encoder-1-1"),
        ("Control+End", "encoder-6-12"), ("Control+Home", "encoder-1-1"),
    ]  # fmt: skip
    for key, expected in steps:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.id") == expected, key
    page.keyboard.press("ArrowRight")
    assert re.match(r"Head 1-2 · Previous token: 9\d\.\d% ", page.locator("#readout").inner_text())
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#card h2").inner_text().startswith("Head 2-2")
    assert page.locator("#grid button[tabindex='0']").count() == 1


def test_card_shows_every_statistic_as_the_frame_has_it(visit, inputs):
    page = visit("encoder", anchor="#encoder-4-12")
    stats = inputs["encoder"].stats
    rows = stats[(stats["layer"] == 4) & (stats["head"] == 12).fillna(False) & stats["value"].notna()]
    values = page.locator(".strip .value").all_inner_texts()
    ends = page.locator(".strip .ends").all_inner_texts()
    assert len(values) == len(rows) == 12
    for value, end, (_, row) in zip(values, ends, rows.iterrows()):
        share = not row["statistic"].startswith("entropy")
        scale, step = (100, 0.051) if share else (1, 0.0051)
        assert float(value.rstrip("%nats ")) == pytest.approx(scale * row["value"], abs=step), row["statistic"]
        low, high = (float(part) for part in end.split("–"))
        assert (low, high) == pytest.approx((scale * row["ci_low"], scale * row["ci_high"]), abs=step)


def test_lines_are_the_heads_weights(visit, inputs):
    page = visit("encoder", anchor="#encoder-1-2")
    examples = inputs["encoder"].examples
    row = examples[(examples["behavior"] == "shared") & (examples["layer"] == 1) & (examples["head"] == 2)].iloc[0]
    n = len(row["tokens"])
    weights = np.reshape(row["weights"], (n, n))
    drawn = page.eval_on_selector_all(
        ".lines line", "lines => lines.map(l => ['y1','y2','stroke-opacity'].map(a => Number(l.getAttribute(a))))"
    )
    step = 18 if n > 16 else 20
    shown = np.zeros((n, n))
    for y1, y2, opacity in drawn:
        shown[int(y1 // step), int(y2 // step)] = opacity
    assert np.abs(shown - np.where(weights >= 0.012, weights, 0)).max() < 0.015


def test_a_token_shows_its_attention_alone_by_mouse_and_keyboard(visit):
    page = visit("encoder", anchor="#encoder-1-2")
    tokens = page.locator(".lines .token")
    tokens.nth(3).hover()
    visible = page.locator(".lines line:not(.away)")
    assert {line.get_attribute("y1") for line in visible.all()} == {str(3 * 18 + 9)}
    assert any(text.startswith("9") and text.endswith("%") for text in page.locator(".share").all_text_contents())
    page.mouse.move(5, 5)
    assert page.locator(".lines line.away").count() == 0
    tokens.first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "the"
    assert page.locator(".lines line.away").count() > 0
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.getAttribute('text-anchor')") == "start"


def test_table_is_the_frame(visit, inputs):
    page = visit("encoder")
    stats = inputs["encoder"].stats
    heads = stats[stats["head"].notna()].set_index(["layer", "head", "statistic"])
    rows = page.eval_on_selector_all(
        "#table-heads tbody tr", "rows => rows.map(r => [...r.children].map(c => c.innerText.split('\\n')))"
    )
    assert len(rows) == 72
    roles = inputs["encoder"].roles.set_index(["layer", "head"])["role"]
    words = words_for(inputs["encoder"].manifest)
    for row in rows:
        layer, head = (int(part) for part in row[0][0].split("-"))
        label = words.roles[roles[layer, head]]
        assert row[1][-1].lower() == label.lower()
        shown = [name for name in NAMES if name != "sink_logit"]  # the model has none
        for name, (value, ends) in zip(shown, row[2:], strict=True):
            told = heads.loc[(layer, head, name)]
            scale, step = (100, 0.051) if is_share(name) else (1, 0.0051)
            assert float(value) == pytest.approx(scale * told["value"], abs=step)
            low, high = (float(end) for end in ends.split("–"))
            assert (low, high) == pytest.approx((scale * told["ci_low"], scale * told["ci_high"]), abs=step)


def test_table_sorts_by_click_and_keyboard(visit):
    page = visit("encoder")

    def column(place):
        return [
            float(text.split("\n")[0]) for text in page.locator(f"#table-heads td:nth-child({place})").all_inner_texts()
        ]

    header = page.locator("#table-heads th[data-column='0']")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(3) == sorted(column(3), reverse=True)
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(3) == sorted(column(3))
    assert page.locator("#table-heads th[aria-sort$=ending]").count() == 1


def test_nulls_sort_last(visit):
    page = visit("t5")
    header = page.locator("#table-heads th[data-column='0'] button")
    for _ in range(2):
        header.click()
        values = [text.split("\n")[0] for text in page.locator("#table-heads td:nth-child(3)").all_inner_texts()]
        assert values[-12:] == ["–"] * 12
        assert "–" not in values[:-12]


def test_table_filters(visit, inputs):
    page = visit("encoder")
    page.select_option("#filter-role", "next")
    assert page.locator("#table-heads tbody tr").count() == (inputs["encoder"].roles["role"] == "next").sum()
    assert page.locator("#heads-status").inner_text() == "1 of 72 heads."
    page.select_option("#filter-role", "")
    page.fill("#find-head", "3-")
    assert page.locator("#table-heads tbody tr").count() == 12


def test_table_link_opens_the_card(visit):
    page = visit("encoder")
    page.click("#table-heads a[href='#encoder-3-10']")
    assert page.locator("#card h2").inner_text().startswith("Head 3-10")
    page.wait_for_function("document.getElementById('card').getBoundingClientRect().top < innerHeight")


def top_of(page, selector):
    return page.evaluate(f"document.querySelector('{selector}').getBoundingClientRect().top")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 760)])
def test_the_contents_stay_in_sight_and_say_where_the_reader_is(visit, width, height):
    page = visit("encoder", width=width, height=height)
    page.locator("#section-heads").evaluate("part => part.scrollIntoView()")
    page.wait_for_function("() => document.querySelector('nav [aria-current]') !== null")
    assert -1 <= top_of(page, "nav") < 2
    rail = page.locator("nav").bounding_box()
    assert page.locator("nav [aria-current]").get_attribute("href") == "#section-heads"
    # The heading that was asked for is not below them.
    heading = page.locator("#section-heads h2").first.bounding_box()
    assert heading["x"] >= rail["x"] + rail["width"] or heading["y"] >= rail["y"] + rail["height"] - 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 760)])
def test_the_card_comes_to_the_reader(visit, width, height):
    page = visit("encoder", width=width, height=height)
    link = page.locator("#table-heads a[href='#encoder-3-10']")
    link.scroll_into_view_if_needed()
    page.wait_for_function("() => location.hash.includes('section-heads')")
    # On the screen: a card of another height above is made up for by scrolling.
    before = link.bounding_box()["y"]
    # As a click, without the driver's own scrolling to what it clicks on.
    link.evaluate("e => { e.focus({ preventScroll: true }); e.click(); }")
    assert link.bounding_box()["y"] == pytest.approx(before, abs=2)
    box = page.locator("#card").bounding_box()
    assert 0 <= box["y"] < height
    assert box["y"] + box["height"] <= height + 1
    assert box["x"] + box["width"] <= width + 1
    assert page.locator("#card h2").inner_text().startswith("Head 3-10")
    page.keyboard.press("Escape")
    assert link.bounding_box()["y"] == pytest.approx(before, abs=2)
    assert page.locator("#card.docked").count() == 0
    assert link.evaluate("e => e === document.activeElement")
    link.click()
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("() => !document.querySelector('#card.docked')")


def test_the_address_restores_the_place(visit):
    page = visit("encoder")
    page.locator("#table-heads a[href='#encoder-3-10']").click()
    page.wait_for_function("() => location.hash === '#section-heads&encoder-3-10'")
    again = visit("encoder", anchor="#section-heads&encoder-3-10")
    assert again.locator("#card h2").inner_text().startswith("Head 3-10")
    assert again.locator("#card.docked").count() == 1
    assert abs(top_of(again, "#section-heads")) < 150
    assert again.locator("#encoder-3-10").get_attribute("aria-selected") == "true"
    alone = visit("encoder", anchor="#section-heads")
    assert abs(top_of(alone, "#section-heads")) < 150
    assert alone.locator("#card.docked").count() == 0


def test_back_returns_to_the_head_of_before(visit):
    page = visit("encoder", anchor="#section-heads&encoder-3-10")
    page.locator("#table-heads a[href='#encoder-3-11']").click()
    assert page.locator("#card h2").inner_text().startswith("Head 3-11")
    page.go_back()
    page.wait_for_function("() => document.querySelector('#card h2').innerText.startsWith('Head 3-10')")


def test_tabs_change_the_kind(visit):
    page = visit("t5")
    page.click("#kinds button[data-kind=cross]")
    assert page.locator("#grid button").first.get_attribute("id") == "cross-1-1"
    assert page.locator("#card h2").inner_text().startswith("Cross head 1-1")
    page.keyboard.press("ArrowRight")
    assert page.locator("#kinds [aria-selected=true]").inner_text() == "encoder"
    assert page.locator("#grid button").first.get_attribute("id") == "encoder-1-1"


def test_color_by_a_statistic(visit, inputs):
    page = visit("encoder")
    page.select_option("#color", "cls")
    stats = inputs["encoder"].stats
    cls = stats[(stats["statistic"] == "cls") & stats["head"].notna()]
    for _, row in cls.iloc[::9].iterrows():
        cell = page.locator(f"#encoder-{row['layer']}-{row['head']}")
        shade = cell.evaluate("e => e.style.getPropertyValue('--amount')")
        assert float(shade.rstrip("%")) == pytest.approx(100 * row["value"] / cls["value"].max(), abs=0.51)
        assert "[CLS] " in cell.get_attribute("aria-label")
    assert page.locator("#legend").inner_text() == f"[CLS]: 0 to {100 * cls['value'].max():.0f}%"


def test_legend_dims_the_other_roles(visit, inputs):
    page = visit("encoder")
    page.click("#legend .role-cls")
    assert page.locator("#grid button:not(.off)").count() == (inputs["encoder"].roles["role"] == "cls").sum()
    page.keyboard.press("Enter")
    assert page.locator("#grid button.off").count() == 0


def test_points_name_their_head_and_open_it(visit):
    page = visit("encoder")
    point = page.locator("#section-position [data-head='2-4']").first
    point.scroll_into_view_if_needed()
    point.hover()
    assert page.locator(".tip").inner_text().startswith("Head 2-4 · previous token ")
    point.click()
    assert page.locator("#card h2").inner_text().startswith("Head 2-4")


def test_hostile_tokens_are_text(visit):
    page = visit("hostile")
    shown = page.locator(".lines .token").all_text_contents()
    assert any(text.startswith("</script><script") for text in shown)
    assert page.locator("h1").inner_text() == "What does </title><script>alert(3)</script> look at?"
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 4  # three blocks of data, and the page's own


@pytest.mark.parametrize("widths", [(360, 390, 768), (1280,)], ids=["phone", "screen"])
@pytest.mark.parametrize("name", ["encoder", "t5", "hostile"])
def test_the_page_never_scrolls_sideways(visit, name, widths):
    page = visit(name, width=widths[0], height=800)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_wide_figures_can_be_read_and_scrolled(visit):
    page = visit("rows", width=390, height=760)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for section in ("distribution", "behaviors"):
        figure = page.locator(f"#section-{section} figure:has(> svg.figure)").first
        letters = figure.locator("text").first.evaluate("one => one.getBoundingClientRect().height")
        assert letters >= 8
        wide, there = figure.evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert wide > there > 330
        figure.evaluate("one => { one.scrollLeft = 100; }")
        assert figure.evaluate("one => one.scrollLeft") == 100
    tick = page.locator("#head-scatter .scatter-tick").first
    assert tick.evaluate("one => one.getBoundingClientRect().height") >= 9


def test_cells_can_be_hit_by_a_finger(visit):
    box = visit("encoder", width=360, height=740).locator("#encoder-1-1").bounding_box()
    assert box["width"] >= 20


@pytest.mark.parametrize(("scheme", "paper", "ink"), [("light", 251, 28), ("dark", 21, 232)])
def test_both_schemes(visit, scheme, paper, ink):
    page = visit("encoder", scheme=scheme)

    def channel(expression):
        return page.evaluate(f"Number({expression}.match(/\\d+/)[0])")

    assert channel("getComputedStyle(document.body).backgroundColor") == paper
    assert channel("getComputedStyle(document.body).color") == ink
    texts = "[...document.querySelectorAll('svg.figure text')]"
    title = f"getComputedStyle({texts}.find(t => t.textContent == 'Next token'))"
    assert channel(f"{title}.fill") == ink


def test_print_is_light_and_leaves_folds_as_they_are(visit):
    page = visit("encoder", scheme="dark", folded=True)
    page.locator("#group-appendix > details > summary").click()
    folds = "[...document.querySelectorAll('details')].map(fold => fold.open)"
    before = page.evaluate(folds)
    assert {True, False} == set(before)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(folds) == before
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.getElementById('card')).position") == "static"
    assert not page.locator("#filters").is_visible()
    # No pointer names the cells of paper.
    named = "e => getComputedStyle(e, '::after').content"
    assert page.locator("#encoder-2-4").evaluate(named) == '"2-4"'
    assert page.locator(".axis-name").inner_text().split() == ["layer", "↓", "head", "→"]


def test_the_card_of_an_induction_head_opens_on_induction(visit, inputs):
    (kind,) = inputs["rows"].manifest["kinds"]
    layer, head = place_of("induction", kind["layers"], kind["heads"])
    page = visit("rows", anchor=f"#encoder-{layer}-{head}")
    assert page.locator("#card .shown").inner_text() == (
        "Shows induction: 90% on tokens after an earlier copy, over the tokens that repeat here: “cat” → “sat”, "
        "“sat” → “where”."
    )
    assert page.locator("#card .lines line.marked").count() == 2


def printed_pages(page):
    return len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))


def test_printing_takes_what_is_unfolded_and_folds_nothing_after(visit):
    page = visit("encoder", folded=True)
    assert printed_pages(page) <= 12
    page.locator(".group > details > summary").first.click()
    folds = "[...document.querySelectorAll('details')].map(fold => fold.open)"
    before = page.evaluate(folds)
    assert {True, False} == set(before)
    one_open = printed_pages(page)
    assert page.evaluate(folds) == before
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert printed_pages(page) > one_open


def test_a_large_model_opens_fast_and_writes_rows_as_needed(browser, tmp_path):
    path = tmp_path / "large.html"
    path.write_text(render_report(mock_inputs.encoder(10, 32)), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(path.as_uri())
    # From parse to the card's first drawing, on a slow machine.
    assert page.evaluate("performance.getEntriesByType('navigation')[0].domComplete") < 8000
    assert page.locator("#grid button").count() == 320
    assert page.locator("#table-heads tbody tr").count() == 100
    page.evaluate("document.getElementById('heads').scrollTop = 1e6")
    page.wait_for_function("document.querySelectorAll('#table-heads tbody tr').length == 200")
    page.close()
