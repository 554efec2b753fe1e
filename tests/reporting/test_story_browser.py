"""The page in three layers: questions that a reader has are answered in at most two clicks; axe; a phone; the rail."""

import pytest

from headscope.report_kit.report_parts import GROUPS
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.axe import violations
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
    "Which head for antecedents, such as of “it”?": (
        ["nav a[href='#section-coref']"],
        "#section-coref",
        "pronoun",
    ),
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
        page.evaluate(
            "document.querySelectorAll('details').forEach(fold => { fold.open = false; }); scrollTo(0, 0)"
        )
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
