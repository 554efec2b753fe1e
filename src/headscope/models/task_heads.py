"""Load a model with its trained head, or a checkpoint with all its parts, and save it as a folder."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headscope.encoding.choices import DTYPES, LABELS
from headscope.errors import ModelError
from headscope.models.folder.weight_files import read_config
from headscope.models.load_model import LoadedModel, read_model
from headscope.models.locating import locate
from headscope.models.refusals import check_complete, in_words
from headscope.models.temporary_changes import quiet_libraries
from headscope.visible import shown

# The auto class of each loss, and the name of its head.
_HEADS = {
    "mlm": ("AutoModelForMaskedLM", "masked-LM head"),
    "clm": ("AutoModelForCausalLM", "next-token head"),
    "denoise": ("AutoModelForSeq2SeqLM", "sequence-to-sequence head"),
    LABELS: ("AutoModelForSequenceClassification", "head for classes"),
}

_CLASSIFIER = "ForSequenceClassification"
# The advice for users without the head of a loss.
_WITHOUT = dict.fromkeys(_HEADS, "use --loss none") | {LABELS: "leave --labels out"}
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")
_TASKS = (
    *("MaskedLM", "CausalLM", "Seq2SeqLM", "PreTraining"),
    *("SequenceClassification", "TokenClassification", "QuestionAnswering", "MultipleChoice"),
)
_AUTO = (*(f"AutoModelFor{task}" for task in _TASKS), "AutoModel")


def load_task_model(name: str | Path | None = None, *, loss: str, **loading: Any) -> LoadedModel:
    """Load a model with its trained head; a head that would be random is refused.

    Args:
        name: as in `load_model`. The embedded model has a masked-LM head.
        loss: what the head predicts: `mlm`, `clm`, `denoise` or `labels`.
        **loading: the other arguments of `load_model`.

    Raises:
        ModelError: the checkpoint lacks weights of the head, the family has no such head, or the model cannot be
            loaded at all.
    """
    auto, head = _HEADS[loss]
    loaded = _of_family(auto, name, **loading)
    if loaded is None:
        raise ModelError(
            f"{name} is of a family without a {head} in transformers; loss {loss} needs one: {_WITHOUT[loss]}, or "
            "another model"
        )
    remedy = f"loss {loss} needs a checkpoint saved with its head ({auto}), or {_WITHOUT[loss]}"
    _check_trained(loaded, head, remedy)
    return loaded


def given_task_model(loaded: LoadedModel, *, loss: str) -> LoadedModel:
    """Return a model in memory if it has the head that a loss needs.

    Args:
        loaded: the model with its tokenizer.
        loss: as in `load_task_model`.

    Raises:
        ModelError: it does not have this head; names the class to load it with.
    """
    auto, head = _HEADS[loss]
    scores = getattr(loaded.model, "get_output_embeddings", lambda: None)
    has_head = type(loaded.model).__name__.endswith(_CLASSIFIER) if loss == LABELS else scores() is not None
    if not has_head:
        raise ModelError(
            f"{type(loaded.model).__name__} has no {head}, which loss {loss} needs; load the model with {auto}, or "
            f"leave {'labels' if loss == LABELS else 'loss'} out"
        )
    return loaded


def load_writer(name: str | Path | None = None, **loading: Any) -> LoadedModel:
    """Load a model with the head that predicts its next token.

    Args:
        name: as in `load_model`.
        **loading: the other arguments of `load_model`.

    Raises:
        ModelError: the family cannot write text, the checkpoint lacks weights of the head, or the model cannot be
            loaded at all.
    """
    for auto in ("AutoModelForSeq2SeqLM", "AutoModelForCausalLM"):
        if (loaded := _of_family(auto, name, **loading)) is not None:
            remedy = f"expected one saved with its head ({auto}), or leave out --generate"
            _check_trained(loaded, "head to write text with", remedy)
            return loaded
    raise ModelError(
        f"{name} is of a family that writes no text; choose a decoder such as GPT-2, or an encoder-decoder such as T5, "
        "or leave out --generate"
    )


def _of_family(auto: str, name: str | Path | None, **loading: Any) -> LoadedModel | None:
    """Load a model by an auto class; return None if its family has no such head in transformers."""
    try:
        return read_model(auto, name, **loading)
    except ModelError as error:
        if "Unrecognized configuration class" not in str(error.__cause__):
            raise
        return None


def _check_trained(loaded: LoadedModel, head: str, remedy: str) -> None:
    """Refuse a model whose checkpoint lacks weights of its head; name the first, and the number of others."""
    # Buffers (a bias of zeros, position ids) are always made the same way; tied weights are not missing.
    parameters = dict(loaded.model.named_parameters(remove_duplicate=False))
    missing = sorted(key for key in loaded.untrained if key in parameters)
    if missing:
        more = len(missing) - 1
        others = f" and {more} more weight{'s' if more > 1 else ''}" if more else ""
        raise ModelError(
            f"{loaded.name} has no trained {head}: its checkpoint lacks {missing[0]}{others}, which would be random; "
            f"{remedy}"
        )


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
