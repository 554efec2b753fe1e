"""The map of tokens on a head's card: what it shows, how a token is chosen, and that a choice goes from map to map."""

import pytest

pytestmark = pytest.mark.browser


def opened(visit, anchor="encoder-2-3", name="directed", **options):
    page = visit(name, anchor=f"#{anchor}", **options)
    return page, page.locator(".at-card .at-pca")


def test_every_token_is_a_mark_where_the_table_has_it(visit, studies):
    _, own = opened(visit)
    table = studies["directed"].table("pca_map").query("layer == 2 and head == 3").set_index("token")
    for side in ("output", "key"):
        own.locator("[data-choice=side]").select_option(side)
        where = own.locator("[data-token]").evaluate_all(
            "marks => marks.map((mark) => mark.getAttribute('transform').match(/[-\\d.]+/g).map(Number))"
        )
        known = table[table["vectors"] == side].sort_index()
        assert len(where) == len(known) == 12
        # One scale both ways, up on the page is up; so differences are in proportion.
        scale = (where[1][0] - where[0][0]) / (known["first"][2] - known["first"][1])
        for place, (x, y) in enumerate(where):
            assert x - where[0][0] == pytest.approx(scale * (known["first"][place + 1] - known["first"][1]), abs=2)
            assert where[0][1] - y == pytest.approx(scale * (known["second"][place + 1] - known["second"][1]), abs=2)
    assert "first direction, 41% of the variance" in own.locator("svg.scatter").text_content()
    assert "second, 17% of the variance" in own.locator("svg.scatter").text_content()


def test_a_token_is_named_with_its_sentence_and_chosen_on_all_maps(visit, studies):
    page, own = opened(visit)
    row = studies["directed"].table("pca_tokens").query("token == 4").iloc[0]
    at = row["position"] - row["start"]
    mark = own.locator("[data-token='3']")
    mark.hover()
    assert own.locator(".at-row-words").inner_text().split() == list(row["tokens"])
    assert own.locator("mark").inner_text() == row["tokens"][at]
    assert own.locator(".at-row-told").inner_text() == f"period or comma, at position {row['position']} of its input"
    page.locator("h1").hover()
    assert own.locator(".at-direction-told").inner_text() == "Point at a token for its sentence."
    mark.click()
    page.locator("h1").hover()
    assert own.locator("mark").inner_text() == row["tokens"][at]
    # On the map of its keys, on that of another head, and on both of two that are compared.
    own.locator("[data-choice=side]").select_option("query")
    assert own.locator("[data-token][aria-pressed=true]").get_attribute("data-token") == "3"
    page.get_by_role("button", name="Compare", exact=True).first.click()
    page.locator(".at-map [data-index='14']").click()
    both = page.locator(".at-card .at-pca")
    assert both.count() == 2
    for place in (0, 1):
        one = both.nth(place)
        assert one.locator("[data-choice=side]").input_value() == "query"
        assert one.locator("[data-token][aria-pressed=true]").get_attribute("data-token") == "3"
        assert one.locator(".at-ring").get_attribute("visibility") == "visible"
    both.nth(1).locator("[data-token='5']").click()
    assert both.nth(0).locator("[data-token][aria-pressed=true]").get_attribute("data-token") == "5"
    both.nth(0).locator("[data-token='5']").click()
    assert both.locator("[aria-pressed=true]").count() == 0


def test_marks_that_lie_over_one_another_are_told_apart(visit):
    page, own = opened(visit, "encoder-1-1", name="tokens")
    own.scroll_into_view_if_needed()
    marks = own.locator("[data-token]").evaluate_all(
        """marks => marks.map((mark) => {
          const { x, y, width, height } = mark.getBoundingClientRect();
          const [across, up] = [x + width / 2, y + height / 2];
          const under = document.elementFromPoint(across, up);
          return { across, up, hidden: under !== mark, position: mark.getAttribute('aria-label').split(' ').pop() };
        })"""
    )
    hidden = [one for one in marks if one["hidden"]]
    assert hidden
    for one in hidden:
        page.mouse.move(one["across"], one["up"])
        assert own.locator(".at-row-told").inner_text().endswith(f"at position {one['position']} of its input")


def test_colors_go_by_class_position_or_length(visit, studies):
    _, own = opened(visit)
    assert own.locator(".at-direction-class").all_inner_texts() == ["words", "other punctuation", "period or comma"]
    outlines = own.locator("[data-token]").evaluate_all("marks => marks.map((mark) => mark.getAttribute('d'))")
    assert len(set(outlines)) == 3
    tokens = studies["directed"].table("pca_tokens").sort_values("token")
    table = studies["directed"].table("pca_map").query("layer == 2 and head == 3 and vectors == 'output'")
    for name, values in (("position", tokens["position"]), ("length", table.sort_values("token")["length"])):
        own.locator("[data-choice=color]").select_option(name)
        amounts = own.locator("[data-token]").evaluate_all(
            "marks => marks.map((mark) => parseFloat(mark.style.getPropertyValue('--amount')))"
        )
        assert amounts == pytest.approx((100 * values / values.max()).tolist(), abs=1.2)
        assert own.locator(".at-direction-key").inner_text().startswith("From faint to strong: ")


def test_tokens_are_reached_and_chosen_by_keyboard(visit):
    page, own = opened(visit)
    assert own.locator("[data-token][tabindex='0']").count() == 1
    own.locator("[data-token][tabindex='0']").focus()
    page.keyboard.press("End")
    last = own.locator("[data-token]").last
    assert last.evaluate("mark => mark === document.activeElement")
    assert own.locator(".at-row-words").count() == 1
    page.keyboard.press("Enter")
    last = own.locator("[data-token]").last
    assert last.get_attribute("aria-pressed") == "true"
    assert last.evaluate("mark => mark === document.activeElement")
    xs = []
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight"):
        xs.append(page.evaluate("document.activeElement.getBoundingClientRect().x"))
        page.keyboard.press(key)
    assert xs[1] <= xs[0]
    assert xs[2] <= xs[1]
    assert last.get_attribute("aria-label").count(", position ") == 1


def test_hostile_tokens_stay_text(visit):
    _, own = opened(visit, "encoder-1-1", name="tokens")
    own.locator("[data-token='0']").focus()
    assert own.locator(".at-row-words").inner_text().split() == ["<b>", "<i>x", "⟨U+202E⟩", "&amp;"]
    assert own.locator("b, i").count() == 0


def test_without_maps_the_card_says_what_to_do(visit):
    _, own = opened(visit, "encoder-1-1", name="bare")
    assert own.inner_text().endswith("This run measured no directions: run headscope report again with --include pca.")
    _, own = opened(visit, "encoder-1-2")
    assert own.inner_text().endswith("With this number of heads, only some layers were measured; this one was not.")
