"""The commands of analyses as functions: `hs.syntax(treebank=...)` is `headscope syntax --treebank ...`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.command_options import options_taken
from headscope.app.keyword_options import offering, positional
from headscope.app.run_arguments import in_python, run_options_of
from headscope.declarations.analysis import Analysis
from headscope.declarations.analysis_list import ANALYSES
from headscope.declarations.command import Command
from headscope.declarations.run_options import RunOptions

if TYPE_CHECKING:
    from headscope.study.study import Study

_DOCUMENTED = """{help}

    What `headscope {name}` does, with the numbers as a study instead of on the screen: `study.table(...)`.

    Args:
        model: hub name or folder, None for the embedded model, what `load_model` returns, or a transformers model with
            its `tokenizer`, which is taken as it is and comes back as it was.
        {{options}}

    Returns:
        The study, with the tables that were measured.

    Raises:
        HeadscopeError: something in the way that the user can mend; its text says how.
    """


def function_of(analysis: Analysis, command: Command) -> Callable[..., Study]:
    """Make the function of an analysis's command.

    Args:
        analysis: that declares it.
        command: its own.
    """
    # The whole run's folder is `out`, whatever file the command line writes there.
    files = {each.option.name: each for each in command.files if each.option.name != "out"}
    taken = in_python([*command.reworded, *options_taken(analysis, command, RunOptions)])
    offered = [*taken, *(each.option for each in files.values())]
    reworded = {each.name for each in command.reworded}

    def run(model: Any = None, **arguments: Any) -> Study:
        said = {name: value for name, value in arguments.items() if name not in reworded or value is not None}
        for each in command.reworded:
            if each.name in said and each.choices:
                from headscope.declarations.option import choose

                choose(each.name, said[each.name], each.choices)
        run_options, beside = run_options_of(called, model, said, offered, stages=analysis.measured)
        wanted = [(file, beside[name]) for name, file in files.items() if beside.get(name) is not None]
        for file, path in wanted:
            analysis.load(file.check)(path)
        out, watch = beside.get("out"), beside.get("watch")
        from headscope.prepare.prepared_run import prepare
        from headscope.running.run_folder import check_run_folder
        from headscope.running.writing import read_stages, write_run
        from headscope.study.study import open_study

        folder = Path(tempfile.mkdtemp(prefix="headscope-")) if out is None else out
        check_run_folder(folder)
        write_run(prepare(run_options), folder, watch=watch)
        if wanted:
            results = {result.name: result for result in read_stages(folder)}
            for file, path in wanted:
                analysis.load(file.write)(results, path)
        return open_study(folder)

    called = run.__name__ = run.__qualname__ = name_of(command)
    run.__module__ = "headscope"
    run.__doc__ = _DOCUMENTED.format(
        help=command.help.replace("--", "").replace("\n\n", "\n\n    "), name=command.name
    )
    return offering(*offered, first=[positional("model", Any)], returns="Study")(run)


def name_of(command: Command) -> str:
    """Return what a command is called in Python."""
    return command.name.replace("-", "_")


FUNCTIONS: dict[str, Callable[..., Study]] = {
    name_of(analysis.command): function_of(analysis, analysis.command)
    for analysis in ANALYSES
    if analysis.command is not None
}
