"""How long the inputs of a run may be, and how many of them are computed together."""

from headscope.encoding.encoder import Encoder
from headscope.errors import OptionError
from headscope.models.anatomy import Anatomy
from headscope.models.loading import LoadedModel, longest_input

_TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 32768, "mps": 8192}
_WEIGHTS_AT_ONCE = 1 << 26


def auto_batch_size(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Choose how many inputs to compute together: enough tokens to keep the device busy, weights that fit."""
    device = next(loaded.model.parameters()).device.type
    heads = max(part.heads for part in anatomy.layout)
    by_tokens = _TOKENS_AT_ONCE.get(device, 2048) // max_length
    return max(1, min(by_tokens, _WEIGHTS_AT_ONCE // (heads * max_length**2)))


def check_length(max_length: int, loaded: LoadedModel, encoder: Encoder, anatomy: Anatomy) -> None:
    """Refuse a length that the model or its special tokens do not allow.

    Args:
        max_length: tokens in an input at most.
        loaded: the model.
        encoder: its tokenizer's wrap.
        anatomy: says which positions the model keeps to itself (RoBERTa's kin).

    Raises:
        OptionError: says which lengths work.
    """
    most = longest_input(loaded, anatomy)
    if max_length > most:
        raise OptionError(
            f"--max-length {max_length} is more than {loaded.name} can read; expected at most {most} tokens"
        )
    fewest = encoder.special_tokens_pair + 2
    if max_length < fewest:
        raise OptionError(
            f"--max-length {max_length} leaves no room beside the special tokens; expected at least {fewest} tokens"
        )
