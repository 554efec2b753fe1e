"""Two steps in the head view of a decoder: what heads below moved to a token, held to a plain loop."""

import numpy as np
import pytest

from headscope.views.attention_page import attention_page
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.kept_layers import WrittenNorms
from support.attention_pages import settled
from support.axe import violations
from support.views import rows

pytestmark = pytest.mark.browser
TOKENS = ("<s>", "capt", "ain", "said", "the", "capt", "ain", ".")
LAYERS, HEADS = (1, 2, 4), 3
# The second "ain", row 6 of the arrays: an address counts from 1.


@pytest.fixture(scope="module")
def kind():
    rng = np.random.default_rng(7)
    n = len(TOKENS)
    return KindMaps(
        kind="decoder",
        weights=rows(rng, len(LAYERS), HEADS, n, n, causal=True),
        queries=Axis(tokens=TOKENS, special=(0,)),
        layers=LAYERS,
        written=WrittenNorms(
            keys=rng.uniform(0.1, 9, size=(len(LAYERS), HEADS, n)).astype(np.float32),
            rows=rng.uniform(0.5, 2, size=(len(LAYERS), HEADS, n)).astype(np.float32),
        ),
    )


@pytest.fixture
def visit(visit_file, kind, tmp_path):
    def go(state, *, width=1280, of=kind):
        page_file = tmp_path / "attention.html"
        page_file.write_text(
            attention_page(AttentionSnapshot(title="By hand", model="tiny", kinds=(of,)), call='"a text"'),
            encoding="utf-8",
        )
        page = visit_file(page_file, anchor=f"#view=head&{state}", width=width)
        page.wait_for_selector("[role=tabpanel] > section:not([hidden])")
        settled(page)
        return page

    return go


def moved(kind, place, *, below):
    """By weight and by norm: (head, token, amount) of the five that moved most to a token, in a loop over all."""
    found = {"weight": [], "norm": []}
    for at, layer in enumerate(kind.layers[:below]):
        for head in range(HEADS):
            amounts = {
                "weight": kind.weights[at, head, place],
                "norm": kind.weights[at, head, place]
                * kind.written.keys[at, head]
                * kind.written.rows[at, head, place],
            }
            for by, amount in amounts.items():
                others = [token for token in range(len(TOKENS)) if token != place]
                best = max(others, key=lambda token, amount=amount: amount[token])
                if amount[best] > 0:
                    found[by].append((f"{layer}-{head + 1}", f"from “{TOKENS[best]}”", float(amount[best])))
    return {by: sorted(each, key=lambda one: -one[2])[:5] for by, each in found.items()}


def columns(page):
    told = page.eval_on_selector_all(
        ".hs-moves ol",
        "lists => lists.map(list => [...list.children].map(line => [...line.children].map(part => part.textContent)))",
    )
    return [[(name, token, float(number.rstrip("%"))) for name, token, number in column] for column in told]


def strongest(kind, layer, head, query):
    return int(kind.weights[layer, head, query].argmax())


def test_both_columns_are_those_of_a_plain_loop(visit, kind):
    page = visit("layer=4&heads=2&mean=0&token=q7")
    key = strongest(kind, 2, 1, 6)
    assert page.locator(".hs-keys").inner_text().startswith(f"“{TOKENS[6]}” attends to")
    assert page.locator(".hs-keys [aria-pressed=true]").inner_text().startswith(f"“{TOKENS[key]}”")
    by_weight, by_norm = columns(page)
    expected = moved(kind, key, below=2)
    for shown, wanted, scale in ((by_weight, expected["weight"], 100), (by_norm, expected["norm"], 1)):
        assert [each[:2] for each in shown] == [each[:2] for each in wanted]
        # Weights are held in a byte each, lengths in half precision, and three digits are shown.
        assert [each[2] for each in shown] == pytest.approx([scale * each[2] for each in wanted], rel=0.03, abs=0.6)
    assert "not what caused it" in page.locator(".hs-two-steps").inner_text()


def test_another_token_that_is_attended_to_is_a_click_away(visit, kind):
    page = visit("layer=4&heads=2&mean=0&token=q6")
    second = int(np.argsort(-kind.weights[2, 1, 5])[1])
    page.locator(".hs-keys button").nth(1).click()
    settled(page)
    assert page.locator(".hs-keys [aria-pressed=true]").inner_text().startswith(f"“{TOKENS[second]}”")
    assert [each[:2] for each in columns(page)[1]] == [each[:2] for each in moved(kind, second, below=2)["norm"]]


def test_a_click_on_a_head_shows_it_at_the_token_that_it_moved_something_to(visit, kind):
    page = visit("layer=4&heads=2&mean=0&token=q7")
    name = page.locator(".hs-moves ol").first.locator("button").first
    layer, head = name.inner_text().split("-")
    name.click()
    settled(page)
    assert f"layer={layer}" in page.url or layer == "1"
    assert f"heads={head}" in page.url
    assert f"token=q{strongest(kind, 2, 1, 6) + 1}" in page.url


def test_a_click_on_a_token_opens_the_two_steps_and_another_closes_them(visit):
    page = visit("layer=4&heads=2&mean=0")
    panel = page.locator(".hs-two-steps")
    assert not panel.is_visible()
    page.locator(".hs-query li").nth(6).click()
    settled(page)
    assert panel.is_visible()
    assert violations(page) == []
    page.locator(".hs-query li").nth(6).click()
    settled(page)
    assert not panel.is_visible()
    # A token that is attended to is no first step.
    page.locator(".hs-key li").nth(1).click()
    settled(page)
    assert not panel.is_visible()


def test_to_the_first_token_nothing_can_be_moved(visit, kind):
    page = visit("layer=4&heads=2&mean=0&token=q7")
    assert int(np.argsort(-kind.weights[2, 1, 6])[1]) == 0
    page.locator(".hs-keys button").nth(1).click()
    settled(page)
    panel = page.locator(".hs-two-steps").inner_text()
    assert "“<s>” is the first token: no earlier token could be moved to it." in panel
    assert columns(page) == []


def test_below_the_first_layer_there_is_none(visit):
    page = visit("layer=1&heads=1&mean=0&token=q4")
    assert "There is no layer below layer 1 here" in page.locator(".hs-two-steps").inner_text()


def test_without_norms_the_weights_stand_alone(visit, kind):
    bare = KindMaps(kind="decoder", weights=kind.weights, queries=kind.queries, layers=kind.layers)
    page = visit("layer=4&heads=2&mean=0&token=q7", of=bare)
    assert len(columns(page)) == 1
    assert "Not known for this attention" in page.locator(".hs-two-steps").inner_text()


def test_an_encoder_has_none(visit, kind):
    encoder = KindMaps(kind="encoder", weights=kind.weights, queries=kind.queries, layers=kind.layers)
    page = visit("layer=4&heads=2&mean=0&token=q7", of=encoder)
    assert not page.locator(".hs-two-steps").is_visible()


def test_on_a_phone_the_columns_stand_one_below_the_other(visit):
    page = visit("layer=4&heads=2&mean=0&token=q7", width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    lefts = page.eval_on_selector_all(".hs-moves > div", "all => all.map(one => one.getBoundingClientRect().left)")
    assert lefts[0] == lefts[1]
