"""The names of models on the page, and their sources."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from headscope.app.explorer.model_shelf import NamedModel
from headscope.embedded import EMBEDDED
from headscope.errors import OptionError
from headscope.visible import titled


def named_models(
    names: Sequence[str] | None = None, *, revision: str | None = None, study: NamedModel | None = None
) -> list[NamedModel]:
    """Return models with their names on the page: full hub names, and the last part of folders.

    Args:
        names: hub names and folders; the embedded model when there are none.
        revision: revision of the model, if only one is named.
        study: model of the study: a named model with the same name gets its roles.

    Raises:
        OptionError: one is named twice, or has no name.
    """
    models: list[NamedModel] = []
    sources: Sequence[str | None] = names or [None]
    for source in sources:
        if source is not None and not source.strip():
            raise OptionError("--model '' names no model; give a hub name or a folder")
        if any(each.source == source for each in models):
            raise OptionError(f"--model {source} is named twice; name each model once")
        name = _free(_called(source), [each.name for each in models])
        roles, weights = (study.roles, study.weights) if study is not None and name == study.name else (None, None)
        models.append(NamedModel(name=name, source=source, revision=revision, roles=roles, weights=weights))
    return models


def _called(source: str | None) -> str:
    if source is None:
        return EMBEDDED
    return titled(Path(source).resolve().name if Path(source).is_dir() else source)


def _free(name: str, taken: Sequence[str]) -> str:
    """Return the name, with a number if two folders have the same name."""
    names = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(each for each in names if each not in taken)
