"""A notebook with views, run in a real Jupyter server and a real browser; nothing leaves the machine."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
expect = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright").expect

TOKEN = "only-for-this-test"
# Milliseconds; a busy machine starts a kernel slowly.
TIMEOUT = 90_000
CELLS = [
    "import numpy as np\n"
    "import headscope as hs\n"
    "maps = np.zeros((2, 2, 3, 3), dtype=np.float32)\n"
    "maps[:, 0, [0, 1, 2], [0, 0, 1]] = 1\n"
    "maps[:, 1, :, 2], maps[:, 1, :, 0] = 0.75, 0.25\n"
    "tokens = ['[CLS]', 'play', '</script><script>alert(1)</script>']",
    "view = hs.head_view(attention=maps, tokens=tokens, layer=2, heads=[1])\nview",
    "hs.heatmap(attention=maps, tokens=tokens, static=True)",
    "hs.neuron_view(text='The cat sat on the mat.', layer=3)",
]


def notebook(cells):
    return {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": source,
            }
            for number, source in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    for name in ("jupyterlab", "ipykernel", "anywidget", "headscope_minilm"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install -e '.[dev,notebook,demo]'")
    folder = tmp_path_factory.mktemp("notebooks")
    (folder / "views.ipynb").write_text(json.dumps(notebook(CELLS)), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: str(tmp_path_factory.mktemp(name.lower())) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")}
    environment = {**os.environ, **kept, "JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "HF_HUB_OFFLINE": "1"}
    # The kernel finds the package where this test found it.
    import headscope

    source = str(Path(headscope.__file__).parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    log = (folder / "log.txt").open("w")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1"),
            *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={TOKEN}"),
            *(f"--ServerApp.root_dir={folder}", "--LabApp.news_url="),
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=folder,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log.txt").read_text()
                assert time.monotonic() < deadline, (folder / "log.txt").read_text()
                time.sleep(0.5)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)
        log.close()


@pytest.fixture(scope="module")
def lab(server, browser):
    """The notebook, opened and run; afterwards nobody but the machine itself was asked for anything."""
    requests, dialogs = [], []
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(TIMEOUT)
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{server}/lab/tree/views.ipynb?token={TOKEN}")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    # A notebook that is told to run before it knows its kernel asks for one.
    page.add_locator_handler(
        page.get_by_role("button", name="Select Kernel", exact=True), lambda button: button.click()
    )
    page.get_by_text("Python 3 (ipykernel) | Idle").wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()
    yield page
    page.close()
    assert dialogs == []
    own = (server, server.replace("http", "ws"), "data:", "blob:", "about:")
    assert [url for url in requests if not url.startswith(own)] == []


def output(page, number):
    return page.locator(".jp-CodeCell").nth(number).locator(".jp-OutputArea-output")


def test_a_view_is_drawn_in_its_cell(lab):
    view = output(lab, 1).locator(".hs-attention")
    # The frame of a view stands before its tokens do: what is expected of them is waited for.
    expect(view.locator(".hs-query .hs-label")).to_have_text(
        ["[CLS]", "play", "</script><script>alert(1)</script>"], timeout=TIMEOUT
    )
    assert lab.locator(".jp-Error, .jp-RenderedText[data-mime-type='application/vnd.jupyter.stderr']").count() == 0


def test_clicks_reach_python(lab):
    view = output(lab, 1).locator(".hs-attention")
    view.get_by_role("tab", name="Model").click()
    view.locator(".hs-thumbs").wait_for()
    lab.locator(".jp-CodeCell").nth(0).locator(".cm-content").click()
    lab.keyboard.press("Control+End")
    lab.keyboard.type("\nprint(view.state)")
    lab.keyboard.press("Control+Enter")
    printed = output(lab, 0).locator("pre")
    expect(printed).to_contain_text(re.compile(r"^\s*view=model&layer=2"), timeout=TIMEOUT)


def test_the_page_runs_in_a_frame_where_it_is_asked_for(lab):
    frame = output(lab, 2).frame_locator("iframe")
    expect(frame.locator(".hs-text")).to_contain_text("play", timeout=TIMEOUT)


def test_a_model_is_looked_into(lab):
    view = output(lab, 3).locator(".hs-attention")
    expect(view.get_by_role("tab", name="Neuron")).to_have_attribute("aria-selected", "true", timeout=TIMEOUT)
    expect(view).to_contain_text("mat", timeout=TIMEOUT)
