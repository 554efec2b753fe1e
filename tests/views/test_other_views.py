"""Model, neuron, heat map and matrix view in a real browser."""

import numpy as np
import pytest

from support.attention_pages import ink, settled

pytestmark = pytest.mark.browser
# A canvas that was never drawn upon is 300 pixels wide.
DRAWN = "[...document.querySelectorAll('.hs-thumbs canvas')].every(({ width }) => width > 40 && width !== 300)"


def test_model_view_has_a_picture_a_head(visit, made):
    page = visit("pair", "view=model")
    roles = made["pair"].kinds[0].roles
    cells = page.locator(".hs-thumbs [role=gridcell]")
    assert cells.count() == 12
    assert page.locator(".hs-thumbs [role=row]").count() == 3
    page.wait_for_function(DRAWN)
    for layer, row in enumerate(roles, 1):
        for head, role in enumerate(row, 1):
            told = page.locator(f"[data-head='{layer}-{head}']").get_attribute("aria-label")
            assert told.startswith(f"Head {layer}-{head} · ")
            if role == "previous":
                assert "previous token" in told
                assert "to the previous token" in told
    assert ink(page, ".hs-thumbs canvas") > 1000


def test_model_view_enlarges_and_leads_on(visit):
    page = visit("pair", "view=model")
    page.click("[data-head='2-3']")
    panel = page.locator(".hs-panel")
    assert panel.locator("h2").inner_text().startswith("Head 2-3 · ")
    assert page.url.split("#")[1] == "view=model&layer=2&head=3&open=1"
    assert panel.locator(".hs-query li").count() == 20
    settled(page)
    assert ink(page, ".hs-panel .hs-base") > 100
    panel.get_by_role("button", name="Matrix").click()
    assert "view=matrix&layer=2&head=3" in page.url
    page.get_by_role("tab", name="Model view").click()
    page.locator(".hs-panel").get_by_role("button", name="Close").click()
    assert not page.locator(".hs-panel").is_visible()
    assert page.evaluate("document.activeElement.dataset.head") == "2-3"


@pytest.mark.parametrize("width", [390, 900, 1280])
def test_no_picture_moves_when_one_is_clicked(visit, width):
    page = visit("pair", "view=model", width=width)
    page.wait_for_function(DRAWN)
    places = """cells => cells.map(cell => {
        const { left, top, width } = cell.getBoundingClientRect();
        return [left, top + scrollY, width];
    })"""
    before = page.eval_on_selector_all("[data-head]", places)
    page.hover("[data-head='1-2']")
    assert page.eval_on_selector_all("[data-head]", places) == before
    page.click("[data-head='1-2']")
    settled(page)
    assert page.locator(".hs-panel").is_visible()
    assert page.eval_on_selector_all("[data-head]", places) == before
    page.locator(".hs-panel").get_by_role("button", name="Close").click()
    assert page.eval_on_selector_all("[data-head]", places) == before


def test_model_view_by_keys(visit):
    page = visit("pair", "view=model")
    page.focus("[data-head='1-1']")
    steps = [
        ("ArrowRight", "1-2"),
        ("ArrowDown", "2-2"),
        ("End", "2-4"),
        ("ArrowDown", "3-4"),
        ("Home", "3-1"),
        ("ArrowUp", "2-1"),
    ]
    for key, expected in steps:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.head") == expected, key
    page.keyboard.press("Enter")
    assert page.locator(".hs-panel h2").inner_text().startswith("Head 2-1")
    page.keyboard.press("Escape")
    assert not page.locator(".hs-panel").is_visible()


