"""Terminal output contains no raw text from files, names or options, on either stream."""

import errno
import io
import os
import subprocess
import sys
from inspect import signature
from types import SimpleNamespace

import pandas as pd
import pytest
import typer

from headscope.analyses.distances.facts import PAGE as DISTANCES
from headscope.analyses.measurement import StageResult
from headscope.app.cli import printing, report
from headscope.app.cli.printing import ProgressPrinter, show
from headscope.app.cli.program import app, main
from headscope.errors import InputError
from headscope.present.page import Page
from headscope.present.page_tables import Grid
from headscope.present.study import Study
from headscope.present.words import short
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.progress import Progress
from headscope.visible import printable as made_printable
from support import hostile_terminal as made
from support import mock_inputs
from support.hostile import printable
from support.measured import with_parts
from support.mock_distances import with_distances

COMMANDS = list(typer.main.get_command(app).commands)

each_text = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in made.TEXTS.items()])
each_held = pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in made.HELD.items()])
# Tests that draw or load slowly each take a different third of the texts.
thirds = [
    pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in list(made.HELD.items())[at::3]])
    for at in range(3)
]
# An escaped character can take ten.
LONGEST = 40_000

BY_NAME = {analysis.name: analysis for analysis in ANALYSES}


def in_terminal(name, *results):
    """Return the terminal output of an analysis's results."""
    terminal = BY_NAME[name].load(BY_NAME[name].terminal)
    if not isinstance(terminal, Page):
        return terminal(*results)
    (result,) = results
    return terminal.terminal(Study({**mock_inputs.encoder(1, 2).manifest, **result.facts}, dict(result.tables)))


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


def check_output(out, text):
    """Check that output has no raw control characters, no forged line, no interpreted markup and no huge name."""
    assert printable(out)
    assert len(out) < 5 * LONGEST
    assert not any(line.startswith("headscope: wrote") for line in out.splitlines())
    if text.isascii() and text.isprintable() and len(text) < 100:
        # Names in a sentence or a page's table are shortened.
        assert text in out.replace("\n", "") or short(text) in out.replace("\n", "")


@each_text
def test_a_sentence_is_made_printable(text):
    told = made_printable(f"no such file: {text}; give a text file")
    assert printable(told)
    assert "\n" not in told
    assert len(told) < LONGEST
    assert told.startswith("no such file: ")
    assert told.endswith("; give a text file")


def test_signs_and_what_is_left_out_word_for_word():
    assert made_printable("a\x1b[31m\rb\nc\td\u200be\u202e\ud800\u3164") == (
        "a⟨U+001B⟩[31m␍b⏎c⇥d⟨U+200B⟩e⟨U+202E⟩⟨U+D800⟩⟨U+3164⟩"
    )
    assert made_printable("x" * 4_001) == f"{'x' * 2_000}… (1,001 characters left out) …{'x' * 1_000}"
    assert made_printable("Traceback\n  a\x1bb\n", lines=True) == "Traceback\n  a⟨U+001B⟩b\n"
    assert made_printable("ordinary: café, 漢字, 🙂") == "ordinary: café, 漢字, 🙂"


@each_held
def test_a_table_of_relations(text, capsys):
    show(in_terminal("syntax", made.syntax_result(text)))
    check_output(capsys.readouterr().out, text)


@thirds[2]
def test_a_table_of_mentions(text, capsys):
    show(in_terminal("coref", made.coreference_result(text)))
    check_output(capsys.readouterr().out, text)


@thirds[1]
def test_a_table_of_probes(text, capsys):
    show(in_terminal("probes", made.probe_result(text)))
    check_output(capsys.readouterr().out, text)


@pytest.fixture(scope="module")
def distances():
    return with_distances(mock_inputs.encoder(1, 2))


@each_held
def test_a_table_of_clusters(text, capsys, distances):
    heads = distances.table("head_map").assign(role=["mixed", text])
    show(DISTANCES.terminal(with_parts(distances, head_map=heads)))
    check_output(capsys.readouterr().out, text)


@thirds[0]
def test_what_a_report_says(text, capsys, monkeypatch, tmp_path):
    """Findings, notes and the names of the model and the folder are escaped."""
    from headscope.reporting import atlas_files as atlas_run
    from headscope.reporting import story as reporting_run

    study = SimpleNamespace(
        summary=lambda: f"{text}: 2 x 2 heads", manifest={"notes": [text]}, path=tmp_path / text, report_path=text
    )
    monkeypatch.setattr(atlas_run, "run_report", lambda *_, **__: study)
    monkeypatch.setattr(reporting_run, "first_findings", lambda _: [f"8-10 finds {text}."])
    defaults = {name: each.default for name, each in signature(report.report).parameters.items()}
    # The command line turns the words for None, such as auto, into None.
    unset = {name: None for name, each in options_of(RunOptions).items() if each.none}
    report.report(**{**defaults, **unset, "out": tmp_path})
    out = capsys.readouterr().out
    check_output(out, text)
    assert len(out.splitlines()) == 5


