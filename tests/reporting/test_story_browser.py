"""The page in three layers: questions that a reader has are answered in at most two clicks; axe; a phone; the rail."""

import pytest

from headscope.present.report_parts import GROUPS
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.axe import violations
from support.measured import blank_figures
from support.mock_behaviors import with_behaviors
from support.mock_distances import with_distances
from support.mock_importance import with_importance
from support.mock_norms import with_norms

pytestmark = pytest.mark.browser
MOST_CLICKS = 2
# A question, what is clicked on the way from the first screen, and where the answer stands, with words of it.
QUESTIONS = {
    "Which head finds objects?": (["#grid button:has([data-brief='obj'])"], "#card", "obj"),
    "Which head attends to the previous token?": ([], ".findings", "previous token"),
    "What does head 3-10 do?": (["#encoder-3-10"], "#card .role", ""),
    "Is [SEP] a sink?": (["nav a[href='#section-special']"], "#section-special", "[SEP]"),
    "Which heads copy?": (["nav a[href='#section-experiments']"], "#section-experiments", "2-"),
    "May I trust a cluster of heads?": (["nav a[href='#section-distances']"], "#section-distances", "stab"),
    "Which head for antecedents, such as of “it”?": (["nav a[href='#section-coref']"], "#section-coref", "pronoun"),
    "Is a head inactive?": (["nav a[href='#section-norms']"], "#section-norms", "inactive"),
    "What does the loss depend on?": (["nav a[href='#section-importance']"], "#section-importance", "loss"),
    "What does a number mean?": (
        ["nav a[href='#section-how']", "#section-how summary:has-text('What each number is')"],
        "#section-how",
        "Best offset",
    ),
    "What was run?": ([], ".run", "segments"),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    run = with_norms(with_importance(with_distances(with_behaviors(mock_inputs.section_4(6, 12)))))
    path = tmp_path_factory.mktemp("story") / "report.html"
    path.write_text(render_report(run), encoding="utf-8")
    return path


def test_every_question_is_answered_from_the_first_screen_in_two_clicks(visit_file, file):
    page = visit_file(file, folded=True)
    assert page.locator("details[open]").count() == 0
    for question, (clicks, answer, words) in QUESTIONS.items():
        assert len(clicks) <= MOST_CLICKS, question
        page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = false; }); scrollTo(0, 0)")
        for selector in clicks:
            page.locator(selector).first.click()
        told = page.locator(answer).first
        assert told.is_visible(), question
        assert words.lower() in told.inner_text().lower(), question
        if any("nav" in selector for selector in clicks):
            top, height = told.evaluate("e => [e.getBoundingClientRect().top, innerHeight]")
            assert -60 <= top < height, question


def test_what_a_reader_meets_first_is_short_and_everything_is_behind_it(visit_file, file):
    page = visit_file(file, folded=True, height=800)
    groups = page.eval_on_selector_all("section.group", "all => all.map(one => one.id.replace('group-', ''))")
    assert groups == [name for name in GROUPS if name in groups] + ["appendix"]
    assert page.evaluate("document.documentElement.scrollHeight") <= 4 * 800
    words = len(page.locator("main").inner_text().split())
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert 4 * words <= len(page.locator("main").inner_text().split())
    sections = page.eval_on_selector_all("[id^=section-]", "all => all.map(one => one.id)")
    listed = page.eval_on_selector_all("nav a[href^='#section-']", "all => all.map(one => one.hash.slice(1))")
    assert sorted(set(sections) - set(listed)) in ([], ["section-paper"])
    assert set(listed) <= set(sections)


def test_no_sentence_stands_twice(visit_file, file):
    page = visit_file(file)
    said = page.locator(".findings li, .finding").all_inner_texts()
    assert len(said) > 8
    assert sorted(set(said)) == sorted(said)


