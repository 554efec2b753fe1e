"""Conversion of a Python function's arguments to run options: names or objects, paths or texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.options.beside_run import FEATURES, RUN, SCORE
from headscope.app.options.keywords import check_model, checked
from headscope.corpora.given import given_text
from headscope.declarations.option import Option
from headscope.declarations.run_options import RunOptions
from headscope.declarations.user_functions import check_features, check_score
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.models.loading.load_model import LoadedModel


def run_options_of(
    called: str, model: Any, arguments: Mapping[str, Any], offered: Iterable[Option], *, stages: tuple[str, ...] = ()
) -> tuple[RunOptions, dict[str, Any]]:
    """Build the options of a run.

    Args:
        called: name of the function, for messages.
        model: hub name or folder, None, the result of `load_model`, or a transformers model.
        arguments: keyword arguments as given.
        offered: options of the function.
        stages: requests to measure; empty for all that follow from the arguments.

    Returns:
        The options, and the arguments that are not run options: `out`, `watch` and the like.

    Raises:
        HeadscopeError: an argument is invalid, or a named file or folder does not exist.
    """
    values = checked(called, arguments, offered, before=["model"])
    loaded = loaded_model(model, values, arguments=arguments)
    if loaded is None:
        named = None if model is None else str(model)
    else:
        from headscope.models.loading.in_memory import dtype_of

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
        documents_in_memory=texts if in_memory else (),
        features=features,
        score=score,
        stages=stages,
        **values,
    )
    from headscope.prepare.given_names import check_option_names

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
    from headscope.models.loading.in_memory import model_in_memory
    from headscope.models.loading.load_model import LoadedModel

    if isinstance(model, LoadedModel):
        return model
    return model_in_memory(model, tokenizer)
