"""No command imports, opens or lists files of the current folder, except those that its arguments name."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from headscope.app.cli.program import app
from support.opened_files import OpenedFiles
from support.planted import MARK, beyond, command_line, plant, write_inputs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which files are opened"),
]
COMMANDS = typer.main.get_command(app).commands
SERVED = "explore"
CONSOLE = Path(sys.executable).with_name("headscope")
# The value of each option or argument, by its name, for all commands.
GIVEN = {
    "files": "my.txt",
    "text": "my.txt",
    "treebank": "dev.conllu",
    "treebank_train": "train.conllu",
    "coref": "dev.conllu",
    "loss": "mlm",
    "model": "tiny",
    "other": "headscope-minilm",
    "study": "made/report",
    "source": "maps.pkl",
    "controls": "0",
    "seeds": "1",
    "steps": "2",
    "max_length": "32",
    "effect_inputs": "4",
    "joint_inputs": "2",
    "keep": "0.5",
    "by": "stats.sep",
}
# Alternatives to other parameters, and parameters that only make a command slower.
LEFT_OUT = {"report": ("treebank_train", "other"), "train": ("treebank",)}
ENDINGS = {"stats": ".csv"}
PARTS = {
    f"report --shard {part}/2": [
        *("report", "my.txt", "--model", "tiny", "--max-length", "32", "--shard", f"{part}/2"),
        *("--out", f"made/part-{part}"),
    ]
    for part in (1, 2)
}


def arguments_of(name):
    """Return the arguments of a command, from the names of its parameters."""
    given = [name]
    taken = {each.name: each for each in COMMANDS[name].params}
    for parameter in taken.values():
        value = GIVEN.get(parameter.name)
        if parameter.name == "out":
            value = f"made/{name}{ENDINGS.get(name, '')}"
        twice = parameter.name == "text" and "files" in taken
        if value is None or twice or parameter.name in LEFT_OUT.get(name, ()):
            continue
        option = [] if parameter.param_type_name == "argument" else [f"--{parameter.name.replace('_', '-')}"]
        given += [*option, value]
    return [*given, *(part[-1] for part in PARTS.values())] if name == "merge" else given


def environment(home):
    """Return the environment of a user whose home is elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "XDG", "MPL"))}
    return kept | {"HOME": str(home), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("called-here")
    write_inputs(folder)
    plant(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def commands():
    """Return every command with its arguments, after the commands that write its inputs."""
    return PARTS | {name: arguments_of(name) for name in COMMANDS if name != SERVED}


@pytest.fixture(scope="module")
def found(folder, home, commands):
    """Return each command's exit code and the files that it opened."""
    told = home / "opened.json"
    done = subprocess.run(
        command_line(commands, told),
        cwd=folder,
        env=environment(home),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    return json.loads(told.read_text()), done.stderr


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != SERVED])
def test_a_command_opens_what_it_is_given_alone(found, folder, commands, name):
    opened, said = found
    assert name in opened, said[-2000:]
    code, files = opened[name]
    assert code in (0, None), said[-2000:]
    # A merge also reads the inputs of the parts that it merges.
    given = [each for of in (name, *(PARTS if name == "merge" else ())) for each in commands[of]]
    assert beyond(set(files), given) == []
    assert not (folder / MARK).exists(), (folder / MARK).read_text()


def test_the_installed_command_and_python_with_a_safe_path_import_nothing_from_it(folder, home):
    given = ["stats", "my.txt", "--model", "tiny", "--max-length", "32", "--quiet"]
    for program in ([CONSOLE], [sys.executable, "-P", "-m", "headscope"]):
        with OpenedFiles(folder) as opened:
            done = subprocess.run([*program, *given], cwd=folder, env=environment(home), capture_output=True)
            assert done.returncode == 0, done.stderr
            assert beyond(opened.so_far(), given) == []
    assert not (folder / MARK).exists()


def test_the_explorer_opens_the_model_alone(folder, home):
    given = [SERVED, "--model", "tiny", "--port", "0", "--no-browser"]
    with OpenedFiles(folder) as opened:
        explorer = subprocess.Popen(
            [CONSOLE, *given], cwd=folder, env=environment(home), stdout=subprocess.PIPE, text=True
        )
        port, token = re.search(r":(\d+)/\?token=(.+)", explorer.stdout.readline()).groups()

        def ask(method, path, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)
            connection.request(method, path, body, {"X-Headscope-Token": token})
            return connection.getresponse().read()

        assert b"<html" in ask("GET", f"/?token={token}")
        while b'"ready"' not in ask("GET", "/api/models"):
            time.sleep(0.1)
        assert b'"tokens"' in ask("POST", "/api/look", json.dumps({"model": "tiny", "text": "the cat"}))
        explorer.send_signal(signal.SIGINT)
        explorer.communicate(timeout=60)
        assert beyond(opened.so_far(), given) == []
    assert not (folder / MARK).exists()


@pytest.mark.long
def test_rays_workers_import_nothing_from_it(folder, home):
    pytest.importorskip("ray", reason="Ray is not installed")
    given = [
        *("report", "my.txt", "--model", "tiny", "--max-length", "32", "--quiet"),
        *("--engine", "ray", "--workers", "1", "--out", "made/by-ray"),
    ]
    with OpenedFiles(folder) as opened:
        done = subprocess.run([CONSOLE, *given], cwd=folder, env=environment(home), capture_output=True)
        assert done.returncode == 0, done.stderr
        assert b"report: made/by-ray/report.html" in done.stdout.splitlines()
        assert beyond(opened.so_far(), given) == []
    assert not (folder / MARK).exists()


def test_a_notebooks_kernel_with_a_safe_path_imports_nothing_from_it(folder, home):
    from jupyter_client.manager import start_new_kernel

    given = ["my.txt", "tiny"]
    code = "import headscope as hs; hs.stats(text='my.txt', model='tiny', max_length=32)"
    with OpenedFiles(folder) as opened:
        manager, client = start_new_kernel(
            kernel_name="python3", cwd=str(folder), env=environment(home) | {"PYTHONSAFEPATH": "1"}
        )
        try:
            reply = client.execute_interactive(code, timeout=300, output_hook=lambda message: None)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        assert reply["content"]["status"] == "ok", reply["content"]
        # A kernel's matplotlib reads its own settings, as SECURITY.md says; headscope's figures ignore them.
        assert beyond(opened.so_far(), [*given, "matplotlibrc"]) == []
    assert not (folder / MARK).exists()
