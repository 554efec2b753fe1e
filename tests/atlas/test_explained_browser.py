"""Rows that a head's explanation predicts best and worst, on its card: the same words twice, marked by both numbers."""

import math

import pytest

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
