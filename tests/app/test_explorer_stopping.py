"""The command: its address, its options, and that Ctrl-C ends it at once, whatever it is at."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headscope
from headscope.app.stopping import STOPPED
from support.model_folders import save_tiny_bert

pytestmark = pytest.mark.slow

SECONDS = 5.0
"""A stop takes under two on a quiet machine."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny-bert")


class Running:
    def __init__(self, *arguments, before=""):
        code = f"{before}\nfrom headscope.app.cli.program import main\nmain()"
        source = str(Path(headscope.__file__).parents[1])
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "explore", "--no-browser", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": source, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        )
        self.said = self.process.stdout.readline()
        found = re.fullmatch(r"explorer: http://127\.0\.0\.1:(\d+)/\?token=([\w-]{32})\n", self.said)
        assert found, (self.said, self.process.stderr.read() if self.process.poll() is not None else "")
        assert self.process.stdout.readline() == "Ctrl-C stops it\n"
        self.port, self.token = int(found[1]), found[2]

    def ask(self, path="/api/models", method="GET", body=None, timeout=30):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        connection.request(method, path, body, {"X-Headscope-Token": self.token})
        return connection, connection.getresponse

    def stop(self, number=signal.SIGINT):
        started = time.monotonic()
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err, time.monotonic() - started


def wait_for(run, state):
    for _ in range(2400):
        _, answer = run.ask()
        if f'"state":"{state}"'.encode() in answer().read():
            return
        time.sleep(0.05)
    raise AssertionError(f"the model never was {state}")


def free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


NEVER = "import time, headscope.views.snapshot_of as look\nlook.reader_of = lambda *_, **__: time.sleep(600)"


def test_stop_while_a_model_loads(folder):
    run = Running("--model", folder, before=NEVER)
    wait_for(run, "loading")
    code, out, err, seconds = run.stop()
    assert (code, err) == (130, f"headscope: {STOPPED}\n")
    assert out == ""
    assert seconds < SECONDS
    assert free(run.port)


def test_stop_while_torch_is_imported(folder):
    run = Running("--model", folder)
    time.sleep(0.3)
    code, _, err, seconds = run.stop()
    assert (code, err) == (130, f"headscope: {STOPPED}\n")
    assert seconds < SECONDS


def test_stop_with_connections_open_and_a_look_on_its_way(folder):
    slow = (
        "import time, headscope.views.capture as capture\n"
        "capture.AttentionReader.view = lambda *_, **__: time.sleep(600)"
    )
    run = Running("--model", folder, before=slow)
    wait_for(run, "ready")
    idle, answer = run.ask()
    answer().read()
    half = socket.create_connection(("127.0.0.1", run.port))
    half.sendall(b"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Le" % run.port)
    _, answer = run.ask("/api/look", "POST", b'{"model": "tiny-bert", "text": "A cat."}')
    time.sleep(0.5)
    code, _, err, seconds = run.stop()
    assert (code, err) == (130, f"headscope: {STOPPED}\n")
    assert seconds < SECONDS
    assert free(run.port)
    idle.close()
    half.close()


def test_sigterm_ends_it_too(folder):
    run = Running("--model", folder)
    wait_for(run, "ready")
    code, _, err, seconds = run.stop(signal.SIGTERM)
    assert (code, err) == (128 + signal.SIGTERM, f"headscope: {STOPPED}\n")
    assert seconds < SECONDS
    assert free(run.port)


def test_nothing_is_logged_and_the_port_is_as_asked(folder):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = Running("--model", folder, "--port", port)
    assert run.port == port
    for path in (f"/?token={run.token}", "/?token=wrong", "/nothing"):
        run.ask(path)[1]().read()
    with socket.create_connection(("127.0.0.1", port)) as wire:
        wire.sendall(b"no request\r\n\r\n")
        wire.recv(100)
    code, out, err, _ = run.stop()
    assert (code, out, err) == (130, "", f"headscope: {STOPPED}\n")


def refused(result, sentence):
    assert result[2] == f"headscope: {sentence}\n"
    assert result[:2] == (2, "")


def test_a_port_in_use(cli, folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = cli("explore", "--model", folder, "--port", port, "--no-browser")
    refused(
        result,
        f"--port {port} cannot be used: Address already in use; choose another, or leave --port out for a free one",
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "a/b", "--model", "a/b"], "--model a/b is named twice; name each model once"),
        (["--model", ""], "--model '' names no model; give a hub name or a folder"),
        (["--revision", "main"], "--revision is of one model; give one --model with it"),
        (["--dtype", "int8"], "--dtype 'int8' is not known; choose one of auto, float32, float64, bfloat16, float16"),
        (
            ["--study", "nowhere"],
            "nowhere holds no headscope run: expected a manifest.json, as headscope report --out writes it",
        ),
    ],
)
def test_wrong_options(cli, arguments, sentence):
    refused(cli("explore", "--no-browser", *arguments), sentence)


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "cachetools"])
def test_what_is_not_installed_is_named(cli, monkeypatch, package):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else found(name))
    root = Path(__file__).resolve().parents[2]
    refused(cli("explore"), f"headscope explore needs {package}; install it with pip install '{root}[explore]'")


def test_the_browser_opens_once_the_page_is_there(folder, monkeypatch):
    """In a process of its own, with a browser that writes down what it was given."""
    opened = "import webbrowser\nwebbrowser.open = lambda address: print('opened', address, flush=True)"
    code = f"{opened}\nfrom headscope.app.cli.program import main\nmain()"
    source = str(Path(headscope.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-c", code, "explore", "--model", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": source, "HF_HUB_OFFLINE": "1"},
    )
    lines = [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert lines[2] == f"opened {lines[0].removeprefix('explorer: ')}"


def test_two_folders_of_one_name_are_told_apart(tmp_path):
    from headscope.app.explorer.model_shelf import named_models

    for place in ("a", "b"):
        (tmp_path / place / "model").mkdir(parents=True)
    named = named_models([str(tmp_path / "a" / "model"), str(tmp_path / "b" / "model"), "org/model"])
    assert [each.name for each in named] == ["model", "model (2)", "org/model"]
    assert [each.name for each in named_models(None)] == ["headscope-minilm"]
