"""Data on its way into a page: JSON that cannot leave its script element."""

from __future__ import annotations

import json
from typing import Any

from headscope.views.markup import Html, raw, text

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json_text(value: Any) -> str:
    """Return JSON in which `<`, `>`, `&`, U+2028 and U+2029 are escaped.

    Raises:
        ValueError: a number is NaN or infinite; write None for what is null.
    """
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        written = written.replace(character, escape)
    # A lone surrogate cannot be written as UTF-8; JSON's own escape can.
    return written.encode("utf-8", "backslashreplace").decode("utf-8")


def json_script(identifier: str, value: Any) -> Html:
    """Return `<script type="application/json" id=...>` holding `value`; a browser runs nothing of it."""
    return raw(f'<script type="application/json" id="{text(identifier)}">{json_text(value)}</script>')
