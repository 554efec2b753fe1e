"""The length of the inputs of a run, and the number of inputs per batch."""

from headscope.encoding.encoder import Encoder
from headscope.errors import OptionError
from headscope.models.anatomy import Anatomy
from headscope.models.loading.load_model import LoadedModel, longest_input
from headscope.models.placement import device_of
from headscope.prepare.given_names import check_longest

_TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 32768, "mps": 8192}
_WEIGHTS_AT_ONCE = 1 << 26
_NUMBERS_AT_ONCE = 1 << 27  # weights of all layers and scores of tokens in one batch: 512 MiB of float32
_NUMBERS_OF_INPUT = 1 << 30  # weights and scores of a single input, at most


def auto_batch_size(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Return the number of inputs per batch: enough tokens to keep the device busy, while weights fit."""
    device = device_of(loaded.model).type
    heads = max(part.heads for part in anatomy.layout)
    by_tokens = _TOKENS_AT_ONCE.get(device, 2048) // max_length
    return max(1, min(by_tokens, _WEIGHTS_AT_ONCE // (heads * max_length**2)))


def gradient_batch_size(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Return the number of inputs per batch such that weights of all layers and scores of all tokens fit into memory.

    Args:
        max_length: maximum number of tokens in an input.
        anatomy: anatomy of the model.
        loaded: the model with its head.
    """
    fitting = _NUMBERS_AT_ONCE // _gradient_numbers(max_length, anatomy, loaded)
    return max(1, min(auto_batch_size(max_length, anatomy, loaded), fitting))


def gradient_fits(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> bool:
    """Return True if weights and scores of a single input take no more memory than a usual machine has."""
    return _gradient_numbers(max_length, anatomy, loaded) <= _NUMBERS_OF_INPUT


def _gradient_numbers(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Return the number of attention weights and token scores of an input."""
    weights = sum(part.layers * part.heads for part in anatomy.layout) * max_length**2
    return weights + max_length * int(loaded.model.get_input_embeddings().weight.shape[0])


def check_length(max_length: int, loaded: LoadedModel, encoder: Encoder, anatomy: Anatomy) -> None:
    """Check that the model and its special tokens allow a length.

    Args:
        max_length: maximum number of tokens in an input.
        loaded: the model.
        encoder: encoder that wraps the model's tokenizer.
        anatomy: anatomy that knows the positions that the model reserves (RoBERTa and its relatives).

    Raises:
        OptionError: the length is not allowed; the message names allowed lengths.
    """
    check_longest(max_length, longest_input(loaded, anatomy), name=loaded.name)
    fewest = encoder.special_tokens_pair + 2
    if max_length < fewest:
        raise OptionError(
            f"--max-length {max_length} leaves no room beside the special tokens; expected at least {fewest} tokens"
        )
