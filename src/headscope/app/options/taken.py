"""The options and output files of an analysis's command, on the command line and in Python."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headscope.app.options.beside_run import FUNCTIONS, OUT, RUN, TEXT, TOKENIZER, WATCH
from headscope.declarations.analysis import Analysis, Command, OutputFile, Stage
from headscope.declarations.analysis_list import STAGES
from headscope.declarations.option import GROUPS, Option

_GROUPS = tuple(GROUPS)
WantedFiles = list[tuple[OutputFile, Any]]


def options_taken(analysis: Analysis, command: Command, options: Mapping[str, Option] = RUN) -> Iterator[Option]:
    """Yield the run options that a command takes unchanged.

    Args:
        analysis: analysis whose stages name them.
        command: command of the analysis.
        options: run options, in the order of their fields.
    """
    stages = list(stages_measured(analysis))
    corpora = {corpus for stage in stages for corpus in (*stage.corpora, *stage.optional_corpora)}
    shaping = {name for stage in stages for name in stage.options} - set(command.without)
    reworded = {option.name for option in command.reworded}
    for option in options.values():
        if option.name in reworded:
            continue
        if option.holds:
            is_taken = bool(corpora & set(option.holds))
        elif option.name == "maps":
            is_taken = any(stage.over_maps for stage in stages)
        else:
            is_named = option.shaping in shaping or bool(corpora & set(option.of))
            is_taken = is_named or option.group in ("model", "machine")
        if is_taken:
            yield option


def stages_measured(analysis: Analysis) -> Iterator[Stage]:
    """Yield the stages that an analysis's command measures."""
    known = {**STAGES, **{stage.name: stage for stage in analysis.stages}}
    yield from (stage for stage in known.values() if stage.request_name in analysis.measured)


def in_order(options: Iterable[Option], *, first: Iterable[str] = ()) -> list[Option]:
    """Return options in the order of help: some first, then by their groups.

    Args:
        options: options in the order of their fields, which they keep within a group.
        first: names of the options that come first.
    """
    by_name = {each.name: each for each in options}
    head = [by_name.pop(name) for name in first]
    return [*head, *sorted(by_name.values(), key=lambda each: _GROUPS.index(each.group))]


def in_python(options: Iterable[Option], stages: Iterable[Stage]) -> list[Option]:
    """Return run options in the form for Python functions: the text may be in memory; the model is a separate argument.

    Args:
        options: options of the run.
        stages: stages that it may measure.
    """
    declared = {each.name: TEXT if each.name == "text" else each for each in options if each.name != "model"}
    named = {name for stage in stages for name in stage.options}
    functions = [each for name, each in FUNCTIONS.items() if name in named]
    offered = [*declared.values(), *functions, OUT, TOKENIZER, WATCH]
    return in_order(offered, first=["text"] if "text" in declared else [])


def pop_files(analysis: Analysis, files: Iterable[OutputFile], values: dict[str, Any]) -> WantedFiles:
    """Remove the paths of requested files from values, and check each before anything is loaded."""
    paths = [(file, values.pop(file.option.name, None)) for file in files]
    wanted = [(file, path) for file, path in paths if path is not None]
    for file, path in wanted:
        analysis.load(file.check)(path)
    return wanted


def write_files(analysis: Analysis, wanted: WantedFiles, results: Mapping[str, Any]) -> list[str]:
    """Write the requested files of results, by stage; return lines to print about them."""
    return [line for file, path in wanted for line in analysis.load(file.write)(results, path)]
