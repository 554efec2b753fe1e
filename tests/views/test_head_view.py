"""The head view in a real browser: lines, hover, pin, heads, keys, filters; shown weights are the payload's."""

import numpy as np
import pytest

from headscope.views.attention_page import attention_page
from support import made_maps
from support.attention_pages import ink, settled

pytestmark = pytest.mark.browser


def weights_of(made, name="pair", layer=0):
    return made[name].kinds[0].weights[layer]


def numbers(page, side):
    """{place: percent} of the numbers that are shown on one side."""
    told = page.eval_on_selector_all(
        f".hs-head .hs-{side} .hs-on",
        "rows => rows.map(row => [Number(row.dataset.place), row.querySelector('.hs-share').textContent])",
    )
    return {place: float(text.rstrip("%")) for place, text in told}


def test_opens_with_every_token_on_both_sides_and_the_mean_of_the_heads(visit, made):
    page = visit("pair")
    tokens = list(made["pair"].kinds[0].queries.tokens)
    for side in ("query", "key"):
        assert page.locator(f".hs-head .hs-{side} .hs-label").all_text_contents() == tokens
    assert page.locator(".hs-heads input").is_checked()
    mean = weights_of(made).mean(axis=0)
    near = int((np.abs(mean - 0.01) < 1e-3).sum())
    assert abs(lines_told(page) - int((mean >= 0.01).sum())) <= near
    assert ink(page, ".hs-head .hs-base") > 1000


def lines_told(page):
    return int(page.locator(".hs-head .hs-count").inner_text().split()[0].replace(",", ""))


def test_all_heads_say_how_many_lines_they_have(visit, made):
    page = visit("pair", "mean=0&faint=0")
    lines = int((weights_of(made) >= 0.01).sum())
    # One byte a weight moves a weight on the edge: by no more than the page itself states.
    near = int((np.abs(weights_of(made) - 0.01) < 1e-3).sum())
    said = page.locator(".hs-head .hs-count").inner_text()
    assert said.endswith("lines: every weight of 0.01 or more.")
    assert abs(lines_told(page) - lines) <= near


DARKNESS = """canvases => canvases.reduce((sum, canvas) => {
    if (!canvas.width || !canvas.height) return sum;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    let most = 0;
    for (let i = 0; i < data.length; i += 4) most = Math.max(most, data[i + 1]);
    for (let i = 0; i < data.length; i += 4) sum += (most - data[i + 1]) / (data.length / 4);
    return sum;
}, 0)"""


def test_lines_of_the_tokens_that_heads_rest_on_are_faint_until_one_click(visit, made):
    page = visit("pair", "heads=3")  # this head looks at [SEP]
    names = page.locator(".hs-field", has_text="[CLS], [SEP] faint").locator("input")
    assert names.is_checked()
    said = page.locator(".hs-head .hs-count").inner_text()
    assert said.endswith("; those of [CLS], [SEP] are drawn faintly.")
    faint = page.eval_on_selector_all(".hs-head .hs-base", DARKNESS)
    lines = lines_told(page)
    names.uncheck()
    settled(page)
    assert page.url.endswith("heads=3&faint=0")
    assert page.eval_on_selector_all(".hs-head .hs-base", DARKNESS) > 1.5 * faint
    assert lines_told(page) == lines
    page = visit("generated")
    assert page.locator(".hs-field", has_text="Once faint").is_visible()


def test_the_lines_have_the_width_of_a_phone_and_stay_near_enough_to_follow(visit):
    for width in (390, 1400):
        page = visit("pair", width=width)
        ends = page.locator(".hs-head .hs-columns").bounding_box()
        box = page.locator("[role=tabpanel]").bounding_box()
        assert ends["width"] >= min(520, box["width"] - 24)


def test_all_heads_of_a_long_text_leave_the_ground_to_be_seen(visit):
    """No carpet: of a text of 300 tokens, a third of the pixels at most are far from the ground."""
    page = visit("long", "mean=0")
    page.wait_for_function("document.querySelector('.hs-lines').getAttribute('aria-busy') === 'false'")
    dark = page.locator(".hs-base").first.evaluate(
        """(canvas) => {
            const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            let most = 0, far = 0;
            for (let i = 0; i < data.length; i += 4) most = Math.max(most, data[i + 1]);
            for (let i = 0; i < data.length; i += 4) far += most - data[i + 1] > 100;
            return far / (data.length / 4);
        }"""
    )
    assert dark < 1 / 3


