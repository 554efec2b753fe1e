"""The sentence above the grid: a token lights every head by what the table of examples says that it attends to it."""

import itertools

import numpy as np
import pytest

from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.measured import blank_figures, with_parts

pytestmark = pytest.mark.browser
TOKEN = 4
AMOUNTS = "cells => cells.map(cell => [cell.className, parseFloat(cell.style.getPropertyValue('--amount'))])"
RUNS = {"encoder": lambda: mock_inputs.encoder(3, 4), "decoder": lambda: mock_inputs.decoder(3, 4)}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pinned")
    files = {}
    for name, run in {**RUNS, "t5": mock_inputs.t5}.items():
        files[name] = folder / f"{name}.html"
        with blank_figures():
            files[name].write_text(render_report(run()), encoding="utf-8")
    return files


def shares(run, kind, token):
    """By the table, what each head puts on a token on average, in head order: of a decoder from there on alone."""
    rows = run.examples
    rows = rows[(rows["behavior"] == "shared") & (rows["kind"] == kind)].sort_values(["layer", "head"])
    maps = [np.reshape(row["weights"], (len(row["tokens"]), len(row["keys"]))) for _, row in rows.iterrows()]
    return np.array([each[token if kind == "decoder" else 0 :, token].mean() for each in maps])


def cells(page):
    return page.eval_on_selector_all("#grid button", AMOUNTS)


@pytest.mark.parametrize("name", RUNS)
def test_pointing_at_a_token_lights_every_head_by_how_much_it_attends_there(visit_file, made, name):
    page = visit_file(made[name], folded=True)
    before = cells(page)
    expected = shares(RUNS[name](), name, TOKEN)
    page.locator(f"#pinned [data-key='{TOKEN}']").hover()
    lit = cells(page)
    assert {look for look, _ in lit} == {"amount"}
    # The page has weights of a byte each.
    assert [amount for _, amount in lit] == pytest.approx(100 * expected / expected.max(), abs=1.5)
    layer, head = divmod(int(expected.argmax()), 4)
    hint = page.locator("#pinned .hint").inner_text()
    assert f"head {layer + 1}-{head + 1} attends to it most: " in hint.lower()
    said = float(hint.split("most: ")[1].split("%")[0])
    assert said == pytest.approx(100 * expected.max(), rel=0.05)
    page.locator("h1").hover()
    assert cells(page) == before
    assert page.locator("#pinned .hint").inner_text().startswith("Point at a token")


def test_a_token_that_is_kept_stays_and_the_card_draws_heads_on_its_sentence(visit_file, made):
    page = visit_file(made["encoder"], folded=True)
    token = page.locator(f"#pinned [data-key='{TOKEN}']")
    token.click()
    assert token.get_attribute("aria-pressed") == "true"
    page.locator("h1").hover()
    assert {look for look, _ in cells(page)} == {"amount"}
    page.locator("#encoder-2-3").click()
    # Another color or a dimmed role do not put the light out.
    assert {look for look, _ in cells(page)} == {"amount"}
    keys = page.locator("#card .lines .token")
    drawn = keys.all_text_contents()
    assert drawn[len(drawn) // 2 :] == page.locator("#pinned .token").all_text_contents()
    assert page.locator("#card .lines .token.on").all_text_contents() == [token.text_content()]
    page.keyboard.press("Escape")
    token.focus()
    page.keyboard.press("Escape")
    assert token.get_attribute("aria-pressed") == "false"
    page.locator("h1").hover()
    page.locator("h1").click()
    assert {look for look, _ in cells(page)} != {"amount"}


def test_the_tokens_are_one_tab_stop_and_arrows_move(visit_file, made):
    page = visit_file(made["encoder"], folded=True)
    assert page.locator("#pinned [tabindex='0']").count() == 1
    page.locator("#pinned [data-key='0']").focus()
    for key, at in (("ArrowRight", 1), ("End", len(mock_inputs.SENTENCE) - 1), ("ArrowLeft", None), ("Home", 0)):
        page.keyboard.press(key)
        at = len(mock_inputs.SENTENCE) - 2 if at is None else at
        assert page.evaluate("document.activeElement.dataset.key") == str(at)
        assert {look for look, _ in cells(page)} == {"amount"}
    assert page.locator("#pinned [tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_pieces_of_a_word_stand_together(visit_file, tmp_path):
    """Those of WordPiece without their mark, and those of a decoder, which have none."""
    run = mock_inputs.decoder(2, 2)
    first = ["<s>", "D", "ear", "Mar", "##git", "##", "!"]
    count = run.examples["tokens"].iloc[0]
    tokens = [*first, *map(str, range(len(first), len(count)))]
    examples = run.examples.assign(
        tokens=[tokens] * len(run.examples),
        keys=[tokens] * len(run.examples),
        continues_word=[[2, 4]] * len(run.examples),
    )
    path = tmp_path / "report.html"
    path.write_text(render_report(with_parts(run, examples=examples)), encoding="utf-8")
    page = visit_file(path, folded=True)
    buttons = page.locator("#pinned .token")
    assert buttons.all_text_contents()[:7] == ["<s>", "D", "ear", "Mar", "git", "##", "!"]
    assert page.locator("#pinned .joined").all_text_contents() == ["ear", "git"]
    boxes = [buttons.nth(at).bounding_box() for at in range(7)]
    gaps = [after["x"] - before["x"] - before["width"] for before, after in itertools.pairwise(boxes)]
    assert max(gaps[1], gaps[3]) <= 0 < min(gaps[0], gaps[2], gaps[4])
    # However narrow the sentence is, a word stays on one line.
    page.add_style_tag(content="#pinned .words { width: 1px }")
    for key in (2, 4):
        tops = {page.locator(f"#pinned [data-key='{each}']").bounding_box()["y"] for each in (key - 1, key)}
        assert len(tops) == 1


def test_another_kind_of_attention_has_its_own_sentence(visit_file, made):
    page = visit_file(made["t5"], folded=True)
    english = page.locator("#pinned .words").inner_text()
    page.get_by_role("tab", name="decoder").click()
    assert page.locator("#pinned .words").inner_text() != english
    page.get_by_role("tab", name="cross").click()
    # What is attended to across attention are the encoder's tokens.
    assert page.locator("#pinned .words").inner_text() == english
