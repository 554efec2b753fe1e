"""Why a token attends to another, asked of the explorer: the server's answer and refusals, and the page's bars."""

import json

import pytest

from support.explorer import running
from support.explorer_pages import holds, visit_server
from support.model_folders import save_tiny_bert

__all__ = ["visit_server"]
TEXT = "The quick brown fox saw a dog. The quick brown fox ran."


@pytest.fixture(scope="module")
def client():
    with running(["headscope-decoder"], example=TEXT) as client:
        yield client


def test_the_sources_of_a_score_sum_to_it(client):
    look = client.look(TEXT)["id"]
    status, _, body = client.get(f"/api/look/{look}/score?kind=decoder&layer=2&head=8&query=13&key=4")
    assert status == 200, body
    found = json.loads(body)
    assert {side: sources[0][0] for side, sources in found["sides"].items()} == {"query": "1-2", "key": "1-1"}
    for sources in found["sides"].values():
        assert sum(nats for _, nats in sources) == pytest.approx(found["above_mean"], abs=1e-4)
    assert found["weight"] > 0.9


def test_what_cannot_be_asked(client):
    look = client.look(TEXT)["id"]
    cases = {
        "kind=decoder&layer=2&head=9&query=3&key=2": (
            422,
            "the model has no head 2-9; it has 4 layers of 8 decoder heads",
        ),
        "kind=decoder&layer=2&head=0&query=3&key=2": (
            422,
            "the model has no head 2-0; it has 4 layers of 8 decoder heads",
        ),
        "kind=decoder&layer=2&head=8&query=2&key=3": (
            422,
            "token 3 does not see token 4 in head 2-8; choose one of the 3 tokens that it sees, as 3",
        ),
        "kind=decoder&layer=2&head=8&query=99&key=3": (422, "there is no query token 100; expected 1 to 19"),
        "kind=decoder&layer=2&head=8&query=x&key=3": (404, "expected a whole number as query"),
        "kind=decoder&layer=7&head=8&query=3&key=3": (404, "unknown layer; expected a number from 1 to 4"),
        "kind=cross&layer=1&head=8&query=3&key=3": (404, "unknown kind of attention; choose one of decoder"),
    }
    wrong = []
    for asked, (status, sentence) in cases.items():
        answer = client.get(f"/api/look/{look}/score?{asked}")
        if (answer[0], json.loads(answer[2]).get("error")) != (status, sentence):
            wrong.append((asked, answer[0], answer[2]))
    assert not wrong


def test_an_encoder_answers_too(tmp_path):
    with running([str(save_tiny_bert(tmp_path / "tiny"))]) as client:
        look = client.look("the cat sat")["id"]
        status, _, body = client.get(f"/api/look/{look}/score?kind=encoder&layer=1&head=1&query=1&key=2")
        assert status == 200, body
        assert json.loads(body)["sides"]["key"]


def test_the_page_shows_what_draws_a_head_to_a_token(visit_server, client):
    page = visit_server(client, "view=head&layer=2&heads=8&token=q13")
    holds(page, "document.querySelectorAll('.hs-sources li').length > 10")
    panel = page.locator("section[aria-label=Why]")
    first = panel.locator(".hs-moves > div").first.locator("li").first
    assert first.inner_text().startswith("1-1")
    widths = panel.locator(".hs-part i").evaluate_all("bars => bars.map(bar => bar.getBoundingClientRect().width)")
    assert max(widths) > 50
    assert "nats above the mean of its row" in panel.inner_text()
    panel.locator(".hs-keys button").last.click()
    holds(page, "document.querySelectorAll('.hs-keys button')[1]?.getAttribute('aria-pressed') === 'true'")
    holds(page, "document.querySelectorAll('.hs-sources li').length > 10")


def test_several_heads_are_not_explained_at_once(visit_server, client):
    page = visit_server(client, "view=head&layer=2&heads=7,8&token=q13")
    holds(page, "document.querySelector('section[aria-label=Why]')?.innerText.includes('Leave one head on')")