def test_model_view_sorts_and_filters(visit, made):
    page = visit("pair", "view=model")
    page.select_option(".hs-field:has-text('Sort by') select", "previous")
    page.wait_for_selector(".hs-named [data-head]")
    order = page.eval_on_selector_all("[data-head]", "cells => cells.map(cell => cell.dataset.head)")
    weights = made["pair"].kinds[0].weights
    previous = np.diagonal(weights, -1, 2, 3).sum(-1) / weights.shape[2]
    best = [
        f"{layer + 1}-{head + 1}"
        for layer, head in zip(*np.unravel_index(np.argsort(-previous, axis=None), previous.shape))
    ]
    assert order[:3] == best[:3]
    page.select_option(".hs-field:has(span:text-is('Role')) select", "previous")
    settled(page)
    shown = page.eval_on_selector_all("[data-head]", "cells => cells.map(cell => cell.dataset.head)")
    roles = made["pair"].kinds[0].roles
    assert sorted(shown) == sorted(
        f"{i}-{j}" for i, row in enumerate(roles, 1) for j, role in enumerate(row, 1) if role == "previous"
    )


def test_neuron_view_adds_up(visit, made):
    page = visit("pair", "view=neuron&head=2&token=q6")
    layer = made["pair"].kinds[0].neuron[0]
    heads = page.locator(".hs-neuron-table thead tr").nth(1).locator("th").all_inner_texts()
    assert heads == ["key", "k", "q × k", "q·k", "× scale", "score", "weight"]
    rows = page.eval_on_selector_all(
        ".hs-neuron-table tbody tr", "rows => rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    assert [row[0] for row in rows] == list(made["pair"].kinds[0].queries.tokens)
    for key, row in enumerate(rows):
        dot, scaled, score = (float(text.replace("−", "-")) for text in row[3:6])
        step = 0.06 if abs(dot) >= 10 else 0.006
        assert dot == pytest.approx(layer.products[1, 5, key], abs=max(step, 0.01 * abs(dot)))
        assert scaled == pytest.approx(score)
        assert scaled == pytest.approx(0.25 * dot, abs=max(step, 0.01 * abs(dot)))
        assert float(row[6].removeprefix("under ").rstrip("%")) == pytest.approx(
            100 * layer.weights[1, 5, key], abs=0.8
        )
    assert "differ from the model's by less than 0.1% at most" in page.locator(".hs-detail .hs-count").inner_text()
    assert ink(page, ".hs-neuron-table tbody canvas") > 200


def test_neuron_view_of_a_decoder_has_bias_cap_and_mask(visit):
    page = visit("three", "view=neuron&kind=decoder&head=1&token=q2")
    heads = page.locator(".hs-neuron-table thead tr").nth(1).locator("th").all_inner_texts()
    assert heads == ["key", "k", "q × k", "q·k", "× scale", "+ bias", "soft-cap", "mask", "score", "weight"]
    rows = page.eval_on_selector_all(
        ".hs-neuron-table tbody tr", "rows => rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    assert [row[7] for row in rows] == ["seen", "seen", "hidden", "hidden"]
    assert [row[9] for row in rows[2:]] == ["–", "–"]
    for row in rows[:2]:
        _, scaled, bias, capped = (float(text.replace("−", "-")) for text in row[3:7])
        assert capped == pytest.approx(2.5 * np.tanh((scaled + bias) / 2.5), abs=0.02)


def test_neuron_view_opens_a_query_by_click_and_keys(visit):
    page = visit("pair", "view=neuron")
    assert page.locator(".hs-query-row th").inner_text() == "the"
    page.click(".hs-neuron .hs-query [data-place='5']")
    assert page.locator(".hs-query-row th").inner_text() == "approved"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".hs-query-row th").inner_text() == "the"
    assert page.url.endswith("token=q7")
    page.keyboard.press("Escape")
    assert "token" not in page.url
    page.select_option(".hs-field:has-text('Keys in order of') select", "weight")
    weights = page.eval_on_selector_all(
        ".hs-weight", "cells => cells.map(cell => parseFloat(cell.style.getPropertyValue('--hs-share')))"
    )
    assert weights == sorted(weights, reverse=True)


def test_neuron_view_names_a_number_under_the_pointer(visit):
    page = visit("pair", "view=neuron&token=q6")
    page.locator(".hs-neuron-table tbody tr").nth(2).locator("[data-bars=product] canvas").hover(
        position={"x": 3, "y": 10}
    )
    said = page.locator(".hs-detail .hs-readout").inner_text()
    assert said.startswith("Number 1 of 16: q ")
    assert said.endswith(", toward “committ”.")


def test_neuron_view_says_why_there_is_none(visit):
    page = visit("three", "view=neuron&kind=cross")
    assert page.locator(".hs-missing").inner_text() == "Nobody kept these queries and keys."
    page = visit("generated", "view=neuron")
    assert page.locator(".hs-missing").inner_text() == (
        "This page has no queries and keys; pages of long texts leave them out. "
        "`headscope view neuron` and `neuron_view` keep them."
    )


def shares(page, number=0):
    told = page.locator(".hs-text").nth(number).locator("[data-place]")
    return [float(label.get_attribute("aria-label").rsplit(" ", 1)[1].rstrip("%")) for label in told.all()]


def test_heat_map_shades_by_attention_received(visit, made):
    page = visit("pair", "view=heatmap&head=3")
    column = made["pair"].kinds[0].weights[0, 2].mean(axis=0)
    assert page.locator(".hs-text").count() == 1
    assert shares(page) == pytest.approx(100 * column, abs=0.8)
    fills = page.eval_on_selector_all(
        ".hs-text [data-place]", "all => all.map(one => getComputedStyle(one).backgroundColor)"
    )
    assert fills[int(column.argmax())] == "rgb(0, 114, 179)"
    page.click(".hs-text [data-place='5']")
    assert shares(page) == pytest.approx(100 * made["pair"].kinds[0].weights[0, 2, 5], abs=0.8)
    assert "of the attention of “approved” each token receives" in page.locator(".hs-heat .hs-readout").inner_text()
    page.select_option(".hs-field:has-text('Shade by attention') select", "given")
    page.click(".hs-text [data-place='10']")
    assert shares(page) == pytest.approx(100 * made["pair"].kinds[0].weights[0, 2, :, 10], abs=0.8)


def test_special_tokens_do_not_make_the_heat_maps_scale(visit, made):
    page = visit("pair", "view=heatmap&head=3")  # this head looks at [SEP]
    kind = made["pair"].kinds[0]
    received = kind.weights[0, 2].mean(axis=0)
    plain = [place for place in range(len(received)) if place not in kind.queries.special]
    strongest = max(plain, key=lambda place: received[place])
    assert received[list(kind.queries.special)].max() > 2 * received[strongest]
    fill = page.locator(f".hs-text [data-place='{strongest}']").evaluate("one => getComputedStyle(one).backgroundColor")
    assert fill == "rgb(0, 114, 179)"
    said = page.locator(".hs-heat .hs-count").inner_text()
    weakest = min(received[place] for place in plain)
    assert float(said.partition("%")[0]) == pytest.approx(100 * weakest, abs=0.5)
    assert "; off the scale, outlined: [SEP] " in said
    off = page.eval_on_selector_all(".hs-text .hs-off", "all => all.map(one => Number(one.dataset.place))")
    assert off == [place for place in kind.queries.special if received[place] > received[strongest]]


def test_heat_map_names_a_token_on_hover_and_by_keys(visit):
    page = visit("pair", "view=heatmap")
    page.hover(".hs-text [data-place='5']")
    assert page.locator(".hs-tip").inner_text().endswith("%")
    page.mouse.move(3, 3)
    assert not page.locator(".hs-tip").is_visible()
    page.focus(".hs-text [data-place='0']")
    for key, place in [("ArrowRight", 1), ("End", 19), ("ArrowLeft", 18), ("Home", 0)]:
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.dataset.place") == str(place)
    page.keyboard.press("ArrowRight")
    assert page.locator("[role=status]").inner_text().startswith("“the” ")
    page.keyboard.press("Enter")
    assert page.url.endswith("token=q2")


def test_heat_map_moves_by_lines_on_a_narrow_screen(visit):
    page = visit("pair", "view=heatmap", width=360)
    tops = page.eval_on_selector_all(".hs-text [data-place]", "all => all.map(one => one.offsetTop)")
    assert len(set(tops)) > 2
    page.focus(".hs-text [data-place='1']")
    page.keyboard.press("ArrowDown")
    at = int(page.evaluate("document.activeElement.dataset.place"))
    assert tops[at] == sorted(set(tops))[1]
    page.keyboard.press("ArrowUp")
    assert tops[int(page.evaluate("document.activeElement.dataset.place"))] == tops[1]


def test_heat_map_of_cross_attention_is_two_texts(visit, made):
    page = visit("three", "view=heatmap&kind=cross&head=1")
    assert page.locator(".hs-heat h2").all_inner_texts() == ["Attending tokens (queries)", "Attended tokens (keys)"]
    page.locator(".hs-text").nth(0).locator("[data-place='1']").click()
    assert shares(page, 1) == pytest.approx(100 * made["three"].kinds[2].weights[0, 0, 1], abs=0.8)


def test_matrix_names_cells_by_pointer_and_keys(visit, made):
    page = visit("pair", "view=matrix&head=2")
    weights = made["pair"].kinds[0].weights[0, 1]
    tokens = made["pair"].kinds[0].queries.tokens
    scroll = page.locator(".hs-matrix-scroll")
    scroll.focus()
    page.keyboard.press("ArrowRight")
    for key in ["ArrowDown"] * 5 + ["ArrowRight"] * 6:
        page.keyboard.press(key)
    said = page.locator("[role=status]").inner_text()
    assert said.startswith(f"“{tokens[5]}” attends ")
    assert said.endswith(f" to “{tokens[6]}”. Layer 1, head 2.")
    assert float(said.split("attends ")[1].split("%")[0]) == pytest.approx(100 * weights[5, 6], abs=0.8)
    page.keyboard.press("End")
    assert f"to “{tokens[-1]}”." in page.locator("[role=status]").inner_text()
    page.keyboard.press("Enter")
    assert page.url.endswith("token=q6")
    page.keyboard.press("Escape")
    assert "token" not in page.url
    box = scroll.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] - 10)
    assert page.locator(".hs-matrix .hs-readout").inner_text().startswith("“[SEP]” attends ")


