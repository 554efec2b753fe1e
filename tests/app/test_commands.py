"""Commands: each analysis's is made of what it declares, and takes the options that its stages name."""

import ast
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path

import pytest
import typer

from headscope.analyses.measurement import StageResult
from headscope.app.analysis_functions import FUNCTIONS
from headscope.app.beside_run import FUNCTIONS as OF_PYTHON
from headscope.app.cli import measuring, printing
from headscope.app.cli.program import app
from headscope.app.cli.program_commands import HEADINGS
from headscope.app.run_arguments import stages_measured
from headscope.scans.declarations.analysis import Analysis, Command, OutputFile, Stage
from headscope.scans.declarations.analysis_list import ANALYSES, STAGES
from headscope.scans.declarations.option import GROUPS, Option, option, options_of
from headscope.scans.declarations.run_options import RunOptions

OF_ANALYSES = {each.command.name: each for each in ANALYSES if each.command is not None}
OPTIONS = options_of(RunOptions)
MACHINE = [*(name for name, each in OPTIONS.items() if each.group == "machine"), "quiet"]
TEXT = [
    *(name for name, each in OPTIONS.items() if "text" in (*each.holds, *each.of)),
    *(name for name, each in OPTIONS.items() if each.group == "model" and name != "maps"),
]


@dataclass(frozen=True, kw_only=True)
class WiderOptions(RunOptions):
    """Options of a run and one more."""

    nearby: int = option(3, least=0, help="How many tokens away is near.")
    manner: str = option("kind", choices=("kind", "gruff"), help="kind or gruff.")


NEIGHBORS = Analysis(
    name="stats",
    question="Who is near?",
    stages=(Stage(name="stats", measure="compute:StatsMeasurement", corpora=("text",), options=("nearby",)),),
    terminal="output:render_results",
    command=Command(name="neighbors", help="Say who is near.\n\nAnd how near."),
)


def parameters(command):
    return {each.name: each for each in command.params if each.name != "help"}


def made(analysis, declaring=WiderOptions):
    """The command of an analysis, as typer makes it."""
    program = typer.Typer(add_completion=False, rich_markup_mode=None)
    program.command("own", help=analysis.command.help)(
        measuring.command_of(analysis, analysis.command, declaring=declaring)
    )
    return typer.main.get_command(program)


@pytest.fixture
def program():
    return typer.main.get_command(app)


def test_the_list_of_commands(program):
    functions = {
        path.stem if node.name == "command" else node.name
        for path in Path(printing.__file__).parent.glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and any("o.takes" in ast.unparse(each) for each in node.decorator_list)
    }
    assert set(program.commands) == {*functions, "train", *OF_ANALYSES}
    assert next(iter(program.commands)) == "report"
    listed = [name for name in program.commands if name in OF_ANALYSES]
    assert listed == [each.command.name for each in ANALYSES if each.command]
    for name, analysis in OF_ANALYSES.items():
        assert program.commands[name].help == analysis.command.help


@pytest.mark.parametrize("name", OF_ANALYSES)
def test_a_command_takes_what_its_stages_read_and_what_every_run_takes(program, name):
    analysis, taken = OF_ANALYSES[name], list(parameters(program.commands[name]))
    stages = list(stages_measured(analysis))
    corpora = {corpus for stage in stages for corpus in (*stage.corpora, *stage.optional_corpora)}
    named = {option for stage in stages for option in stage.options}
    reworded = [each.name for each in analysis.command.reworded]
    shown = [each.name for each in analysis.command.shown]
    written = [each.option.name for each in analysis.command.files]
    for each in OPTIONS.values():
        if each.holds:
            assert (each.name in taken) is bool(corpora & {*each.holds})
        elif each.group == "machine" or each.name in ("model", "revision"):
            assert each.name in taken
        elif each.name in taken and each.name != "maps" and each.name not in reworded:
            assert each.shaping in named or corpora & {*each.of}
    assert ("maps" in taken) is any(stage.over_maps for stage in stages)
    # In the order of help: text, what the command words or writes itself, and the groups.
    positional = "models" if analysis.command.models else "files"
    assert (positional in taken) is ("text" in taken)
    first = [
        *([positional] if positional in taken else []),
        *reworded,
        *shown,
        *(["out"] if "out" not in written else []),
        *written,
    ]
    groups = [[*GROUPS].index(OPTIONS[each].group) for each in taken[len(first) : -1]]
    assert (taken[: len(first)], groups, taken[-1]) == (first, sorted(groups), "quiet")


