"""The explorer in a real browser: type a sentence, see every view of it, linked; links, keys, troubles."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from headscope.app.explorer.request import Limits
from headscope.views.snapshot_of import reader_of
from support.attention_pages import ink
from support.axe import violations
from support.explorer import running
from support.explorer_pages import drawn, holds, layers_asked, looked_at, settled, tokens, type_text
from support.model_folders import WHOLE, save_tiny_bert, save_tiny_gpt2, save_tiny_t5

pytestmark = pytest.mark.browser
SVG = "{http://www.w3.org/2000/svg}"
EXAMPLE = "The cat sat on the mat."
OTHER = "A dog came by and looked at the cat."
PARTS = ("head", "matrix", "heatmap", "model", "neuron")
REFUSED = "Failed to load resource"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    from transformers import GPT2Config, GPT2LMHeadModel, T5Config, T5ForConditionalGeneration

    bert = save_tiny_bert(root / "tiny-bert", heads=4, layers=3, pieces=WHOLE)
    gpt2 = save_tiny_gpt2(root / "tiny-gpt2", [EXAMPLE, OTHER] * 8)
    GPT2LMHeadModel(GPT2Config.from_pretrained(gpt2)).save_pretrained(gpt2)
    t5 = save_tiny_t5(root / "tiny-t5", [EXAMPLE, OTHER] * 8)
    T5ForConditionalGeneration(T5Config.from_pretrained(t5)).save_pretrained(t5)
    return {"bert": bert, "gpt2": gpt2, "t5": t5}


@pytest.fixture(scope="module")
def client(folders):
    with running([str(folders["bert"])], example=EXAMPLE) as client:
        yield client


@pytest.fixture(scope="module")
def several(folders):
    with running([str(folder) for folder in folders.values()], example=EXAMPLE) as client:
        yield client


def state(page):
    return dict(part.split("=", 1) for part in page.evaluate("location.hash.slice(1)").split("&"))


def test_the_first_screen_shows_an_example_in_every_view(visit_server, client):
    page = visit_server(client)
    assert page.input_value("textarea[name=text]") == EXAMPLE
    for part in PARTS:
        assert page.locator(f".hs-card-{part} .hs-card-top h2").is_visible()
    assert tokens(page) == ["[CLS]", "the", "cat", "sat", "on", "the", "mat", ".", "[SEP]"]
    assert tokens(page, "key") == tokens(page)
    assert page.locator(".hs-card-heatmap .hs-text [data-place]").count() == 9
    assert page.locator(".hs-card-model [role=gridcell]").count() == 12
    for canvas in (".hs-card-head .hs-base", ".hs-card-matrix canvas", ".hs-card-model canvas"):
        assert ink(page, canvas) > 100, canvas
    assert page.title() == f"{EXAMPLE} · headscope explorer"
    # Queries and keys only when somebody wants to see them.
    assert not any("/neuron" in url for url in page.requested)
    assert layers_asked(page) == ["1", "2", "3"]


def test_a_typed_sentence_is_looked_at_with_enter(visit_server, client, folders):
    page = visit_server(client)
    type_text(page, OTHER)
    looked_at(page, OTHER)
    own = reader_of(folders["bert"]).view(OTHER).kinds[0]
    assert tokens(page) == list(own.queries.tokens)
    # The heat map's numbers are the model's: attention received, mean over heads and queries of layer 1.
    shown = page.eval_on_selector_all(
        ".hs-card-heatmap [data-place]", "items => items.map(item => item.getAttribute('aria-label'))"
    )
    received = own.weights[0].mean(axis=(0, 1))
    told = np.array([float(re.search(r"([\d.]+)%$", label)[1]) / 100 for label in shown])
    np.testing.assert_allclose(told, received, atol=0.006)


def test_the_views_are_linked(visit_server, client):
    page = visit_server(client)
    page.locator(".hs-card-model [data-head='2-3']").click()
    holds(page, "location.hash.includes('heads=3')")
    settled(page)
    assert state(page)["layer"] == "2"
    assert page.locator(".hs-field:has-text('Layer') select").input_value() == "2"
    assert page.locator(".hs-chips [aria-pressed=true]").all_text_contents() == ["3"]
    assert page.locator(".hs-card-model [aria-selected=true]").get_attribute("data-head") == "2-3"
    page.locator(".hs-card-heatmap [data-place='2']").click()
    settled(page)
    assert state(page)["token"] == "q3"
    assert page.locator(".hs-card-head .hs-query [aria-selected=true]").inner_text().strip() == "cat"
    assert page.locator(".hs-card-matrix .hs-readout").inner_text() == "Query “cat”."
    assert "head 3" in page.locator(".hs-card-head .hs-readout").inner_text()
    page.locator(".hs-card-head .hs-key [data-place='6']").click()
    settled(page)
    assert page.locator(".hs-card-matrix .hs-readout").inner_text() == "Key “mat”."


def test_queries_and_keys_on_demand(visit_server, client):
    page = visit_server(client, "view=all&layer=2&heads=4&level=word&token=q3")
    card = page.locator(".hs-card-neuron")
    assert not card.locator(".hs-neuron").is_visible()
    card.get_by_role("button", name="Show").click()
    card.locator("table").wait_for()
    assert "Layer 2, head 4" in card.locator(".hs-readout").inner_text()
    assert card.locator(".hs-queries [aria-selected=true]").inner_text().strip() == "cat"
    assert state(page)["open"] == "1"
    assert sum("/neuron?" in url for url in page.requested) == 1
    card.get_by_role("button", name="Hide").click()
    holds(page, "!location.hash.includes('open=1')")
    assert not card.locator(".hs-neuron").is_visible()


def test_one_view_alone_and_back(visit_server, client):
    page = visit_server(client, "view=all&layer=2&heads=3")
    page.get_by_role("button", name="Matrix alone").click()
    holds(page, "location.hash.includes('view=matrix')")
    assert state(page)["head"] == "3"
    assert page.locator(".hs-matrix:visible").count() == 1
    page.select_option(".hs-field:has-text('Head'):visible select", "4")
    page.get_by_role("tab", name="All views").click()
    holds(page, "location.hash.includes('view=all')")
    settled(page)
    assert page.locator(".hs-chips [aria-pressed=true]").all_text_contents() == ["4"]
    for name in ("Head view", "Model view", "Neuron view", "Heat map", "Matrix"):
        page.get_by_role("tab", name=name).click()
        settled(page)
        assert page.locator("[role=tabpanel] > section:not([hidden])").count() == 1
        assert not page.locator(".hs-trouble:visible").count()


def test_the_state_goes_on_to_the_next_sentence(visit_server, client):
    page = visit_server(client, "view=all&layer=2&heads=1,3&least=0.05&token=q3")
    type_text(page, OTHER)
    looked_at(page, OTHER)
    told = state(page)
    assert (told["layer"], told["heads"], told["least"]) == ("2", "1,3", "0.05")
    assert "token" not in told
    page.go_back()
    looked_at(page, EXAMPLE)
    assert page.input_value("textarea[name=text]") == EXAMPLE
    page.go_forward()
    looked_at(page, OTHER)


def test_a_link_restores_text_and_state_and_holds_no_token(visit_server, client):
    link = f"text={quote(OTHER)}&text-b=It%20slept.&view=matrix&layer=3&head=2&token=k4"
    # An address without the token is refused first, which a browser logs.
    page = visit_server(client, link, expected=(REFUSED,))
    assert page.title().startswith(OTHER)
    assert page.input_value("textarea[name=text_b]") == "It slept."
    assert page.locator("textarea[name=text_b]").is_visible()
    assert state(page)["view"] == "matrix"
    assert page.locator(".hs-matrix .hs-readout").inner_text().startswith("Key “")
    assert client.token not in page.url
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (it) => (window.copied = it) } })"
    )
    page.get_by_role("button", name="Copy link").click()
    holds(page, "Boolean(window.copied)")
    link = page.evaluate("window.copied")
    assert client.token not in link
    assert link == page.url
    # In the same browser the link opens, as does the page when it is loaded anew.
    other = page.context.new_page()
    other.goto(link)
    drawn(other)
    assert other.url == link
    page.reload()
    drawn(page)
    assert page.url == link


def test_an_address_without_the_token_shows_a_door(visit_server, client):
    for address in (f"http://127.0.0.1:{client.port}/#text=x", f"http://127.0.0.1:{client.port}/?token=wrong"):
        page = visit_server(client, address=address, ready=False, expected=(REFUSED,))
        page.wait_for_timeout(200)
        assert page.locator("#closed").inner_text().startswith("This page opens with the address that headscope")
        assert page.locator("textarea").count() == 0


def test_an_old_token_is_forgotten(visit_server, client):
    page = visit_server(client, ready=False, expected=(REFUSED,), address=f"http://127.0.0.1:{client.port}/?token=old")
    page.evaluate("localStorage.setItem('headscope-token', 'older')")
    page.goto(f"http://127.0.0.1:{client.port}/")
    page.wait_for_timeout(400)
    assert page.locator("#closed").is_visible()
    assert page.evaluate("localStorage.getItem('headscope-token')") is None
    assert sum("token=older" in url for url in page.requested) == 1


def test_hostile_text_is_text(visit_server, client):
    """Nothing of a text runs, wherever it is shown, and its link opens again."""
    hostile = (
        "</script><script>alert(1)</script> <img src=x onerror=alert(2)> \u202egnp.exe \u200b \U0001f600 " + "x" * 300
    )
    page = visit_server(client)
    type_text(page, hostile)
    holds(page, "document.title.startsWith('</script>')")
    drawn(page)
    assert page.locator("main img, .ex-views script").count() == 0
    assert "script" in tokens(page)
    again = page.context.new_page()
    again.goto(page.url)
    drawn(again)
    assert tokens(again) == tokens(page)


def test_layers_are_fetched_when_they_are_shown(visit_server, client):
    page = visit_server(client, f"text={quote('Only one layer.')}&view=head&layer=1")
    assert layers_asked(page) == ["1"]
    page.get_by_role("button", name="Next layer").click()
    holds(page, "location.hash.includes('layer=2')")
    settled(page)
    assert layers_asked(page) == ["1", "2"]
    page.get_by_role("button", name="Previous layer").click()
    settled(page)
    assert layers_asked(page) == ["1", "2"]


def test_waiting_is_said_only_when_it_takes_long(visit_server, client):
    page = visit_server(client, "view=head&layer=1")
    page.route("**/layer?kind=encoder&layer=2", lambda route: (page.wait_for_timeout(600), route.continue_()))
    page.evaluate(
        """() => { window.seen = [];
        const line = document.querySelector('.ex-views .hs-waiting');
        const note = () => window.seen.push([line.hidden, performance.now()]);
        new MutationObserver(note).observe(line, { attributes: true }); }"""
    )
    began = page.evaluate("performance.now()")
    page.get_by_role("button", name="Next layer").click()
    holds(page, "window.seen.length >= 2")
    seen = page.evaluate("window.seen")
    assert [hidden for hidden, _ in seen][:2] == [False, True]
    assert seen[0][1] - began >= 140
    page.unroute_all()


def test_a_late_answer_never_replaces_a_newer_one(visit_server, client):
    page = visit_server(client)
    held = []

    def hold(route):
        if "slow one" in (route.request.post_data or ""):
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/look", hold)
    type_text(page, "The slow one.")
    holds(page, "document.querySelector('.ex-status').textContent === 'Looking…'")
    type_text(page, "The quick one.")
    looked_at(page, "The quick one.")
    for route in held:
        route.continue_()
    page.wait_for_timeout(500)
    assert page.title().startswith("The quick one.")
    assert "quick" in tokens(page)
    assert "quick" in page.evaluate("location.hash")


def test_an_expired_look_is_asked_for_again_by_itself(visit_server, folders):
    with running([str(folders["bert"])], limits=Limits(kept=1), example=EXAMPLE) as client:
        page = visit_server(client, f"text={quote(EXAMPLE)}&view=head&layer=1", expected=(REFUSED,))
        client.look("Something else.")
        page.get_by_role("button", name="Next layer").click()
        holds(page, "location.hash.includes('layer=2')")
        settled(page)
        assert not page.locator(".hs-trouble:visible").count()
        assert [url for url in page.requested if url.endswith("/api/look")] == [
            client.address.split("?")[0] + "api/look"
        ] * 2


def test_a_server_that_is_gone_is_said_and_what_is_drawn_stays(visit_server, folders):
    gone = "The explorer has stopped. The page stays as it is; start headscope explore again to continue."
    with running([str(folders["bert"])], example=EXAMPLE) as client:
        page = visit_server(client, "view=head&layer=1", expected=(REFUSED,))
    before = page.url
    page.get_by_role("button", name="Next layer").click()
    page.locator(".hs-attention .hs-trouble").wait_for()
    assert page.locator(".hs-attention .hs-trouble").inner_text() == gone
    assert page.url == before
    assert tokens_alone(page)[1] == "the"
    type_text(page, OTHER)
    page.locator(".ex-part > .hs-trouble").wait_for()
    assert page.locator(".ex-part > .hs-trouble").inner_text() == gone
    assert tokens_alone(page)[1] == "the"
    assert page.input_value("textarea[name=text]") == OTHER


def tokens_alone(page):
    return page.locator(".hs-head .hs-query .hs-label:visible").all_text_contents()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Type a sentence first."),
        ("  \n ", "Type a sentence first."),
        ("w " * 600, "The text is 602 tokens long and tiny-bert can read at most 512; shorten it."),
    ],
)
def test_a_text_that_will_not_do(visit_server, client, text, sentence):
    page = visit_server(client, expected=(REFUSED,))
    type_text(page, text)
    page.locator(".ex-part > .hs-trouble").wait_for()
    assert page.locator(".ex-part > .hs-trouble").inner_text() == sentence
    assert "cat" in tokens(page)
    type_text(page, OTHER)
    looked_at(page, OTHER)
    assert not page.locator(".ex-part > .hs-trouble").is_visible()


def test_models_are_chosen_and_fields_follow(visit_server, several):
    page = visit_server(several)
    field = {name: page.locator(f"[name={name}]") for name in ("model", "text_b", "decoder_text", "generate")}
    page.get_by_text("Second text and more").click()
    assert [field[name].is_visible() for name in ("text_b", "decoder_text", "generate")] == [True, False, False]
    field["model"].select_option("tiny-gpt2")
    holds(page, "location.hash.includes('model=tiny-gpt2')")
    drawn(page)
    assert [field[name].is_visible() for name in ("text_b", "decoder_text", "generate")] == [True, False, True]
    field["generate"].fill("3")
    field["generate"].press("Enter")
    page.locator(".hs-card-head .hs-generated").first.wait_for()
    assert page.locator(".hs-card-head .hs-query .hs-generated").count() == 3
    field["model"].select_option("tiny-t5")
    holds(page, "location.hash.includes('model=tiny-t5')")
    drawn(page)
    assert [field[name].is_visible() for name in ("text_b", "decoder_text", "generate")] == [True, True, True]
    page.get_by_role("tab", name="cross").click()
    holds(page, "location.hash.includes('kind=cross')")
    settled(page)
    assert tokens(page) != tokens(page, "key")


def test_a_model_that_failed_is_named(visit_server, folders, tmp_path):
    (tmp_path / "empty").mkdir()
    with running([str(folders["bert"]), str(tmp_path / "empty")], example=EXAMPLE) as client:
        page = visit_server(client)
        holds(page, "[...document.querySelectorAll('[name=model] option')].at(-1).textContent === 'empty (not loaded)'")
        page.select_option("[name=model]", "empty")
        page.locator(".ex-part > .hs-trouble").wait_for()
        assert "has no config.json" in page.locator(".ex-part > .hs-trouble").inner_text()
        assert "cat" in tokens(page)


def test_a_model_that_loads_is_waited_for(visit_server, folders):
    import threading

    go = threading.Event()

    def load(source, **options):
        go.wait(30)
        return reader_of(source, **options)

    with running([str(folders["bert"])], load=load, wait=False, example=EXAMPLE) as client:
        page = visit_server(client, ready=False)
        holds(page, "document.querySelector('.ex-status').textContent === 'Loading tiny-bert…'")
        go.set()
        looked_at(page, EXAMPLE)
        assert page.locator(".ex-status").inner_text() == ""


def saved(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def test_all_views_are_saved_as_one_picture(visit_server, client):
    page = visit_server(client, "view=all&layer=2&heads=3&token=q3&open=1")
    page.wait_for_timeout(300)
    filename, content = saved(page, "Save SVG")
    assert filename == "tiny-bert-all-layer-2.svg"
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg"
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    assert any(text.startswith("Layer 2 · head 3") for text in texts)
    assert "× scale" in texts
    # The head view's tokens, the matrix', the heat map's and the neuron view's.
    assert texts.count("cat") >= 5
    width, height = int(root.get("width")), int(root.get("height"))
    name, picture = saved(page, "Save PNG")
    assert name.endswith(".png")
    assert abs(int.from_bytes(picture[16:20], "big") - 2 * width) <= 2
    assert abs(int.from_bytes(picture[20:24], "big") - 2 * height) <= 2


def test_the_code_of_all_views_runs_as_the_head_view(visit_server, client, folders):
    page = visit_server(client, "view=all&layer=2&heads=3")
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (it) => (window.copied = it) } })"
    )
    page.get_by_role("button", name="Copy code").click()
    holds(page, "Boolean(window.copied)")
    assert page.evaluate("window.copied") == (
        f"import headscope as hs\n\nhs.head_view(text='{EXAMPLE}', model={str(folders['bert'])!r}, "
        'state="view=head&layer=2&heads=3")\n'
    )


def test_by_keyboard_alone(visit_server, client):
    page = visit_server(client)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.press("Control+A")
    page.keyboard.type("One line,")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("two lines.")
    assert page.input_value("textarea[name=text]") == "One line,\ntwo lines."
    page.keyboard.press("Enter")
    looked_at(page, "One line, two lines.")
    assert page.evaluate("document.activeElement.name") == "text"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Look"
    page.focus(".hs-card-model [data-head='1-1']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    holds(page, "location.hash.includes('layer=2&heads=2')")
    settled(page)
    assert page.evaluate("document.activeElement.dataset.head") == "2-2"


@pytest.mark.parametrize("widths", [(360, 700), (1600, 1000)], ids=["phone", "screen"])
def test_no_page_is_wider_than_the_window(visit_server, client, widths):
    text = "The unbelievably warm mat, which nobody had seen before. " * 4
    page = visit_server(client, f"text={quote(text)}&text-b=x&view=all&open=1", width=widths[0])
    page.locator(".hs-card-neuron table").wait_for()
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


@pytest.mark.parametrize(
    "hash", ["view=all", "view=all&open=1&layer=2&heads=3&token=q3", "view=model&text-b=It%20slept."]
)
def test_the_page_passes_the_accessibility_check(visit_server, several, hash):
    page = visit_server(several, hash)
    page.wait_for_timeout(200)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        settled(page)
        assert violations(page) == [], scheme
