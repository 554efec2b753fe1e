"""Save a model and its tokenizer as a folder that plain transformers can load."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headscope.models.loading.quiet import quiet_libraries

_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")


def save_folder(folder: Path, model: Any, tokenizer: Any, *, weights: Mapping[str, Any] | None = None) -> None:
    """Write a model and its tokenizer with save_pretrained, in files whose modes follow the umask.

    Args:
        folder: the folder.
        model: a transformers model.
        tokenizer: its tokenizer.
        weights: weights to write; the model's own if None.

    Raises:
        OSError: the system refused a file, even if the library replaces that error by its own.
    """
    with quiet_libraries(), _system_errors(folder):
        model.save_pretrained(folder, **({} if weights is None else {"state_dict": weights}))
        tokenizer.save_pretrained(folder)
        # Files of safetensors can be read only by their owner; Python's own files follow the umask.
        mode = (folder / "config.json").stat().st_mode & 0o777
        for path in folder.iterdir():
            if path.is_file():
                path.chmod(mode)


@contextmanager
def _system_errors(folder: Path) -> Iterator[None]:
    """Raise the system's error that a library in Rust wraps: "Error while serializing: ... (os error 28)"."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        wrapped = _SYSTEM_ERROR.search(str(error))
        if wrapped is None:
            raise
        number = int(wrapped[1])
        raise OSError(number, os.strerror(number), str(folder)) from error
