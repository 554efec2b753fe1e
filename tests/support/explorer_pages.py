"""The explorer's page in a browser, which may send requests to its own server only."""

import time

import pytest

VIEWS = ".ex-views > div:not(.ex-next) .hs-attention"


@pytest.fixture
def visit_server(browser):
    """Open a server's page; afterwards check that it called no other server and logged only `expected` messages."""
    opened = []

    def go(client, hash="", *, width=1280, height=900, scheme="light", ready=True, expected=(), address=None, **more):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **more)
        page = context.new_page()
        page.set_default_timeout(60_000)
        troubles, requests = [], []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.requested = requests
        page.goto((address or client.address) + (f"#{hash}" if hash else ""))
        opened.append((context, troubles, requests, f"http://127.0.0.1:{client.port}/", expected))
        if ready:
            drawn(page)
        return page

    yield go
    for context, troubles, requests, server, expected in opened:
        context.close()
        assert [each for each in troubles if not any(known in each for known in expected)] == []
        asked = [url for url in requests if not url.startswith(("blob:", "data:"))]
        assert all(url.startswith(server) for url in asked), asked


def drawn(page):
    """Wait until the views of the last request are drawn."""
    page.wait_for_selector(VIEWS)
    holds(page, "document.querySelectorAll('.ex-next').length === 0")
    settled(page)


def holds(page, expression, *, seconds=60.0):
    """Wait until a JavaScript expression is true; the page's policy forbids Playwright's own way of waiting."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)


def settled(page):
    """Wait two frames: intersection observers report after the first."""
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))"
    )


def type_text(page, text):
    """Type a sentence and press Enter; wait for its views."""
    page.fill("textarea[name=text]", text)
    page.focus("textarea[name=text]")
    page.keyboard.press("Enter")


def looked_at(page, text):
    """Wait until the views of a text are drawn."""
    holds(page, f"document.title.startsWith({text[:30]!r})")
    drawn(page)


def tokens(page, side="query"):
    return page.locator(f".hs-card-head .hs-{side} .hs-label").all_text_contents()


def layers_asked(page):
    return [url.split("layer=")[1] for url in page.requested if "/layer?" in url]
