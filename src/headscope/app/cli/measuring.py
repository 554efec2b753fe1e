"""The command of an analysis, made of what it declares: its options, its run, what it shows and writes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show
from headscope.app.command_options import options_taken
from headscope.declarations.analysis import Analysis
from headscope.declarations.command import Command, OutputFile
from headscope.declarations.run_options import RunOptions


def command_of(
    analysis: Analysis, command: Command, *, declaring: type[RunOptions] = RunOptions
) -> Callable[..., None]:
    """Make the function behind a command.

    Args:
        analysis: that declares it.
        command: its own.
        declaring: what its options are options of.
    """
    files = {file.option.name: file for file in command.files}
    out = () if "out" in files else (o.OUT,)
    taken = o.in_order(options_taken(analysis, command, declaring))
    typed = any(option.name == "text" for option in taken)

    @o.takes(*command.reworded, *out, *(file.option for file in files.values()), *taken, o.QUIET, files=typed)
    def run(**values: Any) -> None:
        values = o.with_files(values)
        places = [(file, values.pop(name)) for name, file in files.items()]
        wanted = [(file, path) for file, path in places if path is not None]
        for file, path in wanted:
            analysis.load(file.check)(path)
        folder, quiet = values.pop("out", None), values.pop("quiet")
        o.check_choices(values, command.reworded)
        for option in command.reworded:
            if values[option.name] is None:
                del values[option.name]
        run_options = o.run_options(declaring, **values, stages=analysis.measured)
        for line in run_command(analysis, command, run_options, out=folder, files=wanted, quiet=quiet):
            say(line)

    run.__doc__ = command.help
    return run


def run_command(
    analysis: Analysis,
    command: Command,
    options: RunOptions,
    *,
    out: Path | None,
    files: list[tuple[OutputFile, Path]],
    quiet: bool,
) -> list[str]:
    """Measure, write what is asked for, show what was found; return what is left to say.

    Args:
        analysis: what is shown.
        command: its own.
        options: what is measured.
        out: folder for all tables; None writes none.
        files: what else is written, and where.
        quiet: show no progress.
    """
    from headscope.app.cli.progress_lines import ProgressPrinter
    from headscope.prepare.prepared_run import prepare
    from headscope.running.stages import measure, stages_of
    from headscope.running.writing import read_stages, write_run

    with ProgressPrinter(quiet=quiet) as watch:
        run = prepare(options, watch=watch)
        if out is None:
            results = list(measure(run, watch=watch))
        else:
            write_run(run, out, watch=watch)
            results = read_stages(out, *(each.name for each in stages_of(run)))
    by_name = {result.name: result for result in results}
    # Before anything is said: the reader of a pipe may leave at any line.
    written = [line for file, path in files for line in analysis.load(file.write)(by_name, path)]
    stage_names = {stage.name for stage in analysis.stages}
    show(analysis.render_results(*(result for result in results if result.name in stage_names)))
    notes = [*(run.facts()["notes"] if command.tells_run else ()), *(n for r in results for n in r.notes)]
    where = [] if out is None else [f"tables: {out / 'tables'}"]
    return [*(f"note: {note}" for note in dict.fromkeys(notes)), *written, *where]