@pytest.mark.parametrize(("way", "text"), [pytest.param(*case, id=name) for name, *case in made.typed()])
def test_what_is_typed(way, text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *made.TYPED[way](tmp_path, text))
    assert (code, out) == (2, ""), err[-300:]
    assert err.startswith("headscope: ")
    assert len(err.splitlines()) == 1
    assert printable(err)
    assert len(err) < LONGEST
    assert not list(tmp_path.iterdir())


@each_text
def test_any_refusal(text, capsys, monkeypatch):
    """A reader's message may quote a document's id, a word or a relation, which are escaped."""
    from headscope.app.cli import program_commands

    def refuse(*_):
        raise InputError(f"document {text}, word {text}: expected a number")

    monkeypatch.setattr(program_commands.typer.main, "get_command", refuse)
    code, out, err = run(capsys, "stats")
    assert (code, out) == (2, "")
    assert printable(err)
    assert len(err.splitlines()) == 1
    assert err.startswith("headscope: document ")
    assert err.endswith(": expected a number\n")


@each_text
def test_progress_in_lines(text, capsys):
    with ProgressPrinter() as watch:
        watch(Progress(text, 3, 9, 3, None, 1.0))
    err = capsys.readouterr().err
    assert err.startswith("headscope: ")
    assert len(err.splitlines()) == 1
    assert printable(err)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@each_text
