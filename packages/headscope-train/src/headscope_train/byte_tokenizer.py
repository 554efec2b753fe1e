"""A byte-level BPE tokenizer trained on the corpus; training is deterministic."""

from collections.abc import Callable, Iterable
from typing import Any

from headscope.errors import InputError, OptionError

BEGINNING, END, PAD = "<s>", "</s>", "<pad>"
SPECIAL = (BEGINNING, END, PAD)
FEWEST_PIECES = len(SPECIAL) + 256
"""The special tokens and a piece for each byte: with them every text can be encoded."""


def train_byte_tokenizer(lines: Callable[[], Iterable[str]], *, vocabulary: int, max_length: int = 512) -> Any:
    """Train a tokenizer like GPT-2's, which also writes `<s>` before a text.

    Every text begins a word (`add_prefix_space`), so that a word is the same piece at the beginning of a line and in
    its middle. A line feed is a separate piece.

    Args:
        lines: function that opens the corpus.
        vocabulary: maximum number of pieces, special tokens included; fewer if the corpus has no more that occur twice.
        max_length: number of tokens of the longest input that the model will read, written to the tokenizer's files.

    Returns:
        A transformers `PreTrainedTokenizerFast`.

    Raises:
        InputError: the corpus has no words.
        OptionError: the vocabulary is too small for the 256 bytes.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    if vocabulary < FEWEST_PIECES:
        raise OptionError(
            f"--vocabulary {vocabulary} is too small: there are 256 bytes and {len(SPECIAL)} special tokens; expected "
            f"at least {FEWEST_PIECES} pieces"
        )
    if not any(line.strip() for line in lines()):
        raise InputError("the corpus has no word to train a tokenizer on; expected text")
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(lines(), trainer)
    template = processors.TemplateProcessing(
        single=f"{BEGINNING} $A",
        pair=f"{BEGINNING} $A $B",
        special_tokens=[(BEGINNING, backend.token_to_id(BEGINNING))],
    )
    # ByteLevel excludes the space before a word from its offsets.
    backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=backend,
        bos_token=BEGINNING,
        eos_token=END,
        pad_token=PAD,
        add_prefix_space=True,
        model_max_length=max_length,
    )
