"""Load a model together with its trained head, or raise an error if it has none."""

from pathlib import Path
from typing import Any

from headscope.encoding.choices import LABELS
from headscope.errors import ModelError
from headscope.models.loading.load_model import LoadedModel, read_model

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
