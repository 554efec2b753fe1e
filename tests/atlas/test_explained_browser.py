"""Rows that a head's explanation predicts best and worst, on its card: the same words twice, marked by both numbers."""

import math

import pytest

from headscope.present.study import open_study
from headscope.reporting.report_page import render_report
from headscope.reporting.study_words import STUDY_WORDS
from support.mock_explanation import ATTENTION, PREDICTED

pytestmark = pytest.mark.browser


def weights_of(line):
    """How strongly each token of a line is drawn, in percent of ink."""
    return line.locator("[title]").evaluate_all(
        "all => all.map(token => parseFloat(token.style.getPropertyValue('--weight')))"
    )


def test_a_card_shows_what_is_attended_to_and_what_is_predicted(visit):
    rows = visit("explained").locator(".at-explained li")
    assert rows.count() == 3
    assert rows.locator(".at-verdict").all_inner_texts() == [
        "Predicted best, from “ished”: 97% explained",
        "Predicted worst, from “ished”: worse than uniform attention",
        "Predicted worst, from “ished”: 10% explained",
    ]
    told = visit("explained").locator(".at-explained .at-told").all_inner_texts()
    assert told == ["In the treebank: Attends to the direct object of a verb (84%); 84% predicted."]
    worst = rows.nth(1)
    assert worst.locator(".at-side-name").all_inner_texts() == ["attends to", "predicted"]
    for number, weights in enumerate((ATTENTION, PREDICTED)):
        line = worst.locator(".at-weighted").nth(number)
        assert line.inner_text() == "[CLS] … the wished … end"
        assert line.locator(".at-attends").inner_text() == "ished"
        expected = [round(36 * math.sqrt(weight)) for weight in weights]
        assert weights_of(line) == expected
    assert worst.locator("[title]").first.get_attribute("title") == "[CLS]: attention 10%, predicted 55%"
    assert worst.locator(".at-row-told").inner_text() == "most at w (60%), predicted [CLS] (55%)"
    assert rows.nth(0).locator(".at-row-told").inner_text() == "most at w (60%), predicted 60%"
    # Its token is none of the keys that are shown.
    assert rows.nth(2).locator(".at-attends").count() == 0


def test_a_run_that_explained_no_heads_says_what_to_do(visit):
    words = visit("bare").locator(".at-explained").inner_text()
    assert words.endswith("This run explained no heads: run headscope report again.")


def test_hostile_tokens_stay_text(visit):
    line = visit("explained tokens").locator(".at-explained .at-weighted").first
    assert line.inner_text() == "<b> … <i>x \u05d0\u05d1 … &amp;"
    assert line.locator("b, i").count() == 0
    assert line.locator("bdi").inner_text() == "\u05d0\u05d1"


def test_heads_are_found_by_what_explains_them(visit):
    page = visit("explained")

    def found(words):
        page.fill(".at-search input", words)
        page.keyboard.press("Enter")
        return page.locator(".at-found").inner_text()

    assert "2-1" in found("attends never")
    assert page.locator(".at-card h2").last.inner_text().startswith("Head 2-1")
    # What this run did not measure is said of heads by their sentences.
    assert found("direct objects").startswith("6 heads: ")
    assert "Nothing here is called “rare”." in found("rare")
    assert "a word of explanations (frequent, nearby)" in page.locator(".at-found").inner_text()


def test_a_head_has_the_same_first_line_in_all_places(visit_file, studies, sites, tmp_path):
    """Badge, icon, headline, list, tooltip and search of the report, the atlas, `study.heads` and the terminal."""
    study = open_study(studies["explained"].path, words=STUDY_WORDS)
    lines = study.heads["summary"].to_dict()
    report = tmp_path / "report.html"
    report.write_text(render_report(study), encoding="utf-8")
    table = study.tables["explanation"].query("corpus == 'text' and measure == 'weight' and model == 'trained'")
    wrong = []

    def check(head, place, text, part):
        if part not in " ".join(text.split()):
            wrong.append(f"{head} {place}: {part!r} is not in {text!r}")

    for page, where in ((visit_file(report), "report"), (visit_file(sites["explained"]), "atlas")):
        grid = page.locator("#grid" if where == "report" else "section[aria-label='Grid of heads']")
        readout = page.locator("#readout") if where == "report" else grid.locator(".readout")
        card = page.locator(".at-card, #card").first
        rows = page.locator("#table-heads tbody tr, .at-list tbody tr").all_inner_texts()
        rows_of = {row.split()[0]: row for row in rows}
        for index, (head, line) in enumerate(lines.items()):
            name = line.partition(":")[0]
            label = f"{study.heads.loc[head, 'layer']}-{study.heads.loc[head, 'head']}"
            cell = grid.locator("button[data-index]").nth(index)
            cell.hover()
            check(label, f"{where} tooltip", readout.inner_text(), line)
            cell.click()
            check(label, f"{where} headline", card.locator("p.role").first.inner_text(), line)
            check(label, f"{where} badge", card.locator(".badge").first.inner_text(), name)
            check(label, f"{where} icon", card.locator(".badge").first.get_attribute("class"), "role-previous")
            check(label, f"{where} cell", cell.get_attribute("class"), "role-previous")
            check(label, f"{where} list", rows_of.get(label, ""), name)
            cell.click()
    for row in table.to_dict("records"):
        label, sentence = f"{row['layer']}-{row['head']}", row["sentence"].rpartition("; ")[0]
        (line,) = study.heads[(study.heads["layer"] == row["layer"]) & (study.heads["head"] == row["head"])]["summary"]
        check(label, "terminal", line.lower(), sentence.lower())
    assert not wrong, "\n".join(wrong)
