"""The commands of analyses as functions: `hs.syntax(treebank=...)` is `headscope syntax --treebank ...`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.keywords import check_choices, offering, positional
from headscope.app.run_arguments import (
    in_python,
    options_taken,
    pop_files,
    run_options_of,
    stages_measured,
    write_files,
)
from headscope.errors import OptionError
from headscope.scans.declarations.analysis import Analysis, Command
from headscope.scans.declarations.analysis_list import ANALYSES

if TYPE_CHECKING:
    from headscope.present.study import Study

_DOCUMENTED = """{help}

    What `headscope {name}` does, with the numbers as a study instead of on the screen: `study.table(...)`.

    Args:
        model: hub name or folder, None for the embedded model, what `load_model` returns, or a transformers model with
            its `tokenizer`, which is taken as it is and comes back as it was.
{further}        {{options}}

    Returns:
        {returned}

    Raises:
        HeadscopeError: something in the way that the user can mend; its text says how.
    """


def function_of(analysis: Analysis, command: Command) -> Callable[..., Study]:
    """Make the Python function of an analysis's command.

    Args:
        analysis: analysis that declares the command.
        command: command of the analysis.
    """
    # `out` is the folder of the whole run, whatever file the command line writes under that option.
    files = [each for each in command.files if each.option.name != "out"]
    further = command.models[1:]
    taken = in_python([*command.reworded, *options_taken(analysis, command)], stages_measured(analysis))
    offered = [*(each for each in taken if each.name not in further), *(each.option for each in files)]

    def run(model: Any = None, *others: Any, **arguments: Any) -> Any:
        if command.several and len(others) > len(further):
            return _run_several(analysis, command, run, (model, *others), arguments)
        models = dict(zip(further, others)) | {name: arguments.pop(name) for name in further if name in arguments}
        if len(others) > len(further) or len(models) < len(further):
            expected = f"two models, as in hs.{called}(a, b, text=...)" if further else "one model"
            raise OptionError(f"{called} expects {expected}; came {1 + max(len(others), len(models))}")
        check_choices(arguments, command.reworded)
        run_options, beside = run_options_of(called, model, arguments, offered, stages=analysis.measured, **models)
        wanted = pop_files(analysis, files, beside)
        from headscope.app.api import open_study
        from headscope.running.run_folder import check_run_folder
        from headscope.running.writing import read_stages, write_run
        from headscope.scans.prepare.prepared_run import prepare
        from headscope.storage.lock import TemporaryFolder

        temporary = None if "out" in beside else TemporaryFolder()
        folder = beside["out"] if temporary is None else temporary.path
        check_run_folder(folder)
        write_run(prepare(run_options), folder, watch=beside.get("watch"))
        if wanted:
            write_files(analysis, wanted, {result.name: result for result in read_stages(folder)})
        return open_study(folder)

    called = run.__name__ = run.__qualname__ = name_of(command)
    run.__module__ = "headscope"
    run.__doc__ = _DOCUMENTED.format(
        help=command.help.replace("--", "").replace("\n\n", "\n\n    "),
        name=command.name,
        further="".join(f"        {name}: the model that is compared with it, given likewise.\n" for name in further)
        + _MORE * bool(command.several),
        returned=_STUDIES.format(name=called) if command.several else "The study, with the tables that were measured.",
    )
    first = [positional(name, Any) for name in ("model", *further)]
    if command.several:
        first.append(Parameter("more", Parameter.VAR_POSITIONAL, annotation=Any))
    returns = "Study | list[Study]" if command.several else "Study"
    return offering(*offered, first=first, returns=returns)(run)


_MORE = "        *more: further models; each is then compared with the last.\n"
_STUDIES = """The study, with the tables that were measured; of three or more models a list, with the study of each and
        the last. With `out`, their page is written there, too:
        `first, second = hs.{name}("step-000", "step-100", "step-200", text="my.txt", out="steps")`."""


def _run_several(
    analysis: Analysis, command: Command, run: Callable[..., Study], models: Sequence[Any], arguments: dict[str, Any]
) -> list[Study]:
    """Run an analysis for each of several models with the last of them, and write their page if a folder is given."""
    for name, value in command.of_several.items():
        if arguments.get(name) not in (None, value):
            raise OptionError(f"{command.name} of {len(models)} models takes {name}={value!r} only; leave it out")
    out, studies = arguments.pop("out", None), list[Any]()
    for number, model in enumerate(models[:-1], 1):
        folder = {} if out is None else {"out": Path(out) / f"{number:02}"}
        studies.append(run(model, models[-1], **{**arguments, **command.of_several, **folder}))
    if out is not None:
        for study in studies:
            analysis.load(command.page)(study)
        analysis.load(command.several)(studies, Path(out))
    return studies


def name_of(command: Command) -> str:
    """Return the Python name of a command."""
    return command.name.replace("-", "_")


FUNCTIONS: dict[str, Callable[..., Study]] = {
    name_of(analysis.command): function_of(analysis, analysis.command)
    for analysis in ANALYSES
    if analysis.command is not None
}