def test_matrix_pixels_are_the_weights(visit, made):
    page = visit("pair", "view=matrix&head=1")
    weights = made["pair"].kinds[0].weights[0, 0]
    shade = page.locator(".hs-matrix canvas").evaluate(
        """(canvas) => {
            const scale = canvas.width / parseFloat(canvas.style.width);
            const n = 20, cell = 28, context = canvas.getContext('2d');
            const [left, top] = [parseFloat(canvas.style.width) - n * cell, parseFloat(canvas.style.height) - n * cell];
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            const middle = (edge, place) => Math.floor((edge + (place + 0.5) * cell) * scale);
            const at = (x, y) => data[4 * (middle(top, y) * canvas.width + middle(left, x))];
            return Array.from({ length: n }, (_, y) => Array.from({ length: n }, (_, x) => at(x, y)));
        }"""
    )
    # Red falls from 255 to 0 as the square root of the weight rises.
    expected = 255 * (1 - np.sqrt(weights / weights.max()))
    assert np.abs(np.array(shade) - expected).max() < 6


def test_a_large_matrix_can_be_enlarged(visit):
    page = visit("long", "view=matrix&head=1")
    box = page.locator(".hs-matrix-scroll")
    assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
    page.get_by_role("button", name="Enlarge until labels can be read").click()
    assert box.evaluate("box => box.scrollWidth > 2 * box.clientWidth")
    assert "zoom=read" in page.url
    box.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Control+End")
    assert box.evaluate("box => box.scrollLeft > 1000 && box.scrollTop > 1000")