def test_hover_shows_a_querys_row_as_numbers(visit, made):
    page = visit("pair", "heads=2")
    page.hover(".hs-query [data-place='5']")
    row = weights_of(made)[1, 5]
    told = numbers(page, "key")
    assert {place for place, weight in enumerate(row) if weight >= 0.011} <= set(told)
    assert not {place for place, weight in enumerate(row) if weight < 0.009} & set(told)
    for place, percent in told.items():
        assert percent == pytest.approx(100 * row[place], abs=0.8)
    assert numbers(page, "query") == {}
    assert page.locator(".hs-readout").first.inner_text().startswith("“approved” attends ")
    assert ink(page, ".hs-head .hs-over") > 20
    page.mouse.move(3, 3)
    assert numbers(page, "key") == {}
    assert ink(page, ".hs-head .hs-over") == 0


def test_hover_on_the_right_shows_a_keys_column(visit, made):
    page = visit("pair", "heads=3")
    page.hover(".hs-key [data-place='10']")
    column = weights_of(made)[2, :, 10]
    told = numbers(page, "query")
    assert told
    assert numbers(page, "key") == {}
    for place, percent in told.items():
        assert percent == pytest.approx(100 * column[place], abs=0.8)
    assert page.locator(".hs-readout").first.inner_text().startswith("“[SEP]” receives ")


def test_with_several_heads_the_numbers_are_their_mean(visit, made):
    page = visit("pair", "heads=1,3")
    page.hover(".hs-query [data-place='4']")
    mean = weights_of(made)[[0, 2], 4].mean(axis=0)
    for place, percent in numbers(page, "key").items():
        assert percent == pytest.approx(100 * mean[place], abs=0.8)
    assert "numbers are means over the heads that are on" in page.locator(".hs-head .hs-count").inner_text()


def test_click_pins_and_escape_lets_go(visit):
    page = visit("pair")
    page.click(".hs-query [data-place='5']")
    page.mouse.move(3, 3)
    assert page.locator(".hs-query [aria-selected=true]").get_attribute("data-place") == "5"
    assert page.url.endswith("token=q6")
    assert page.locator(".hs-readout").first.inner_text().startswith("“approved” attends ")
    page.keyboard.press("Escape")
    assert page.locator(".hs-head [aria-selected=true]").count() == 0
    assert "token" not in page.url
    page.click(".hs-key [data-place='2']")
    page.click(".hs-key [data-place='2']")
    assert "token" not in page.url


def test_keys_walk_through_tokens_and_are_spoken(visit):
    page = visit("pair", "heads=1")
    page.focus(".hs-query [data-place='0']")
    steps = [
        ("ArrowDown", "query", 1), ("End", "query", 19), ("ArrowDown", "query", 19), ("Home", "query", 0),
        ("PageDown", "query", 10), ("PageUp", "query", 0), ("ArrowRight", "key", 0), ("ArrowDown", "key", 1),
        ("ArrowLeft", "query", 1), ("ArrowUp", "query", 0),
    ]  # fmt: skip
    for key, side, place in steps:
        page.keyboard.press(key)
        at = page.evaluate("[document.activeElement.parentElement.className, document.activeElement.dataset.place]")
        assert (f"hs-{side}" in at[0], at[1]) == (True, str(place)), key
    page.keyboard.press("ArrowDown")
    assert page.locator("[role=status]").inner_text().startswith("“the” attends 9")
    assert page.locator("[role=status]").inner_text().endswith("Layer 1, head 1.")
    page.keyboard.press("Enter")
    assert page.url.endswith("token=q2")
    page.keyboard.press("Enter")
    assert "token" not in page.url
    assert page.locator(".hs-head .hs-query [tabindex='0']").count() == 1