@pytest.mark.parametrize("name", OF_ANALYSES)
def test_a_function_takes_what_its_command_does(program, name):
    shown = {each.name for each in OF_ANALYSES[name].command.shown}
    taken = {*parameters(program.commands[name])} - {"files", "models", "quiet"} - shown
    shaping = {each for stage in OF_ANALYSES[name].stages for each in stage.options}
    of_python = {each.name for shapes, each in OF_PYTHON.items() if shapes in shaping}
    more = {"more"} if OF_ANALYSES[name].command.several else set()
    assert {*signature(FUNCTIONS[name]).parameters} == {*taken, *of_python, *more, "out", "tokenizer", "watch"}


@pytest.mark.parametrize("name", OF_ANALYSES)
def test_a_command_takes_every_option_that_its_stages_name(program, name):
    analysis = OF_ANALYSES[name]
    taken = parameters(program.commands[name])
    own = {each.name for each in analysis.command.reworded}
    for each in OPTIONS.values():
        for stage in stages_measured(analysis):
            if each.shaping in stage.options and each.name not in analysis.command.without:
                assert each.name in taken
                assert (taken[each.name].help == each.help) is (each.name not in own)


def test_a_report_takes_every_option_there_is(program):
    taken = parameters(program.commands["report"])
    cluster = {"engine", "workers", "gpus_per_worker", "cpus_per_worker", "ray_address"}
    assert set(taken) == {"files", "out", "bundle", "dry_run", "shard", "quiet", *cluster, *OPTIONS}
    assert set(STAGES) >= {name for each in OF_ANALYSES.values() for name in each.measured}


def test_a_new_option_appears_on_the_commands_of_the_stages_that_name_it(program):
    taken = parameters(made(NEIGHBORS))
    assert list(taken) == ["files", "out", *TEXT, "maps", "nearby", *MACHINE]
    assert taken["nearby"].opts == ["--nearby"]
    assert (taken["nearby"].help, taken["nearby"].default) == ("How many tokens away is near.", 3)
    with pytest.raises(typer.BadParameter, match="greater than or equal to 0"):
        made(NEIGHBORS).main(["--nearby", "-1"], standalone_mode=False)
    for analysis in OF_ANALYSES.values():
        assert "nearby" not in parameters(made(analysis))
    assert "nearby" not in parameters(program.commands["report"])


def test_a_comparison_takes_two_models(cli):
    for typed, came in (([], 0), (["a"], 1), (["a", "b", "--other", "c"], 3)):
        code, _, said = cli("compare", *typed)
        expected = "compare expects two models, as in `headscope compare A B --text my.txt`; came"
        assert (code, said.strip()) == (2, f"headscope: {expected} {came}")
    for typed in (["a", "b", "c"], ["a", "b", "c", "--out", "folder", "--other", "d"]):
        code, _, said = cli("compare", *typed)
        expected = (
            "compare with 3 models compares each with the last and keeps every comparison; give --out FOLDER, and no"
        )
        assert (code, said.strip()) == (2, f"headscope: {expected} --model or --other")


def test_the_page_on_the_command_line_names_every_command(program):
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert [name for name in program.commands if f"`headscope {name}" not in page] == []


class Watched:
    """Measures nothing: keeps what was asked, and gives a result back."""

    def __init__(self, monkeypatch):
        self.asked = []
        monkeypatch.setattr("headscope.scans.prepare.prepared_run.prepare", self.prepare)
        monkeypatch.setattr("headscope.running.stages.measure", lambda run, watch: run.results)
        monkeypatch.setattr("headscope.analyses.stats.output.render_results", lambda result: [f"{result.name} shown"])

    def prepare(self, options, watch):
        self.asked.append(options)
        self.results = [StageResult(name="stats", tables={}, notes=("few",)), StageResult(name="map", tables={})]
        return self

    def facts(self):
        return {"notes": ["short", "few"]}


@pytest.fixture
def watched(monkeypatch):
    return Watched(monkeypatch)


