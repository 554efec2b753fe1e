"""Relations and coreference in a real browser: marks and cards, the switch, links, phones, paper, both schemes."""

import re

import pytest

from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.attention_pages import settled
from support.measured import with_parts
from support.mock_importance import with_importance

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pages = {
        "run": mock_inputs.section_4(6, 12),
        # Without curves, which take most of the time.
        "kinds": with_parts(mock_inputs.two_kinds(), syntax_by_distance=None),
        "loss": with_importance(mock_inputs.encoder(2, 3)),
        "hostile": with_parts(mock_inputs.hostile_section_4(), syntax_by_distance=None),
    }
    for name, inputs in pages.items():
        (folder / f"{name}.html").write_text(render_report(inputs), encoding="utf-8")
    return folder


@pytest.fixture
def visit(visit_file, files):
    return lambda name, **options: visit_file(files / f"{name}.html", **options)


def test_the_grid_marks_heads_that_find_something(visit):
    page = visit("run")
    roles = mock_inputs.section_4(6, 12).roles
    finding = roles[roles["finds"].map(len) > 0]
    assert page.locator("#grid .found").count() == len(finding)
    for _, row in finding.iterrows():
        cell = page.locator(f"#encoder-{row['layer']}-{row['head']}")
        expected = "coreference" if row["finds"] == ["coreference"] else "syntax"
        assert cell.locator(".found").get_attribute("class") == f"found role-{expected}"
        assert all(name in cell.get_attribute("aria-label") for name in row["finds"])


def test_the_card_says_what_the_head_finds_and_how_well(visit):
    page = visit("run", anchor="#encoder-3-2")
    lines = page.locator("#card .finds li").all_inner_texts()
    assert [" ".join(line.split()) for line in lines] == [
        "finds nmod noun modifier 37.0% 34.0–40.0", "finds cop copula 56.3% 51.7–60.9",
    ]  # fmt: skip
    page.click("#encoder-1-1")
    assert page.locator("#card .finds").count() == 0


def test_the_card_shows_a_sentence_on_which_the_head_is_right(visit):
    page = visit("run", anchor="#encoder-3-2")
    shown = page.locator("#card .shown").inner_text()
    assert shown.startswith("Finds nmod: ")
    assert " on the right words: " in shown
    assert page.locator("#card line.marked").count() > 0
    assert page.locator("#card .lines").get_attribute("class") == "lines role-syntax"


def test_what_is_found_is_the_largest_mark_of_its_cell(visit):
    page = visit("run")
    cell = page.locator("#encoder-3-2")
    areas = cell.evaluate(
        "e => [e.querySelector('.found'), e.querySelector(':scope > .shape')].map(one => "
        "one.getBoundingClientRect()).map(box => box.width * box.height)"
    )
    assert areas[0] > 3 * areas[1]
    assert cell.locator(".found-name").get_attribute("data-brief") == "nmod+"


def test_the_numbers_of_table_1_are_seen_on_a_phone(visit):
    page = visit("run", width=390, height=800)
    row = page.locator("#table-1 tbody tr").first
    for place in (0, 2, 3):  # head, accuracy, best offset; between them the picture, left out
        box = row.locator("td").nth(place).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390, place


def test_the_grid_takes_the_color_of_a_relation(visit):
    page = visit("run")
    page.select_option("#color", "finds obj")
    table = mock_inputs.section_4(6, 12).table("syntax")
    own = table[(table["relation"] == "obj") & (table["model"] == "trained")]
    best = own.groupby(["layer", "head"])["accuracy"].max()
    for (layer, head), value in best.iloc[::9].items():
        shade = page.locator(f"#encoder-{layer}-{head}").evaluate("e => e.style.getPropertyValue('--amount')")
        assert float(shade.rstrip("%")) == pytest.approx(100 * value / best.max(), abs=0.51)


def test_the_grid_takes_the_color_of_importance(visit):
    page = visit("loss")
    page.select_option("#color", "importance.weight_times_gradient.sep")
    table = with_importance(mock_inputs.encoder(2, 3)).table("importance")
    own = table[(table["measure"] == "weight_times_gradient") & (table["key_class"] == "sep")]
    heads = own[own["head"].notna()]
    for row in heads.to_dict("records"):
        cell = page.locator(f"#encoder-{row['layer']}-{row['head']}")
        shade = cell.evaluate("e => e.style.getPropertyValue('--amount')")
        assert float(shade.rstrip("%")) == pytest.approx(100 * row["value"] / heads["value"].max(), abs=0.51)
        # A number so small is not rounded to nothing.
        told = re.search(r"gradient: \[SEP\] ([\d.]+) nats", cell.get_attribute("aria-label"))
        assert float(told[1]) == pytest.approx(row["value"], rel=0.05)
    topics = page.locator("#color optgroup").evaluate_all("all => all.map(one => one.label)")
    assert topics == ["What it looks at", "What the loss depends on"]