def test_from_the_mean_of_all_a_click_shows_a_head_in_its_color(visit):
    page = visit("pair")
    chips = page.locator(".hs-chips button")
    chips.nth(2).click()
    assert page.url.endswith("heads=3")
    assert not page.locator(".hs-heads input").is_checked()
    chips.nth(0).click()
    assert page.url.endswith("heads=1,3")
    page.locator(".hs-heads .hs-plain", has_text="all").click()
    assert page.url.endswith("mean=0")
    page.check(".hs-heads input")
    assert "mean" not in page.url


def test_heads_switch_on_and_off_by_mouse_and_keys(visit):
    page = visit("pair", "mean=0")
    chips = page.locator(".hs-chips button")

    def on():
        return [chip.inner_text().strip() for chip in chips.all() if chip.get_attribute("aria-pressed") == "true"]

    assert on() == ["1", "2", "3", "4"]
    chips.nth(1).click()
    assert on() == ["1", "3", "4"]
    assert "heads=1,3-4" in page.url
    chips.nth(2).click(modifiers=["Shift"])
    assert on() == ["3"]
    chips.nth(2).click(modifiers=["Shift"])
    assert on() == ["1", "2", "3", "4"]
    chips.nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert on() == ["1", "3", "4"]
    page.keyboard.press("Shift+Enter")
    assert on() == ["2"]
    page.locator(".hs-heads .hs-plain", has_text="none").click()
    assert on() == []
    assert page.locator(".hs-readout").first.inner_text() == "No head is on: switch one on above."
    assert ink(page, ".hs-head canvas") == 0
    page.locator(".hs-heads .hs-plain", has_text="all").click()
    assert on() == ["1", "2", "3", "4"]


def test_the_mean_of_the_heads_is_drawn_as_one(visit, made):
    page = visit("pair", "mean=0")
    page.check(".hs-heads input")
    mean = weights_of(made).mean(axis=0)
    near = int((np.abs(mean - 0.01) < 1e-3).sum())
    said = int(page.locator(".hs-head .hs-count").inner_text().split()[0].replace(",", ""))
    assert abs(said - int((mean >= 0.01).sum())) <= near


def test_layer_by_choice_and_by_step(visit, made):
    page = visit("pair", "heads=1&token=q6")
    page.select_option(".hs-field:has-text('Layer') select", "3")
    settled(page)
    row = weights_of(made, layer=2)[0, 5]
    for place, percent in numbers(page, "key").items():
        assert percent == pytest.approx(100 * row[place], abs=0.8)
    page.get_by_role("button", name="Previous layer").click()
    assert "layer=2" in page.url
    assert page.get_by_role("button", name="Next layer").is_enabled()


def test_sentences_of_a_pair(visit, made):
    page = visit("pair")
    tokens = list(made["pair"].kinds[0].queries.tokens)
    page.select_option(".hs-field:has-text('Sentences') select", "ab")
    assert page.locator(".hs-query .hs-label").all_text_contents() == tokens[:11]
    assert page.locator(".hs-key .hs-label").all_text_contents() == tokens[11:]
    page.hover(".hs-query [data-place='5']")
    assert "goes to tokens that are hidden" in page.locator(".hs-readout").first.inner_text()
    mean = weights_of(made)[:, 5, 11:].mean(axis=0)
    for place, percent in numbers(page, "key").items():
        assert percent == pytest.approx(100 * mean[place], abs=0.8)


def test_special_tokens_hide(visit):
    page = visit("pair")
    page.uncheck(".hs-field:has-text('special tokens') input")
    for side in ("query", "key"):
        labels = page.locator(f".hs-{side} .hs-label").all_text_contents()
        assert len(labels) == 17
        assert "[SEP]" not in labels
    assert "special=0" in page.url


def test_words_in_place_of_pieces(visit, made):
    page = visit("pair", "heads=4")
    page.select_option(".hs-field:has-text('Level') select", "word")
    labels = page.locator(".hs-query .hs-label").all_text_contents()
    assert labels[2] == "committee"
    assert len(labels) == 19
    page.hover(".hs-query [data-place='2']")
    pieces = weights_of(made)[3, [2, 3]].mean(axis=0)
    told = numbers(page, "key")
    assert told[2] == pytest.approx(100 * (pieces[2] + pieces[3]), abs=1)
    assert told[3] == pytest.approx(100 * pieces[4], abs=1)


