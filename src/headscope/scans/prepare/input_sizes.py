"""The length, number and packing of the inputs of a run, and its number of random models, by model and text.

A model that does not read pairs reads joined lines, and a text without pairs is read line by line. A model with
random weights takes as long as the trained one and is held in memory together with it, so a large model has no
such controls unless the user requests them.
"""

from collections.abc import Mapping
from dataclasses import replace

from torch import nn

from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import NO_PAIR, Packer
from headscope.errors import InputError, OptionError
from headscope.models.anatomy import Anatomy
from headscope.models.load_model import LoadedModel, longest_input
from headscope.models.placement import device_of
from headscope.scans.declarations.option import DEFAULT_PACKING, UNSET
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.given_names import check_longest
from headscope.visible import count, with_reasons

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
    check_room(max_length, encoder)


def check_room(max_length: int, encoder: Encoder) -> None:
    """Raise an error if inputs of a length have no room for tokens of the text.

    Raises:
        OptionError: the length is too small; the message names the smallest one.
    """
    fewest = encoder.special_tokens_pair + 2
    if max_length < fewest:
        raise OptionError(
            f"--max-length {max_length} leaves no room beside the special tokens; expected at least {fewest} tokens"
        )


SINGLE_LINES = (
    "no document has a second line to make a pair with, so each line is an input by itself (--packing single)"
)
"""Note for a text that is read by single lines because the options leave the packing open."""
BY_WORD = "the two models have different tokens, so each line is read by itself, and heads are compared by words"
"""Note for two models with different tokenizers."""
DEFAULT_CONTROLS = 3
LARGE = 10**9
"""Number of model parameters from which on there are no controls unless the user requests them."""


def packing_of(anatomy: Anatomy) -> str:
    """Return the default packing for a model: a decoder has never seen pairs, and reads joined lines."""
    reads_pairs = any(part.kind == "encoder" for part in anatomy.layout)
    return DEFAULT_PACKING if reads_pairs else "joined"


def controls_of(model: nn.Module) -> int:
    """Return the default number of models with random weights that are measured along with a model."""
    return DEFAULT_CONTROLS if sum(each.numel() for each in model.parameters()) < LARGE else 0


def with_packing(options: RunOptions, anatomy: Anatomy, *, only_single_lines: bool = False) -> RunOptions:
    """Return the options with the packing that fits model and text, if they leave it open.

    Args:
        options: options of the run.
        anatomy: heads of the model.
        only_single_lines: whether no document of the text has a second line.
    """
    if options.packing != UNSET:
        return options
    packing = packing_of(anatomy)
    return replace(options, packing="single" if only_single_lines and packing in NO_PAIR else packing)


def packer_of(encoder: Encoder, options: RunOptions, *, one_stream: bool = False) -> Packer:
    """Return the packer that cuts the text of a run into inputs; `one_stream` is as in `Packer`."""
    names = ("packing", "max_length", "too_long", "seed")
    return Packer(encoder, **{name: getattr(options, name) for name in names}, one_stream=one_stream)


def no_input(documents: int, skipped: Mapping[str, int], *, packing: str) -> InputError:
    """Return the error for a text without inputs, given the number of skipped documents or lines by reason."""
    hint = "raise --max-length or use --too-long truncate"
    if any("pair" in reason for reason in skipped):
        hint = "use --packing single for texts of one line"
    return InputError(
        f"no input could be built from {count(documents, 'document')} with packing {packing} "
        f"({with_reasons(skipped) or 'all lines are empty'}); {hint}"
    )


def read_alone(options: RunOptions) -> RunOptions:
    """Return the options with each line as an input, as two models with different tokenizers read the same text.

    Raises:
        OptionError: they ask for another packing.
    """
    if options.packing not in (UNSET, "single"):
        raise OptionError(
            f"--packing {options.packing} cuts the text by tokens, and the two models have different tokens; leave it "
            "out, or give --packing single"
        )
    return replace(options, packing="single")
