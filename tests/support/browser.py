"""A real browser without a network, as fixtures for the tests of every folder."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    # No name is resolved, so that only this machine can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        pytest.skip("needs Chromium: no `chromium` on the path (apt install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    with sync_api.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit_file(browser):
    """Open a page; afterwards check that it logged no error and requested only itself."""
    opened = []

    def go(path, *, width=1280, height=900, scheme="light", anchor="", folded=False):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        troubles, requests = [], []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri() + anchor)
        opened.append((page, troubles, requests, path.as_uri()))
        # Most tests need a report's evidence, so it is unfolded unless the test asks for the page as readers meet it.
        if not folded and not anchor:
            page.evaluate("document.querySelectorAll('.evidence').forEach(fold => { fold.open = true; })")
        return page

    yield go
    for page, troubles, requests, address in opened:
        page.close()
        assert troubles == []
        # A file that the page itself made, to be saved, is not a request.
        assert {url.split("#")[0] for url in requests if not url.startswith(("blob:", "data:"))} == {address}