def test_a_higher_threshold_has_fewer_lines(visit, made):
    page = visit("pair", "mean=0")
    page.select_option(".hs-field:has-text('Lines from') select", "0.2")
    said = page.locator(".hs-head .hs-count").inner_text()
    assert said.startswith(f"{int((weights_of(made) >= 0.2).sum())} lines: every weight of 0.2")


@pytest.mark.parametrize(("anchor", "scrolled"), [("view=head", True), ("view=head&token=q2", False)])
def test_the_view_opens_where_the_generated_text_begins(visit_file, tmp_path, anchor, scrolled):
    page_file = tmp_path / "long.html"
    page_file.write_text(attention_page(made_maps.generated(tokens=120, start=90)), encoding="utf-8")
    page = visit_file(page_file, anchor=f"#{anchor}", height=700)
    page.wait_for_selector("[role=tabpanel] > section:not([hidden])")
    settled(page)
    top, bottom = page.locator(".hs-scroll").evaluate(
        "box => [box.getBoundingClientRect().top, box.getBoundingClientRect().bottom]"
    )
    first = page.locator(".hs-query .hs-first-generated").bounding_box()["y"]
    assert (top < first < bottom) == scrolled
    assert (page.locator(".hs-scroll").evaluate("box => box.scrollTop") > 0) == scrolled


def test_generated_tokens_are_marked_and_stepped_through(visit, made):
    page = visit("generated", "heads=1")
    tokens = made["generated"].kinds[0].queries.tokens
    assert page.locator(".hs-query .hs-generated").count() == len(tokens) - 6
    slider = page.locator(".hs-steps input")
    assert slider.get_attribute("max") == str(len(tokens) - 7)
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".hs-steps output").inner_text() == f"2 of 8: “{tokens[6]}” → “{tokens[7]}”"
    assert page.locator(".hs-query [aria-selected=true]").get_attribute("data-place") == "6"
    page.get_by_role("button", name="all steps").click()
    assert page.locator(".hs-query [aria-selected=true]").count() == 0


def test_three_kinds_are_three_tabs(visit):
    page = visit("three")
    tabs = page.get_by_role("tablist", name="Kind of attention").get_by_role("tab")
    assert tabs.all_inner_texts() == ["encoder", "decoder", "cross"]
    tabs.nth(2).click()
    assert page.locator(".hs-query .hs-label").all_text_contents() == ["<pad>", "Das", "Haus", "ist"]
    assert page.locator(".hs-key .hs-label").all_text_contents() == ["The", "house", "is", "small", "</s>"]
    page.keyboard.press("ArrowLeft")
    assert tabs.nth(1).get_attribute("aria-selected") == "true"
    assert "kind=decoder" in page.url


def test_a_long_text_scrolls_inside_and_only_draws_what_is_seen(visit):
    page = visit("long")
    box = page.locator(".hs-head .hs-scroll")
    assert box.evaluate("box => box.scrollHeight > 3 * box.clientHeight && box.clientHeight < 900")
    drawn = "canvases => canvases.filter(canvas => canvas.height > 150).length"
    assert 0 < page.eval_on_selector_all(".hs-base", drawn) < page.locator(".hs-base").count()
    box.evaluate("box => (box.scrollTop = box.scrollHeight)")
    page.wait_for_function(
        """() => {
            const canvas = [...document.querySelectorAll('.hs-base')].at(-1);
            if (!canvas.width || !canvas.height) return false;
            const kept = { willReadFrequently: true };
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', kept);
            copy.drawImage(canvas, 0, 0);
            return copy.getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value);
        }"""
    )


def test_a_kept_token_says_where_its_partners_are(visit):
    page = visit("long", "token=q200&heads=1")
    page.locator(".hs-query [data-place='199']").scroll_into_view_if_needed()
    page.mouse.move(3, 3)
    page.focus(".hs-query [data-place='199']")
    page.evaluate("document.activeElement.blur()")
    jump = page.locator(".hs-jump").first
    assert jump.inner_text().split()[0] in "↑↓"
    jump.click()
    assert "hs-key" in page.evaluate("document.activeElement.parentElement.className")
