"""Load a model together with the head that it was trained with, or say that it has none."""

from pathlib import Path
from typing import Any

from headscope.encoding.choices import LABELS
from headscope.errors import ModelError
from headscope.models.loading.load_model import LoadedModel, read_model

# The auto class of each loss, and what its head is called.
_HEADS = {
    "mlm": ("AutoModelForMaskedLM", "masked-LM head"),
    "clm": ("AutoModelForCausalLM", "next-token head"),
    "denoise": ("AutoModelForSeq2SeqLM", "sequence-to-sequence head"),
    LABELS: ("AutoModelForSequenceClassification", "head for classes"),
}

_CLASSIFIER = "ForSequenceClassification"
# How to go without each loss.
_WITHOUT = dict.fromkeys(_HEADS, "use --loss none") | {LABELS: "leave --labels out"}


def load_task_model(
    name: str | Path | None = None,
    *,
    loss: str,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
    device_map: str | None = None,
) -> LoadedModel:
    """Load a model with its trained head; a head that would be random is refused.

    Args:
        name: as `load_model` takes it; so are the others. The embedded model has a masked-LM head.
        loss: what the head predicts: `mlm`, `clm`, `denoise` or `labels`.
        revision: branch, tag or commit on the hub.
        dtype: the precision to compute in.
        device: `auto` or a torch device.
        device_map: what does not fit the device is fetched, or not.

    Raises:
        ModelError: the checkpoint lacks weights of the head, the family has no such head, or the model cannot be
            loaded at all.
    """
    auto, head = _HEADS[loss]
    loaded = _of_family(auto, name, revision=revision, dtype=dtype, device=device, device_map=device_map)
    if loaded is None:
        raise ModelError(
            f"{name} is of a family without a {head} in transformers; loss {loss} needs one: {_WITHOUT[loss]}, or "
            "another model"
        )
    missing = _untrained(loaded)
    if missing:
        raise ModelError(
            f"{loaded.name} has no trained {head}: its checkpoint lacks {_weights(missing)}, which would be random; "
            f"loss {loss} needs a checkpoint saved with its head ({auto}), or {_WITHOUT[loss]}"
        )
    return loaded


def given_task_model(loaded: LoadedModel, *, loss: str) -> LoadedModel:
    """Return a model in memory if it has the head that a loss needs.

    Args:
        loaded: the model with its tokenizer.
        loss: as `load_task_model` takes it.

    Raises:
        ModelError: it has none; names the class to load it with.
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


def load_writer(
    name: str | Path | None = None,
    *,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
    device_map: str | None = None,
) -> LoadedModel:
    """Load a model with the head that writes its next token.

    Args:
        name: as `load_model` takes it; so are the others.
        revision: branch, tag or commit on the hub.
        dtype: the precision to compute in.
        device: `auto` or a torch device.
        device_map: what does not fit the device is fetched, or not.

    Raises:
        ModelError: the family writes no text, the checkpoint lacks weights of the head, or the model cannot be loaded
            at all.
    """
    for auto in ("AutoModelForSeq2SeqLM", "AutoModelForCausalLM"):
        loaded = _of_family(auto, name, revision=revision, dtype=dtype, device=device, device_map=device_map)
        if loaded is None:
            continue
        missing = _untrained(loaded)
        if missing:
            raise ModelError(
                f"{loaded.name} has no trained head to write text with: its checkpoint lacks {_weights(missing)}, "
                f"which would be random; expected one saved with its head ({auto}), or leave out --generate"
            )
        return loaded
    raise ModelError(
        f"{name} is of a family that writes no text; choose a decoder such as GPT-2, or an encoder-decoder such as T5, "
        "or leave out --generate"
    )


def _of_family(auto: str, name: str | Path | None, **how: Any) -> LoadedModel | None:
    """Load a model by an auto class; None where its family has no such head in transformers."""
    try:
        return read_model(auto, name, **how)
    except ModelError as error:
        if "Unrecognized configuration class" not in str(error.__cause__):
            raise
        return None


def _untrained(loaded: LoadedModel) -> list[str]:
    """Return the names of weights that the checkpoint lacks."""
    # Buffers (a bias of zeros, position ids) are made the same way every time; tied weights are not missing.
    parameters = dict(loaded.model.named_parameters(remove_duplicate=False))
    return sorted(key for key in loaded.untrained if key in parameters)


def _weights(missing: list[str]) -> str:
    """Name what is missing: `lm_head.weight`, or the first and how many more."""
    more = len(missing) - 1
    return missing[0] + (f" and {more} more weight{'s' if more > 1 else ''}" if more else "")
