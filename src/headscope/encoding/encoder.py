"""A thin, private wrap of a fast tokeniser: texts, words or pieces in, segments out."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from headscope.encoding.alignment import Alignment, align, join_words
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.vocabulary import Vocabulary, read_vocabulary, unknown_id
from headscope.errors import InputError, ModelError


class Encoder:
    """Turn documents' texts into model inputs with the tokeniser's own special tokens.

    Args:
        tokeniser: a transformers tokeniser with a fast backend.
        token_types: `own`, the model's types 0 and 1 for the texts of a pair, or `zero`, as the
            original code feeds them.

    Attributes:
        unknown_id: of the piece that stands for unknown text; None where no text is unknown.
        latest: the lines or words that were cut last.

    Raises:
        ModelError: the tokeniser has no fast backend, or writes a text twice, so that pieces cannot be traced to words.
    """

    def __init__(self, tokeniser: Any, *, token_types: str = "own") -> None:
        if not getattr(tokeniser, "is_fast", False):
            raise ModelError(
                f"{type(tokeniser).__name__} does not say which characters each token covers: expected a "
                "fast tokeniser (a tokenizer.json); convert it with transformers' convert_slow_tokenizer, "
                "or use a model that has one"
            )
        self.tokeniser = tokeniser
        self.token_types = token_types
        self.vocabulary: Vocabulary = read_vocabulary(tokeniser)
        # A copy of our own: files often switch padding or truncation on, and a user's tokeniser stays as it is.
        self._backend: Tokenizer = Tokenizer.from_str(tokeniser.backend_tokenizer.to_str())
        self._backend.no_padding()
        self._backend.no_truncation()
        self.unknown_id = unknown_id(tokeniser, self._backend)
        self.latest: Sequence[str] = ()
        self.special_tokens_single = self._backend.num_special_tokens_to_add(False)
        self.special_tokens_pair = self._backend.num_special_tokens_to_add(True)
        self._check_template()

    def _check_template(self) -> None:
        """Refuse a tokeniser that writes a text twice: its pieces could not be traced to words."""
        for texts in (("a",), ("a", "b")):
            pieces = self._backend.encode_batch(list(texts), add_special_tokens=False)
            given = sum(map(len, pieces))
            kept = self.whole(*pieces).special_tokens_mask.count(0)
            if kept != given:
                raise ModelError(
                    f"tokenizer.json's post_processor makes {kept} pieces of a text's {given}; expected special tokens "
                    "around each text, once: save the tokeniser again"
                )

    def pieces(self, texts: Sequence[str]) -> list[Encoding]:
        """Tokenise texts without special tokens."""
        self.latest = texts
        encodings: list[Encoding] = self._backend.encode_batch(list(texts), add_special_tokens=False)
        return encodings

    def piece_words(self, words: Sequence[str]) -> tuple[Encoding, Alignment]:
        """Tokenise words joined by spaces, without special tokens, and align the pieces with them."""
        self.latest = words
        text, spans = join_words(words)
        encoding = self._backend.encode(text, add_special_tokens=False)
        return encoding, align(text, spans, encoding.offsets)

    def join(self, encodings: Sequence[Encoding]) -> Encoding:
        """Join pieces of consecutive lines into one text."""
        return Encoding.merge(list(encodings), growing_offsets=True)

    def whole(self, first: Encoding, second: Encoding | None = None) -> Encoding:
        """Add the special tokens to the pieces of one text or a pair."""
        return self._backend.post_process(first, second, True)

    def segment(
        self,
        first: Encoding,
        second: Encoding | None = None,
        *,
        document: str,
        index: int,
        alignment: Alignment | None = None,
        **extra: Any,
    ) -> Segment:
        """Add the special tokens to one text or a pair and make a segment of it.

        Word ids are those of `alignment`, else the tokeniser's own words (counted on through a pair).
        """
        whole = self.whole(first, second)
        ids = np.array(whole.ids, dtype=np.int64)
        types = np.array(whole.type_ids, dtype=np.int64)
        if self.token_types == "zero":
            types = np.zeros_like(types)
        if alignment is not None:
            word_ids = np.full(len(ids), NO_WORD, dtype=np.int64)
            # Pieces keep their order, so the places that are not special take the pieces' words in turn.
            pieces = np.flatnonzero(np.array(whole.special_tokens_mask) == 0)
            word_ids[pieces] = alignment.word_ids[: len(pieces)]
        else:
            word_ids = _own_words(whole)
        return Segment(document=document, index=index, ids=ids, token_types=types, word_ids=word_ids, **extra)

    def segment_of_tokens(
        self, tokens: Sequence[str], *, document: str, index: int, origin: str, **extra: Any
    ) -> Segment:
        """Make a segment of pieces given by name, special tokens included, as the original's JSON has them.

        Raises:
            InputError: a token is not in the vocabulary.
        """
        ids = [self._backend.token_to_id(token) for token in tokens]
        if None in ids:
            place = ids.index(None)
            raise InputError(
                f"{origin}: token {place + 1}, {tokens[place]!r}, is not in the model's vocabulary; expected "
                "the model's own pieces (give the entry as text or words to have it cut)"
            )
        numbers = np.array(ids, dtype=np.int64)
        # As BERT has it: the second text of a pair begins after the first separator that is not the last token.
        sep = self.tokeniser.sep_token_id
        types = np.zeros_like(numbers)
        if (
            self.token_types == "own"
            and sep is not None
            and self.special_tokens_pair > self.special_tokens_single
        ):
            ends = np.flatnonzero(numbers == sep)
            if len(ends) > 1 and self._pair_types_differ:
                types[ends[0] + 1 :] = 1
        special = set(self.tokeniser.all_special_ids) - {self.tokeniser.unk_token_id}
        word_ids = np.full(len(numbers), NO_WORD, dtype=np.int64)
        word = -1
        for place, (index_, token) in enumerate(zip(ids, tokens)):
            if index_ in special:
                continue
            word += not token.startswith("##")
            word_ids[place] = max(word, 0)
        return Segment(
            document=document, index=index, ids=numbers, token_types=types, word_ids=word_ids, **extra
        )

    @property
    def _pair_types_differ(self) -> bool:
        first, second = self.pieces(["a", "b"])
        return len(set(self.whole(first, second).type_ids)) > 1


def _own_words(whole: Encoding) -> np.ndarray:
    """Number the tokeniser's words on through both texts of a pair."""
    word_ids = np.full(len(whole.ids), NO_WORD, dtype=np.int64)
    base, last_text, highest = 0, None, -1
    for place, (word, text) in enumerate(zip(whole.word_ids, whole.sequence_ids)):
        if word is None:
            continue
        if text != last_text:
            base, last_text = highest + 1, text
        word_ids[place] = base + word
        highest = max(highest, base + word)
    return word_ids
