"""Ctrl-C, SIGTERM and SIGHUP: one sentence, the exit code that a shell expects, nothing half-written; at any moment."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import headscope.app.cli.program as cli_module
from headscope.app import stopping
from headscope.app.cli.program import main
from headscope.app.stopping import STOPPED, Stoppable, Stopped
from headscope.storage.atomic import whole_or_absent

SIGNALS = {"Ctrl-C": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP}
each_signal = pytest.mark.parametrize("number", SIGNALS.values(), ids=SIGNALS)


@pytest.fixture(autouse=True)
def handlers_as_before():
    before = [sys.unraisablehook, *(signal.getsignal(number) for number in SIGNALS.values())]
    yield
    assert [sys.unraisablehook, *(signal.getsignal(number) for number in SIGNALS.values())] == before


def run(monkeypatch, capsys, command):
    monkeypatch.setattr(cli_module, "run", lambda *_: command())
    with pytest.raises(SystemExit) as ended:
        main(["stats"])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def after_reading_line(err):
    """Return standard error without the line that says what is read, where the signal came after that line."""
    first, _, rest = err.partition("\n")
    return rest if first.startswith("headscope: reading ") else err


def stopped(number):
    return 128 + number, "", f"headscope: {STOPPED}\n"


@each_signal
def test_a_command_that_is_stopped(number, monkeypatch, capsys, tmp_path):
    """What it was writing goes, as on Ctrl-C."""

    def command():
        with whole_or_absent(tmp_path / "maps") as partial:
            partial.write_text("half")
            signal.raise_signal(number)
            raise AssertionError("it went on")

    assert run(monkeypatch, capsys, command) == stopped(number)
    assert not list(tmp_path.iterdir())


@each_signal
def test_told_twice_at_once_is_one_wish(number, monkeypatch, capsys):
    tidied = []

    def command():
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)
            signal.raise_signal(signal.SIGTERM)
            tidied.append(True)

    assert run(monkeypatch, capsys, command) == stopped(number)
    assert tidied


@each_signal
def test_told_again_later_it_leaves_at_once(number, monkeypatch, capsys):
    monkeypatch.setattr(stopping, "_SECONDS_PER_REQUEST", -1.0)
    left = []
    monkeypatch.setattr(stopping, "leave", lambda *told: left.append(told))

    def command():
        try:
            signal.raise_signal(number)
        finally:
            signal.raise_signal(number)

    run(monkeypatch, capsys, command)
    assert left == [(number, "stopped at once, without tidying up; what was finished is kept")]


@each_signal
@pytest.mark.parametrize("problem", [ImportError, RuntimeError, OSError(28, "No space left"), SystemError])
def test_a_library_that_makes_an_error_of_it(problem, number, monkeypatch, capsys):
    def command():
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt:
            raise problem from None

    assert run(monkeypatch, capsys, command) == stopped(number)


@each_signal
def test_in_a_callback_that_lets_no_error_through(number, monkeypatch, capsys):
    class Noisy:
        def __del__(self):
            signal.raise_signal(number)

    def command():
        Noisy()
        for _ in range(100):
            time.sleep(0.001)
        raise AssertionError("it went on")

    assert run(monkeypatch, capsys, command) == stopped(number)


@each_signal
def test_what_is_ignored_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Stoppable():
            signal.raise_signal(number)
        assert signal.getsignal(number) == signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_another_thread_changes_nothing():
    seen = []

    def body():
        with Stoppable():
            seen.extend(signal.getsignal(number) for number in SIGNALS.values())

    before = [signal.getsignal(number) for number in SIGNALS.values()]
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    assert seen == before


def test_an_error_without_a_signal_is_left_alone():
    with pytest.raises(ValueError, match="ours"), Stoppable():
        raise ValueError("ours")


@each_signal
def test_the_code_of_each(number):
    with pytest.raises(Stopped) as came, Stoppable():
        signal.raise_signal(number)
    assert came.value.code == 128 + number


def test_importing_the_library_takes_no_signal():
    code = (
        "import signal; names = ('SIGINT', 'SIGTERM', 'SIGHUP'); "
        "before = [signal.getsignal(getattr(signal, name)) for name in names]; "
        "import headscope, headscope.app.cli.program, headscope.app.entry; "
        "print(before == [signal.getsignal(getattr(signal, name)) for name in names])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


# A finder of modules that sends a signal when the named one is looked for: each moment of the start, exactly.
WHEN = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
from headscope.app.entry import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("typer", signal.SIGINT),
        ("typer", signal.SIGTERM),
        ("typer", signal.SIGHUP),
        ("headscope.app.cli.program_commands", signal.SIGINT),
        ("numpy", signal.SIGINT),
        ("pandas", signal.SIGTERM),
        ("torch", signal.SIGINT),
        ("torch.nn", signal.SIGINT),
        ("torch.nn", signal.SIGTERM),
        ("transformers", signal.SIGINT),
    ],
)
def test_stopped_while_it_loads(module, number, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("A cat sat.\nA dog came.\n")
    done = subprocess.run(
        [sys.executable, "-c", WHEN.format(module=module, number=int(number)), "stats", "--text", str(text)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, after_reading_line(done.stderr)) == stopped(number)


@pytest.mark.parametrize("seed", range(4))
def test_stopped_at_any_early_moment(seed, tmp_path):
    """Real signals from outside, twice at once."""
    draw = random.Random(seed)
    number = draw.choice(list(SIGNALS.values()))
    text = tmp_path / "text.txt"
    text.write_text("A cat sat.\nA dog came.\n")
    code = "from headscope.app.entry import main\nprint('up', flush=True)\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "stats", "--text", str(text)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "up\n"
    time.sleep(draw.uniform(0.02, 1.0))
    process.send_signal(number)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    # A quiet machine may be done before; then there was nothing to stop.
    assert process.returncode == 0 or (process.returncode, out, after_reading_line(err)) == stopped(number)
    assert "Traceback" not in err
    assert sorted(os.listdir(tmp_path)) == ["text.txt"]