def test_a_new_option_reaches_the_run(watched, capsys):
    made(NEIGHBORS).main(["--nearby", "5", "--max-inputs", "2", "-q"], standalone_mode=False)
    (asked,) = watched.asked
    assert asked == WiderOptions(nearby=5, max_inputs=2, stages=("stats",))
    # The stage of another analysis says its notes, if it has any, and is not shown.
    assert capsys.readouterr().out == (
        "stats shown\nnote: no corpus was given, so the demonstration's text was read; --text reads another\n"
        "note: few\n"
    )


def test_files_are_typed_without_an_option_too(watched, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt", "c.txt"):
        Path(name).write_text("The cat sat.")
    made(NEIGHBORS).main(["a.txt", "b.txt", "--text", "c.txt", "-q"], standalone_mode=False)
    made(NEIGHBORS).main(["--text", "a.txt", "b.txt", "-q"], standalone_mode=False)
    assert [each.text for each in watched.asked] == [("a.txt", "b.txt", "c.txt"), ("b.txt", "a.txt")]


def test_what_is_written_is_checked_first_and_told_last(watched, capsys, monkeypatch):
    done = []
    paths = OutputFile(
        option=Option(name="list", kind=Path | None, help="A list."), check="output:check", write="output:write"
    )
    monkeypatch.setattr("headscope.analyses.stats.output.check", lambda path: done.append(("check", path)))
    monkeypatch.setattr(
        "headscope.analyses.stats.output.write",
        lambda found, path: done.append((list(found), path)) or [f"list: {path}"],
    )
    command = replace(NEIGHBORS.command, files=(paths,), tells_run=True)
    analysis = replace(NEIGHBORS, command=command)
    made(analysis).main(["--list", "here", "-q"], standalone_mode=False)
    assert done == [("check", Path("here")), (["stats", "map"], Path("here"))]
    assert (
        capsys.readouterr().out
        == "stats shown\nnote: no corpus was given, so the demonstration's text was read; --text reads another\n"
        "note: short\nnote: few\nlist: here\n"
    )
    done.clear()
    made(analysis).main(["-q"], standalone_mode=False)
    assert done == []


def test_a_command_words_an_option_in_its_own_way(watched):
    own = Option(name="manner", choices=("gruff",), help="gruff, or as it comes.")
    analysis = replace(NEIGHBORS, command=replace(NEIGHBORS.command, reworded=(own,)))
    taken = parameters(made(analysis))
    assert (list(taken)[:2], taken["manner"].help) == (["files", "manner"], own.help)
    made(analysis).main(["-q"], standalone_mode=False)
    made(analysis).main(["--manner", "gruff", "-q"], standalone_mode=False)
    assert [each.manner for each in watched.asked] == ["kind", "gruff"]


def test_examples_of_arcs_are_measured_by_no_stage_and_command_of_their_own():
    (analysis,) = (each for each in ANALYSES if each.name == "arc_examples")
    assert (analysis.terminal, analysis.stages, analysis.command) == (None, (), None)


@pytest.mark.parametrize("width", [80, 100])
def test_each_command_is_said_in_a_line_that_fits(cli, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = cli("--help")
    sections = dict(section.split(":\n", 1) for section in out.rstrip().split("\n\n")[2:])
    assert list(sections) == ["Options", *(each for each in HEADINGS if each in sections)]
    listed = [line for heading in HEADINGS for line in sections.get(heading, "").splitlines()]
    assert sorted(line.split()[0] for line in listed) == sorted(typer.main.get_command(app).commands)
    assert [line.split()[0] for line in sections["Measure"].splitlines()] == [
        each.command.name for each in ANALYSES if each.command and not each.command.models
    ]
    for line in listed:
        assert line.endswith(".")
        assert not line.endswith("...")
        assert len(line) <= 80


def test_help_has_a_heading_for_each_group_and_shows_choices(cli):
    _, out, _ = cli("report", "--help")
    headings = [line for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Input:", "Model:", "Measure:", "Output:", "Machine:"]
    for each in OPTIONS.values():
        if each.choices:
            assert f"{each.flag} [{'|'.join(each.choices)}]" in out
    assert out.index("Output:") < out.index("-o, --out") < out.index("Machine:") < out.index("--seed N")
    assert "Usage: headscope report [OPTIONS] [FILE]..." in out


def test_what_a_command_writes_stands_under_output(cli):
    for name in ("stats", "distances", "view", "extract", "segments", "atlas", "train"):
        _, out, _ = cli(name, "--help")
        assert "--out" in out.split("\nOutput:\n")[1].split("\n\n")[0], name