def test_progress_in_a_bar(text, monkeypatch):
    """Apart from the bar's own control sequences, no control sequence of the text reaches the terminal."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressPrinter() as watch:
        watch(Progress(text, 3, 9, 3, None, 1.0))
        watch._bar.refresh()
    raw = stream.getvalue()
    for sent in ("\x1b[31m", "\x1b[2J", "\x1b]", "\x1bP", "\x1bZ", "\x9b", "\x07", "\b", "\0", "\u202e", "\u200b"):
        assert sent not in raw
    if text == "[/x]":
        assert "[/x]" in raw


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
@each_text
def test_an_output_that_cannot_hold_it(text, encoding, monkeypatch):
    held = io.BytesIO()
    stream = io.TextIOWrapper(held, encoding=encoding, errors="strict")
    monkeypatch.setattr(sys, "stdout", stream)
    with printing.fit_output():
        printing.say(f"finds “{text}” → 漢")
        printing.show_table(Grid(("rélation 漢",), [[text]]))
    assert stream.errors == "strict"
    out = held.getvalue().decode(encoding)
    assert "\\u6f22" in out
    assert printable(out)


class Refuses(io.StringIO):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, text):
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_an_output_that_takes_nothing(number, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Refuses(number))
        with pytest.raises(SystemExit) as ended:
            main(["--version"])
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"headscope: standard output takes nothing more ({os.strerror(number)}); expected a terminal, a pipe that is "
        "read, or a file on a disk with room; results that go into files are written\n"
    )


def test_an_output_that_nobody_reads(capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Refuses(errno.EPIPE))
        with pytest.raises(SystemExit) as ended:
            main(["--version"])
    assert (ended.value.code, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE])
def test_files_are_written_before_anything_is_said(number, monkeypatch, tmp_path):
    """`headscope stats --out FILE | head -1` writes the whole file."""
    from headscope.running import stages
    from headscope.scans.prepare import prepared_run

    measured = StageResult(name="stats", tables={"stats": made.inputs().stats})
    monkeypatch.setattr(prepared_run, "prepare", lambda _, **__: SimpleNamespace(facts=lambda: {"notes": []}))
    monkeypatch.setattr(stages, "measure", lambda *_, **__: iter([measured]))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Refuses(number))
        with pytest.raises(SystemExit):
            main(["stats", "--out", str(tmp_path / "heads.csv")])
    assert len(pd.read_csv(tmp_path / "heads.csv")) == len(made.inputs().stats)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EPIPE])
def test_an_error_stream_that_takes_nothing_changes_no_exit_code(number, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Refuses(number))
        with pytest.raises(SystemExit) as ended:
            main(["stats", "--packing", "no"])
    assert (ended.value.code, capsys.readouterr().out) == (2, "")


@pytest.mark.parametrize("gone", ["stdout", "stderr"])
def test_a_stream_that_is_none(gone, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, gone, None)
        for arguments, code in ((["--version"], 0), (["--help"], 0), (["stats", "--packing", "no"], 2)):
            with pytest.raises(SystemExit) as ended:
                main(arguments)
            assert ended.value.code == code
    said = capsys.readouterr()
    assert "--packing" not in said.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["syntax", "--seed", "-1"],
            "invalid value for '--seed': Input should be greater than or equal to 0; headscope syntax --help lists "
            "what it takes",
        ),
        (["stats", "--controls", "1"], "no such option: --controls; headscope stats --help lists what it takes"),
        (
            ["stats", "--max-input", "3"],
            "no such option: --max-input (Possible options: --max-inputs, --max-length, --shard-minutes); headscope "
            "stats --help lists what it takes",
        ),
        (["--foo"], "no such option: --foo; headscope --help lists what it takes"),
        (
            ["syntax", "--controls"],
            "option '--controls' requires an argument; headscope syntax --help lists what it takes",
        ),
        (["train"], "missing option '--out' / '-o'; headscope train --help lists what it takes"),
        (["convert"], "missing argument 'IN'; headscope convert --help lists what it takes"),
        (["view", "head", "b", "c"], "got unexpected extra argument(s) (c); headscope view --help lists what it takes"),
        (["stast"], "no such command 'stast'. Did you mean 'stats', 'atlas'?; headscope --help lists what it takes"),
        (["convert", "", "x"], "an argument is empty; expected a value (is a variable of the shell not set?)"),
        *(
            (
                [command, option, ""] if form == "apart" else [command, f"{option}="],
                f"{option} '' is empty; expected a value (is a variable of the shell not set?)",
            )
            for command, options in {
                "report": ("--out", "--text", "--treebank", "--coref", "--maps", "--device"),
                "train": ("--out", "--tokenizer", "--size"),
                "view": ("--text", "--out", "--layer"),
                "atlas": ("--out",),
                "explore": ("--study",),
            }.items()
            for option in options
            for form in ("apart", "joined")
        ),
    ],
)
def test_usage_word_for_word(arguments, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *arguments) == (2, "", f"headscope: {sentence}\n")


@pytest.mark.parametrize("digits", [5_000, 100_000])
@pytest.mark.parametrize("option", ["--batch-size", "--max-inputs", "--seed", "--max-length"])
def test_numbers_of_many_digits(option, digits, capsys):
    """Python refuses to parse numbers of more than 4,300 digits."""
    code, out, err = run(capsys, "stats", option, "9" * digits)
    assert (code, out) == (2, "")
    assert option in err
    assert len(err) < LONGEST


def test_a_list_of_heads_without_end_is_refused(capsys):
    code, _, err = run(capsys, "view", "--head", "1-9999," * 14_000 + "1")
    assert (code, err) == (2, "headscope: --head lists 14,001 numbers and ranges; expected at most 1,000\n")


def test_a_csv_of_stats_holds_no_foreign_text():
    """No cell can be read as a formula by a spreadsheet."""
    texts = made.inputs().stats.select_dtypes(exclude="number")
    assert set(texts) == {"kind", "measure", "statistic"}
    assert not texts.stack().str.startswith(("=", "+", "-", "@", "\t", "\r")).any()


def program(*arguments, shell="", **options):
    """Run headscope as a program; return its exit code, standard output and standard error."""
    command = [sys.executable, "-m", "headscope", *arguments]
    if shell:
        command = ["sh", "-c", f'"$0" "$@" {shell}', *command]
    done = subprocess.run(command, capture_output=True, timeout=60, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_full_disk_as_output():
    code, _, err = program("--version", shell="> /dev/full")
    assert code == 2
    assert err == (
        "headscope: standard output takes nothing more (No space left on device); expected a terminal, a pipe that is "
        "read, or a file on a disk with room; results that go into files are written\n"
    )
    code, _, err = program("--help", shell="> /dev/full")
    assert (code, len(err.splitlines())) == (2, 1)


@pytest.mark.parametrize(
    ("arguments", "shell", "code"),
    [(["--version"], ">&-", 0), (["foo"], "2>&-", 2), (["foo"], "2>/dev/full", 2), (["--version"], "<&- >&- 2>&-", 0)],
)
def test_a_stream_that_is_closed_or_full(arguments, shell, code):
    assert program(*arguments, shell=shell) == (code, "", "")


def test_a_reader_that_has_left():
    """A closed pipe causes no message of Python's own, even at the last flush."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "headscope", "--help"], stdout=writer, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("locale", [{"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"}])
def test_arguments_that_are_no_utf8_in_a_poor_locale(locale):
    code, out, err = program(b"caf\xe9\x1b[31m", env={**os.environ, **locale})
    assert (code, out) == (2, "")
    assert "caf" in err
    assert printable(err)


def test_a_bug_of_ours_is_printable_too():
    code = (
        "import headscope.app.cli.program as cli\n"
        "def fail(*_): raise ValueError('a\\x1b[31m\\rb')\n"
        "cli.run = fail\n"
        "from headscope.app.entry import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert printable(done.stderr)
    assert done.stderr.endswith("ValueError: a⟨U+001B⟩[31m␍b\n")
