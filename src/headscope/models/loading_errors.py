"""What transformers, tokenizers and torch raise over a model folder, as one sentence that says what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from headscope.errors import ModelError
from headscope.models.families import WORKING_FAMILIES
from headscope.models.folder.own_code import own_code
from headscope.models.folder.shown import shown


@contextmanager
def in_words(name: str, *, part: str = "") -> Iterator[None]:
    """Turn whatever a library raises over a model folder into one sentence.

    Args:
        name: how the user calls the model.
        part: of the folder, which is being read.

    Raises:
        ModelError: in place of what the block raised.
    """
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise _explain(error, name=name, part=part) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # how a tokeniser in Rust gives up
            raise
        raise _explain(error, name=name, part=part) from error


def _explain(error: BaseException, *, name: str, part: str = "") -> ModelError:
    """Turn what transformers raises into one sentence."""
    text = str(error)
    if "trust_remote_code" in text:
        return own_code(name)
    if "Unrecognized" in text or "model type" in text or "does not recognize" in text:
        return ModelError(
            f"{shown(name)} is of a family that transformers does not know; these work: {WORKING_FAMILIES}"
        )
    if "weights_only" in text or "WeightsUnpickler" in text:
        # torch's advice is to switch its guard off.
        return ModelError(
            f"{shown(name)} has pickled weights, which are never read; save them as safetensors"
        )
    if "ignore_mismatched_sizes" in text:
        return ModelError(
            f"{shown(name)} could not be loaded: its weights have other shapes than its config.json says; expected the "
            "config.json that was saved with the weights"
        )
    reason = text.strip().splitlines()[0] if text.strip() else ""
    if not isinstance(error, OSError | RuntimeError | ValueError) or not reason:
        reason = f"{type(error).__name__}: {reason}".rstrip(": ")
    where = f", for {part} is not as it should be" if part else ""
    return ModelError(
        f"{shown(name)} could not be loaded{where}: {shown(reason)}; expected what save_pretrained writes: save model "
        "and tokeniser again into one folder"
    )
