"""The arguments of a Python call that draws a view again, for the page's "copy figure code"."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def figure_call(text: str | None = None, text_b: str | None = None, *, model: Any = None, **options: Any) -> str:
    """Return arguments as Python source: literals where possible, otherwise names of the reader's variables.

    Args:
        text: text that the model reads.
        text_b: the second text of a pair.
        model: model argument of the call: a name or folder, None, or an object, which is written as `model`.
        **options: the call's other options; those that are None, empty, 0 or False are omitted.
    """
    parts = []
    name_or_object = str(model) if isinstance(model, Path) else model
    arguments = {"text": text, "text_b": text_b, "model": name_or_object, **options}
    for name, value in arguments.items():
        # The truth value of a tensor is undefined.
        unsaid = value is None or (isinstance(value, str | int | list | tuple) and not value)
        if not unsaid:
            parts.append(f"{name}={_written(name, value)}")
    return ", ".join(parts)


def _written(name: str, value: Any) -> str:
    plain = isinstance(value, str | int | float) or (
        isinstance(value, list | tuple) and all(isinstance(each, str | int) for each in value)
    )
    return repr(value) if plain else name
