"""Load a checkpoint with all its parts, by the class named in its configuration, and save it as a folder."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.implied_size import read_config
from headscope.models.folder.shown import shown
from headscope.models.loading.load_choices import DTYPES
from headscope.models.loading.load_model import LoadedModel, read_model
from headscope.models.loading.locating import locate
from headscope.models.loading.quiet import quiet_libraries
from headscope.models.loading.refusals import check_complete, in_words

_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")
_TASKS = (
    *("MaskedLM", "CausalLM", "Seq2SeqLM", "PreTraining"),
    *("SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice"),
)
_AUTO = (*(f"AutoModelFor{task}" for task in _TASKS), "AutoModel")


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


def load_checkpoint(name: str | Path | None = None, *, revision: str | None = None) -> LoadedModel:
    """Load a model as it was saved, so that it can be saved again without loss.

    Args:
        name: a hub name, a local folder, or None for the embedded model.
        revision: branch, tag or commit on the hub.

    Raises:
        ModelError: as `load_model`, or none of transformers' auto classes makes the class named in `config.json`.
    """
    folder, label, _ = locate(name, revision=revision)
    with in_words(str(name or label), part="its config.json"):
        config = read_config(folder)
    dtype = str(config.dtype or "float32").removeprefix("torch.")
    loaded = read_model(
        _auto_class(config, label), name, revision=revision, dtype=dtype if dtype in DTYPES else "float32", device="cpu"
    )
    check_complete(loaded.name, loaded.untrained)
    return loaded


def _auto_class(config: Any, label: str) -> str:
    """Return the auto class that makes the architecture of a configuration."""
    import transformers

    # A configuration that names no class was saved without a head.
    architecture = (config.architectures or [None])[0]
    if architecture is None:
        return "AutoModel"
    for auto in _AUTO:
        classes = getattr(transformers, auto)._model_mapping.get(type(config), None)
        if architecture in [each.__name__ for each in (classes if isinstance(classes, tuple) else (classes,)) if each]:
            return auto
    raise ModelError(
        f"{shown(label)}: its config.json names the class {shown(str(architecture))}, which none of {', '.join(_AUTO)} "
        "makes; save the model by one of these first"
    )