@pytest.mark.parametrize("of", ["encoder", "decoder", "t5"])
def test_every_finding_of_the_story_has_its_small_figure(visit_file, tmp_path, of):
    run = with_norms(with_importance(with_distances(with_behaviors(getattr(mock_inputs, of)()))))
    path = tmp_path / "report.html"
    with blank_figures():
        path.write_text(render_report(run), encoding="utf-8")
    page = visit_file(path, folded=True)
    without = page.eval_on_selector_all(
        ".findings li, .lead",
        "all => all.filter(one => !one.querySelector('.small-grid, .small-bars')).map(one => one.innerText)",
    )
    assert page.locator(".findings li, .lead").count() >= 6
    assert without == []


def test_small_multiples_stand_side_by_side_and_what_explains_them_beside_or_below(visit_file, file):
    page = visit_file(file, width=1280)
    rows = page.eval_on_selector_all(
        "#section-position .panels > figure", "all => all.map(one => Math.round(one.getBoundingClientRect().top))"
    )
    assert len(rows) == 3
    assert len(set(rows)) == 1
    boxes = page.eval_on_selector_all(
        ".captioned:has(figure, p)",
        """all => all.map(one => [...one.children].map(part => {
            const { left, right, top, bottom } = part.getBoundingClientRect();
            return [left, right, top, bottom];
        }))""",
    )
    assert len(boxes) >= 10
    sides = {}
    for (left, right, top, bottom), (left_notes, right_notes, top_notes, _) in boxes:
        beside = right < left_notes and top == top_notes
        below = left == left_notes and bottom <= top_notes + 1
        assert beside or below
        assert right_notes - left_notes >= 260
        sides[beside] = sides.get(beside, 0) + 1
    assert set(sides) == {True, False}
    # Every section with a figure or a table has words that explain it.
    empty = page.eval_on_selector_all(
        ".evidence > [id^=section-]:not(#section-heads, #section-how, #section-paper)",
        "all => all.filter(one => !one.querySelector('.notes .caption')).map(one => one.id)",
    )
    assert empty == []
    # Nothing is cut: what is wider than its box scrolls in it.
    cut = page.eval_on_selector_all(
        ".evidence figure:has(.figure)",
        """all => all.filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1)
            .map(one => one.innerHTML.slice(0, 80))""",
    )
    assert cut == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_on_a_phone_what_explains_a_figure_stands_below_it(visit_file, file):
    page = visit_file(file, width=390)
    ends = page.eval_on_selector_all(
        ".captioned:has(.panels)",
        """all => all.map(one => {
            const [part, notes] = [...one.children].map(each => each.getBoundingClientRect());
            return [part.bottom, notes.top];
        })""",
    )
    assert all(bottom <= top for bottom, top in ends)


def test_a_figure_that_scrolls_is_a_tab_stop(visit_file, file):
    page = visit_file(file, width=390, height=844)
    figures = "[...document.querySelectorAll('figure:has(.figure)')].filter(one => one.checkVisibility())"
    scrolls = "one => one.scrollWidth > one.clientWidth"
    assert 0 < page.evaluate(f"{figures}.filter({scrolls}).length") < page.evaluate(f"{figures}.length")
    # The browser says of a size after it has drawn with it.
    page.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
    others = page.evaluate(
        f"{figures}.map(one => [({scrolls})(one), one.tabIndex]).filter(([does, at]) => does !== (at === 0))"
    )
    assert others == []


