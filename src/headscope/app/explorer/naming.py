"""What models are called on the page, and where they come from."""

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
    """Return models by the names of the page: hub names whole, folders by their last part.

    Args:
        names: hub names and folders; the embedded model when there are none.
        revision: of the one model that is named.
        study: the study's model: one of the same name has its roles.

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
    """Return the name, or with a number where two folders are called the same."""
    names = chain([name], (f"{name} ({number})" for number in count(2)))
    return next(each for each in names if each not in taken)
