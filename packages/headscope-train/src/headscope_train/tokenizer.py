"""A WordPiece tokenizer trained on the corpus; training is deterministic."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from headscope.errors import InputError, OptionError

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MOST_CHARACTERS = 1000
"""Maximum number of characters that become pieces; words with rarer ones are `[UNK]`."""


def train_tokenizer(
    lines: Callable[[], Iterable[str]], *, vocabulary: int, cased: bool = False, max_length: int = 512
) -> Any:
    """Train a tokenizer like BERT's: its normalizer, its words, WordPiece, `[CLS] A [SEP] B [SEP]`.

    Args:
        lines: function that opens the corpus; called twice.
        vocabulary: maximum number of pieces, special tokens included; fewer if the corpus has no more that occur twice.
        cased: True to keep case; otherwise accents are removed as well, as in BERT's uncased tokenizers.
        max_length: number of tokens of the longest input that the model will read, written to the tokenizer's files.

    Returns:
        A transformers `BertTokenizer`.

    Raises:
        InputError: the corpus has no words.
        OptionError: the vocabulary is too small for the corpus's characters.
    """
    from tokenizers import Tokenizer, models, trainers
    from transformers import BertTokenizer

    blank = BertTokenizer(do_lower_case=not cased).backend_tokenizer
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    backend.normalizer, backend.pre_tokenizer = blank.normalizer, blank.pre_tokenizer
    characters, pieces = _letters(lines(), backend)
    if not characters:
        raise InputError("the corpus has no word to train a tokenizer on; expected text")
    fewest = len(SPECIAL) + len(pieces)
    if vocabulary < fewest:
        raise OptionError(
            f"--vocabulary {vocabulary} is too small: the corpus has {len(characters):,} characters; expected at "
            f"least {fewest:,} pieces"
        )
    # The trainer numbers single-letter pieces in an order that changes from run to run, and breaks ties by number.
    # Passing them as special tokens fixes their numbers.
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=[*SPECIAL, *pieces],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        show_progress=False,
    )
    backend.train_from_iterator(lines(), trainer)
    ids_by_piece = backend.get_vocab()
    return BertTokenizer(vocab=ids_by_piece, do_lower_case=not cased, model_max_length=max_length)


def _letters(lines: Iterable[str], backend: Any) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, and their single-letter pieces, both in a fixed order."""
    first: Counter[str] = Counter()
    later: Counter[str] = Counter()
    for line in lines:
        for word, _ in backend.pre_tokenizer.pre_tokenize_str(backend.normalizer.normalize_str(line)):
            first[word[0]] += 1
            later.update(word[1:])
    ranked = sorted((first + later).items(), key=lambda item: (-item[1], item[0]))
    kept = sorted(character for character, _ in ranked[:MOST_CHARACTERS])
    pieces = [c for c in kept if c in first] + [f"##{c}" for c in kept if c in later]
    return kept, pieces