def test_a_term_says_what_it_means_where_a_section_first_uses_it(visit_file, file):
    page = visit_file(file)
    terms = page.eval_on_selector_all(
        ".term", "all => all.map(one => [(one.closest('section[id]') || { id: '' }).id, one.dataset.term])"
    )
    assert len(set(map(tuple, terms))) == len(terms)
    wanted = {"sink", "held out", "nats", "norm weighted", "uniform", "random weights", "95% interval"}
    assert wanted <= {term for _, term in terms}
    term = page.locator("#section-norms .term[data-term='sink']")
    tip = page.locator("#term-tip")
    assert not tip.is_visible()
    term.hover()
    assert tip.inner_text().startswith("A token that receives the attention")
    page.mouse.move(0, 0)
    assert not tip.is_visible()
    term.focus()
    assert tip.is_visible()
    assert term.get_attribute("aria-describedby") == "term-tip"
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_terms_and_headings_lead_to_the_list_of_definitions(visit_file, file):
    page = visit_file(file, folded=True)
    page.locator("#group-where > details > summary").click()
    for link, entry in (
        ("#section-norms .term[data-term='sink']", "#term-sink"),
        ("#section-norms .meaning", "#term-output"),
    ):
        page.locator(link).click()
        assert page.locator(entry).is_visible()
        top, height = page.locator(entry).evaluate("e => [e.getBoundingClientRect().top, innerHeight]")
        assert 0 <= top < height
    page.locator("#card a[href='#glossary']").click()
    assert page.locator("#glossary").is_visible()
    page.evaluate("scrollTo(0, 0)")
    page.locator("#section-norms .meaning").focus()
    page.keyboard.press("Enter")
    assert page.locator("#term-output").evaluate("e => e.getBoundingClientRect().top < innerHeight")


def test_a_long_table_shows_ten_rows_and_all_on_demand(visit_file, file):
    page = visit_file(file)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    rows = page.locator("#table-norms-encoder tbody tr")
    shown = "all => all.filter(one => one.checkVisibility()).length"
    assert rows.count() == 72
    assert rows.evaluate_all(shown) == 10
    button = page.locator("#section-norms .more-rows")
    assert button.inner_text() == "Show all 72 rows"
    button.focus()
    page.keyboard.press("Enter")
    assert rows.evaluate_all(shown) == 72
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert rows.evaluate_all(shown) == 10
    # The ten are those with the longest output beside their layer's; a table of layers is whole.
    numbers = [
        float(cell) for cell in page.locator("#table-norms-encoder tbody tr > :nth-child(3)").all_text_contents()
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert page.locator("#section-position .more-rows").count() == 0


def test_paper_keeps_colors_and_shows_what_is_unfolded(visit_file, file):
    page = visit_file(file, width=688, height=970)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    page.emulate_media(media="print", color_scheme="dark")
    style = "(e, name) => getComputedStyle(e)[name]"
    cell = page.locator("#grid button").first
    assert cell.evaluate(style, "printColorAdjust") == "exact"
    assert page.locator("body").evaluate(style, "backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#section-norms figure").first.is_visible()
    assert page.locator("nav, .more-rows, .meaning").filter(visible=True).count() == 0
    # Neither a figure nor a table reaches beyond the sheet.
    wide = page.eval_on_selector_all(
        "figure:has(.figure), .evidence table",
        """all => all.filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
            .map(one => one.id || one.className)""",
    )
    assert wide == []


def test_an_address_opens_the_fold_of_its_section(visit_file, file):
    page = visit_file(file, anchor="#section-coref&encoder-2-3")
    assert page.locator("#section-coref").is_visible()
    assert page.locator("#group-where details[open]").count() == 0


def test_the_rail_is_a_button_on_a_phone(visit_file, file):
    page = visit_file(file, width=390, height=844, folded=True)
    button = page.get_by_role("button", name="Contents")
    link = page.locator("nav a[href='#section-syntax']")
    assert not link.is_visible()
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    link.click()
    assert not link.is_visible()
    assert page.locator("#section-syntax").is_visible()
    page.keyboard.press("Escape")
    # The grid comes before the sentences.
    tops = [page.locator(selector).bounding_box()["y"] for selector in ("#grid", ".findings")]
    assert tops[0] < tops[1]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_first_tab_skips_to_the_story(visit_file, file):
    page = visit_file(file, folded=True)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.hash") == "#story"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_no_rule_of_accessibility_is_broken(visit_file, file, scheme, width):
    assert violations(visit_file(file, scheme=scheme, width=width, folded=True)) == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_no_rule_of_accessibility_is_broken_where_all_is_unfolded(visit_file, file, scheme, width):
    page = visit_file(file, scheme=scheme, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    page.wait_for_timeout(200)
    assert violations(page) == []