def test_the_key_dims_all_but_the_finders(visit):
    page = visit("run")
    page.click("#legend .role-syntax")
    assert page.locator("#grid button:not(.off)").count() == page.locator("#grid .found.role-syntax").count() == 11
    assert page.locator("#legend .role-syntax").inner_text().split() == ["Finds", "a", "relation", "11"]
    page.keyboard.press("Enter")
    assert page.locator("#grid button.off").count() == 0


def test_the_table_of_heads_has_a_column_that_sorts_and_filters(visit):
    page = visit("run")
    header = page.locator("#table-heads th[data-column=finds]")
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    cells = page.locator("#table-heads td:nth-child(3)").all_inner_texts()
    assert [len(text.split(", ")) if text else 0 for text in cells[:4]] == [2, 2, 2, 2]
    assert cells[-1] == ""
    page.fill("#find-head", "xcomp")
    assert page.locator("#table-heads tbody th").all_inner_texts() == ["2-7"]


@pytest.mark.parametrize(
    ("link", "head"),
    [("#table-1 a[href='#encoder-4-2'] >> nth=0", "Head 4-2"), ("#table-2 a >> nth=0", "Head 4-7"),
     ("#table-heat-encoder a[href='#encoder-2-7']", "Head 2-7"), ("#section-arcs .which a >> nth=0", "Head 3-1")],
)  # fmt: skip
def test_heads_open_their_card(visit, link, head):
    page = visit("run")
    page.click(link)
    assert page.locator("#card h2").inner_text().startswith(head)


def test_the_switch_hides_special_tokens_by_keyboard(visit):
    page = visit("run")
    special = page.locator("#section-arcs .arcs").first.locator(".special")
    assert special.count() > 4
    assert special.last.is_visible()
    page.focus("#hide-special")
    page.keyboard.press("Space")
    assert page.locator("#section-arcs .arcs .special:visible").count() == 0
    assert page.locator("#section-arcs .arcs").first.locator("text:visible").count() > 10
    page.keyboard.press("Space")
    assert special.last.is_visible()


def test_two_kinds_mark_each_its_own_heads(visit):
    page = visit("kinds")
    assert page.locator("#grid .found").count() > 0
    page.click("#kinds button[data-kind=decoder]")
    assert page.locator("#grid .found").count() == 0


def test_hostile_words_are_text(visit):
    page = visit("hostile", anchor="#encoder-1-1")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 4
    words = page.locator("#section-arcs .arcs text").all_text_contents()
    assert any(word.startswith("<b></script><") for word in words)
    assert "</script><script>aler…" in page.locator("#card .finds").inner_text()


@pytest.mark.parametrize("widths", [(360, 768), (1280,)], ids=["phone", "screen"])
@pytest.mark.parametrize("name", ["run", "kinds", "hostile"])
def test_the_page_never_scrolls_sideways(visit, name, widths):
    page = visit(name, width=widths[0], height=800)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("scheme", "green"), [("light", "rgb(0, 127, 92)"), ("dark", "rgb(47, 191, 148)")])
def test_drawings_follow_the_scheme(visit, scheme, green):
    page = visit("run", scheme=scheme)
    strong = page.locator("#section-arcs .arcs .strong").first
    assert strong.evaluate("e => getComputedStyle(e).stroke") == green
    dot = page.locator("#table-1 .dot").first
    assert dot.evaluate("e => getComputedStyle(e).fill") == green
    shades = [page.locator(f".heat-key .v{step}").first.evaluate("e => getComputedStyle(e).backgroundColor")
              for step in (1, 9)]  # fmt: skip
    violet, yellow = "rgb(72, 22, 104)", "rgb(218, 227, 25)"
    assert shades == ([yellow, violet] if scheme == "light" else [violet, yellow])


def test_paper_is_light(visit):
    page = visit("run", scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    stroke = page.locator("#section-arcs .arcs .strong").first.evaluate("e => getComputedStyle(e).stroke")
    assert stroke == "rgb(0, 127, 92)"
    cell = page.locator(".heat-key .v9").first.evaluate("e => getComputedStyle(e).backgroundColor")
    assert cell == "rgb(72, 22, 104)"
    assert not page.locator("#hide-special").is_visible()
