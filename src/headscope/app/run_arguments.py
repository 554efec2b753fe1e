"""The options of an analysis's command, and the conversion of a Python function's arguments to run options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.beside_run import FEATURES, FUNCTIONS, OUT, RUN, SCORE, TEXT, TOKENIZER, WATCH
from headscope.app.keywords import check_model, checked
from headscope.corpora.given import given_text
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError
from headscope.scans.declarations.analysis import Analysis, Command, OutputFile, Stage
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.option import GROUPS, Option
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.declarations.user_functions import check_features, check_score

if TYPE_CHECKING:
    from headscope.models.load_model import LoadedModel


def run_options_of(
    called: str,
    model: Any,
    arguments: Mapping[str, Any],
    offered: Iterable[Option],
    *,
    stages: tuple[str, ...] = (),
    other: Any = None,
) -> tuple[RunOptions, dict[str, Any]]:
    """Build the options of a run.

    Args:
        called: name of the function, for messages.
        model: hub name or folder, None, the result of `load_model`, or a transformers model.
        arguments: keyword arguments as given.
        offered: options of the function.
        stages: requests to measure; empty for all that follow from the arguments.
        other: second model that is compared, given as `model`; None for none.

    Returns:
        The options, and the arguments that are not run options: `out`, `watch` and the like.

    Raises:
        HeadscopeError: an argument is invalid, or a named file or folder does not exist.
    """
    values = checked(called, arguments, offered, before=["model"])
    loaded_other = None
    if isinstance(other, str | Path):
        values["other"] = str(other)
    elif other is not None:
        loaded_other = loaded_model(other, {"tokenizer": values.get("tokenizer")}, arguments={})
        if model is None or isinstance(model, str | Path):
            values.pop("tokenizer", None)  # it belongs to the second model
    loaded = loaded_model(model, values, arguments=arguments)
    if loaded is None:
        named = None if model is None else str(model)
    else:
        from headscope.models.in_memory import dtype_of

        named, values["dtype"] = None, dtype_of(loaded)
    texts: Any = given_text(values.pop("text", None), column=values.get("column"), labels=values.get("labels"))
    in_memory = bool(texts) and not isinstance(texts[0], str)
    if in_memory and "packing" not in values and any(len(each.lines) <= 1 for each in texts):
        values["packing"] = "single"  # a single line makes no pair, and would be left out
    features = check_features(values.pop(FEATURES.name, ()))
    score = None if SCORE.name not in values else check_score(values.pop(SCORE.name))
    beside = {name: values.pop(name) for name in list(values) if name not in RUN}
    run_options = RunOptions(
        model=named,
        text=() if in_memory else texts,
        loaded_model=loaded,
        loaded_other=loaded_other,
        documents_in_memory=texts if in_memory else (),
        features=features,
        score=score,
        stages=stages,
        **values,
    )
    from headscope.scans.prepare.given_names import check_option_names

    check_option_names(run_options)
    return run_options, beside


def loaded_model(model: Any, values: dict[str, Any], *, arguments: Mapping[str, Any]) -> LoadedModel | None:
    """Return a model that is in memory, or None if `model` is a name; the tokenizer is removed from `values`.

    Raises:
        OptionError: the model is neither, has no tokenizer, or would have to be moved.
        ModelError: its tokenizer does not fit it.
    """
    check_model(model)
    tokenizer = values.pop("tokenizer", None)
    if model is None or isinstance(model, str | Path):
        if tokenizer is not None:
            raise OptionError(
                "a tokenizer was given without its model; a model that is named comes with its own: give model= as the "
                "transformers model, or leave tokenizer out"
            )
        return None
    moved = [name for name in LOADING if arguments.get(name) is not None]
    if moved:
        raise OptionError(
            f"{moved[0]} was given with a model in memory, which is taken as it is; leave {moved[0]} out, or give the "
            "model the way you want it"
        )
    from headscope.models.in_memory import model_in_memory
    from headscope.models.load_model import LoadedModel

    if isinstance(model, LoadedModel):
        return model
    return model_in_memory(model, tokenizer)


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
