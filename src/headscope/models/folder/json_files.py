"""The small JSON files of a model folder: objects within limits, with text that can be written again."""

import json
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.shown import a_kind, shown
from headscope.storage.bounded import UnreadableFileError, read_json

MOST_BYTES = 4 << 20
"""Maximum size, enough for a configuration of 100,000 labels; real ones take kilobytes."""
MOST_TOKENIZER = 16 << 20
"""Maximum size of tokenizer_config.json; older ones hold each added token."""


def read_object(path: Path, *, most: int = MOST_BYTES, again: str = "save the model again") -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: the file.
        most: maximum size in bytes.
        again: advice to the user about a broken file.

    Raises:
        ModelError: the file is not a regular file, too large, not JSON, nested too deeply, or not an object.
    """
    try:
        value = read_json(path, most=most)
    except UnreadableFileError as error:
        raise ModelError(f"{shown(path)} {error.problem}; {again}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{shown(path)} holds {a_kind(value)}; expected an object in braces: {again}")
    return value


def check_text(path: Path, value: Any, *, again: str = "save the model again") -> None:
    """Refuse half a character (a lone surrogate), which JSON can express but no text file can hold.

    Args:
        path: path of the file, for messages.
        value: content of the file.
        again: advice to the user about it.

    Raises:
        ModelError: there is one; gives its code.
    """
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelError(
            f"{shown(path)} holds half a character (a lone surrogate, U+{ord(text[error.start]):04X}); expected "
            f"Unicode: {again}"
        ) from None
