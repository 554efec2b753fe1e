"""The deciles of a head's rows on its card: which is chosen by a click or a key, and the rows that it shows."""

import pytest

pytestmark = pytest.mark.browser


def card(page, anchor):
    page.evaluate("anchor => { location.hash = anchor; }", anchor)
    page.reload()
    return page.locator(".at-card").last


def test_a_click_on_a_decile_shows_its_rows(visit, studies):
    page = visit("whole")
    own = card(page, "encoder-3-5")
    table, examples = (studies["whole"].table(name) for name in ("distribution", "distribution_examples"))
    cuts = table.query("layer == 3 and head == 5 and measure == 'output_norm'").set_index("decile")["value"]
    buttons = own.locator(".at-decile")
    assert buttons.count() == 10
    assert buttons.nth(9).get_attribute("aria-pressed") == "true"
    for decile in (1, 4, 10):
        buttons.nth(decile - 1).click()
        assert [place for place in range(10) if buttons.nth(place).get_attribute("aria-pressed") == "true"] == [
            decile - 1
        ]
        told = own.locator(".at-deciles .at-told").inner_text()
        for end in (decile - 1, decile):
            if 1 <= end <= 9:
                assert f"{cuts[end]:.3g}".rstrip("0") in told
        rows = examples.query(f"layer == 3 and head == 5 and decile == {decile}").to_dict("records")
        shown = own.locator(".at-deciles .at-rows li")
        assert shown.count() == len(rows) == 2
        for place, row in enumerate(rows):
            at = row["row"] - row["start"]
            item = shown.nth(place)
            assert item.locator(".at-row-words").inner_text().split() == list(row["tokens"])
            assert item.locator("mark").inner_text() == row["tokens"][at]
            words = item.locator(".at-row-told").inner_text()
            assert words == f"looked at {row['key_token']}, 1 token before (50%); output norm {row['value']:.3g}"


def test_a_decile_is_chosen_by_keyboard(visit):
    page = visit("whole")
    button = page.locator(".at-decile").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert button.get_attribute("aria-label").startswith("3 of 10: output norm ")


def test_a_learned_sink_is_called_so_and_hostile_tokens_stay_text(visit):
    page = visit("tokens")
    rows = page.locator(".at-deciles .at-rows li")
    assert rows.first.locator(".at-row-told").inner_text().startswith("looked at the learned sink (50%)")
    assert rows.first.locator(".at-row-words").inner_text().split() == ["<b>", "<i>x", "⟨U+202E⟩", "&amp;"]
    assert rows.locator("b b, i").count() == 0


def test_a_run_that_counted_no_rows_says_what_to_do(visit):
    page = visit("bare")
    assert page.locator(".at-deciles").inner_text().endswith("This run counted no rows: run headscope report again.")


def test_pieces_of_a_word_stand_together_and_are_copied_as_one_word(visit):
    page = visit("pieces")
    rows = page.locator(".at-deciles .at-rows .at-row-words")
    assert rows.count() > 0
    for text in rows.all_text_contents():
        assert text == "he wished fractions \u05d0\u05d1 end"
    copied = page.evaluate(
        """() => {
            const row = document.querySelector('.at-deciles .at-row-words');
            getSelection().selectAllChildren(row);
            return String(getSelection());
        }"""
    )
    assert copied == "he wished fractions \u05d0\u05d1 end"
    # What runs right to left is one word, its pieces in one isolate.
    assert rows.first.locator("bdi").inner_text() == "\u05d0\u05d1"
    assert rows.first.locator("mark").count() == 1
    # No gap is drawn between the pieces.
    one, other = (rows.first.get_by_text(text, exact=True).bounding_box() for text in ("w", "ished"))
    assert abs(one["x"] + one["width"] - other["x"]) < 1
