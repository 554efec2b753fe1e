"""The command of an analysis, made from its declaration: its options, its run, and its output."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.app import typed as o
from headscope.app.beside_run import QUIET, TABLES
from headscope.app.cli.printing import ProgressPrinter, demonstration_note, say, show
from headscope.app.run_arguments import WantedFiles, in_order, options_taken, pop_files, write_files
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError
from headscope.scans.declarations.analysis import Analysis, Command
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions


def command_of(
    analysis: Analysis, command: Command, *, declaring: type[RunOptions] = RunOptions
) -> Callable[..., None]:
    """Make the function of a command.

    Args:
        analysis: analysis that declares the command.
        command: command of the analysis.
        declaring: class of its run options.
    """
    named = [file.option for file in command.files]
    folder_of_tables = () if any(option.name == "out" for option in named) else (TABLES,)
    taken = in_order(options_taken(analysis, command, options_of(declaring)))
    reads_text = any(option.name == "text" for option in taken)

    @o.takes(
        *command.reworded,
        *command.shown,
        *folder_of_tables,
        *named,
        *taken,
        QUIET,
        files=reads_text and not command.models,
        models=bool(command.models),
    )
    def run(**values: Any) -> None:
        typed: Sequence[str] = values.pop("models", None) or ()
        if command.several and len(typed) > len(command.models):
            for line in run_several(analysis, command, typed, values, declaring=declaring):
                say(line)
            return
        if command.models:
            values |= named_models(command, typed, values)
        if command.on_text and values[command.on_text_with]:
            show(answer_on_text(analysis, command, values))
            return
        files = pop_files(analysis, command.files, values)
        shown = {option.name: values.pop(option.name) for option in command.shown}
        out, quiet = values.pop("out", None), values.pop("quiet")
        for option in command.reworded:
            if values[option.name] is None:
                del values[option.name]
        run_options = o.run_options(declaring, **values, stages=analysis.measured)
        for line in run_command(analysis, command, run_options, out=out, files=files, quiet=quiet, shown=shown):
            say(line)

    run.__doc__ = command.help
    return run


def answer_on_text(analysis: Analysis, command: Command, values: Mapping[str, Any]) -> Iterable[Any]:
    """Return the lines of a command that answers for a single text.

    Args:
        analysis: analysis that declares the command.
        command: command with `on_text`.
        values: values of all options.

    Raises:
        OptionError: no text was typed.
    """
    typed = [*(values["files"] or ()), *(values["text"] or ())]
    if len(typed) != 1 or Path(typed[0]).exists():
        came = f"{typed[0]} is a file" if len(typed) == 1 else f"came {len(typed)} texts"
        raise OptionError(
            f"--{command.on_text_with} reads one text, not files; {came}: give the text in quotes, as "
            f'headscope {command.name} "The cat sat."'
        )
    text = typed[0]
    from headscope.app.one_text import read_text

    loading = {name: values[name] for name in ("model", *LOADING) if name in values}
    shown = {option.name: values[option.name] for option in command.shown}
    lines: Iterable[Any] = analysis.load(command.on_text)(read_text(text, **loading), **shown)
    return lines


def named_models(command: Command, typed: Sequence[str], values: Mapping[str, Any]) -> dict[str, str]:
    """Return the models that were typed as positional arguments, by the names of their options.

    Args:
        command: command that takes models.
        typed: the positional arguments.
        values: values of all options.

    Raises:
        OptionError: there are too many or too few models.
    """
    free = [name for name in command.models if values[name] is None]
    named = dict(zip(free, typed))
    number = len(typed) + len(command.models) - len(free)
    if len(typed) > len(free) or any(name not in named and values[name] is None for name in command.models[1:]):
        raise OptionError(
            f"{command.name} expects two models, as in `headscope {command.name} A B --text my.txt`; came {number}"
        )
    return named


def run_several(
    analysis: Analysis, command: Command, models: Sequence[str], values: dict[str, Any], *, declaring: type[RunOptions]
) -> list[str]:
    """Run a command for each of several models with the last of them, and return the lines that show the results.

    Args:
        analysis: analysis whose results are shown.
        command: command of the analysis.
        models: the models, in order.
        values: values of all options; `out` is the folder of all runs and of their page.
        declaring: class of the run options.

    Raises:
        OptionError: there is no `--out`, a model is also named by an option, or an option has another value than
            several models need.
    """
    from headscope.app.api import open_study

    out, quiet = values.pop("out"), values.pop("quiet")
    if out is None or any(values[name] is not None for name in command.models):
        raise OptionError(
            f"{command.name} with {len(models)} models compares each with the last and keeps every comparison; give "
            f"--out FOLDER, and no {' or '.join(f'--{name}' for name in command.models)}"
        )
    for name, value in command.of_several.items():
        if values[name] not in (None, value):
            raise OptionError(f"{command.name} with {len(models)} models takes --{name} {value} only; leave it out")
    studies, (first, last) = [], command.models
    for number, model in enumerate(models[:-1], 1):
        named = {first: model, last: models[-1], **command.of_several}
        run_options = o.run_options(declaring, **{**values, **named}, stages=analysis.measured)
        with ProgressPrinter(quiet=quiet, options=run_options) as watch:
            from headscope.running.writing import write_run
            from headscope.scans.prepare.prepared_run import prepare

            folder = out / f"{number:02}"
            write_run(prepare(run_options, watch=watch), folder, watch=watch)
        studies.append(study := open_study(folder))
        analysis.load(command.page)(study)
    notes = [note for study in studies for note in study.manifest["notes"]]
    return [*analysis.load(command.several)(studies, out), *(f"note: {note}" for note in dict.fromkeys(notes))]


def run_command(
    analysis: Analysis,
    command: Command,
    options: RunOptions,
    *,
    out: Path | None,
    files: WantedFiles,
    quiet: bool,
    shown: Mapping[str, Any],
) -> list[str]:
    """Measure, write the requested files, show the results; return the lines that remain to be printed.

    Args:
        analysis: analysis whose results are shown.
        command: command of the analysis.
        options: options of the run.
        out: folder for all tables; None writes none.
        files: further files to write, with their paths.
        quiet: whether to show no progress.
        shown: values of the display options.
    """
    from headscope.app.api import open_study

    with ProgressPrinter(quiet=quiet, options=options) as watch:
        from headscope.running.stages import measure, stages_of
        from headscope.running.writing import read_stages, write_run
        from headscope.scans.prepare.prepared_run import prepare

        run = prepare(options, watch=watch)
        _check_shown(analysis, run, shown)
        if out is None:
            results = list(measure(run, watch=watch))
        else:
            write_run(run, out, watch=watch)
            results = read_stages(out, *(each.name for each in stages_of(run)))
    by_name = {result.name: result for result in results}
    # Files are written before anything is printed, because the reader of a pipe may leave at any line.
    written = write_files(analysis, files, by_name)
    if out is not None and command.page:
        written.append(f"page: {analysis.load(command.page)(open_study(out))}")
    stage_names = {stage.name for stage in analysis.stages}
    of_stages = [result for result in results if result.name in stage_names]
    show(_results_as_text(analysis, of_stages, run, shown))
    notes = [*(run.facts()["notes"] if command.tells_run else ()), *(n for r in results for n in r.notes)]
    where = [] if out is None else [f"tables: {out / 'tables'}"]
    if not (options.corpora or options.maps):
        notes.insert(0, demonstration_note(options))
    new = [note for note in dict.fromkeys(notes) if note not in watch.noted]
    return [*(f"note: {note}" for note in new), *written, *where]


def _check_shown(analysis: Analysis, run: Any, shown: Mapping[str, Any]) -> None:
    """Refuse display options that the model cannot satisfy."""
    if shown and analysis.terminal is not None:
        from headscope.present.page import Page

        terminal = analysis.load(analysis.terminal)
        if isinstance(terminal, Page):
            terminal.check(run.layout, **shown)


def _results_as_text(analysis: Analysis, results: Sequence[Any], run: Any, shown: Mapping[str, Any]) -> Iterable[Any]:
    """Return lines and tables of text that show the results of an analysis.

    Args:
        analysis: the analysis.
        results: results of its stages (`StageResult`).
        run: the prepared run.
        shown: values of the display options.
    """
    if analysis.terminal is None:
        return ()
    from headscope.present.page import Page
    from headscope.present.study import Study
    from headscope.running.stages import manifest_of

    terminal = analysis.load(analysis.terminal)
    if not isinstance(terminal, Page):
        lines: Iterable[Any] = terminal(*results, **shown)
        return lines
    facts = {name: fact for result in results for name, fact in result.facts.items()}
    tables = {name: table for result in results for name, table in result.tables.items()}
    return terminal.terminal(Study({**manifest_of(run), **facts}, tables), **shown)
