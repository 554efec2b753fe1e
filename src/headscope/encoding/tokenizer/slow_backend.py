"""A tokenizer without a fast backend: pieces come from its own Python code, and their offsets are found from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.alignment import between_spaces
from headscope.encoding.tokenizer.bounds import check_characters, within_time
from headscope.encoding.tokenizer.pieces import TEXT, Pieces, Template
from headscope.encoding.tokenizer.spelling import spelled, without_marks
from headscope.encoding.tokenizer.text_words import PieceWords, WordFinder

Spans = list[tuple[int, int]]


class SlowBackend:
    """A transformers tokenizer in Python, which does not return the offsets of its pieces.

    Args:
        tokenizer: as `AutoTokenizer` returns it.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._without_marks = without_marks(list(map(str, tokenizer.get_vocab())))
        self._words = WordFinder(tokenizer)

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """Cut texts into pieces, without special tokens."""
        check_characters(texts)
        found = []
        for text in texts:
            ids = self._numbers(text)
            offsets = self._traced(text, ids, [end for _, end in between_spaces(text)])
            found.append(Pieces(ids, self._words(text, ids, offsets), offsets))
        return found

    def pieces_of_words(self, text: str, spans: NDArray[np.int64]) -> Pieces:
        """Cut a text with words at `spans` into pieces; offsets are empty if pieces cannot be traced to the words."""
        check_characters([text])
        ids = self._numbers(text)
        return Pieces(ids, PieceWords.none(len(ids)), self._traced(text, ids, spans[:, 1].tolist()))

    def template(self, *, texts: int) -> Template:
        """Return the special tokens around one text or two, where the tokenizer's own code puts them."""
        stand_ins = [[-1], [-2]][:texts]
        numbers = [int(number) for number in self._tokenizer.build_inputs_with_special_tokens(*stand_ins)]
        types = [int(kind) for kind in self._tokenizer.create_token_type_ids_from_sequences(*stand_ins)]
        types = types if len(types) == len(numbers) else [0] * len(numbers)
        return [(number if number >= 0 else TEXT, kind) for number, kind in zip(numbers, types)]

    def unknown_id(self) -> int | None:
        """Return the id of the piece for unknown text, or None if no text is unknown."""
        token_id = self._tokenizer.unk_token_id
        return None if token_id is None else int(token_id)

    def _numbers(self, text: str) -> list[int]:
        # verbose=False: the warning about texts longer than the model reads is not needed, since texts are cut later.
        def cut() -> list[int]:
            encoded = self._tokenizer(text, add_special_tokens=False, verbose=False)
            return [int(number) for number in encoded["input_ids"]]

        return within_time(cut, letters=len(text), always=False)

    def _traced(self, text: str, ids: list[int], ends: list[int]) -> Spans:
        """Return the characters covered by each piece; empty if unknown. Pieces of a word cut alone cover all of it.

        Args:
            text: the text.
            ids: its pieces.
            ends: the ends of its words.
        """
        spans_by_spelling = spelled(text, self._named(ids))
        if spans_by_spelling is not None:
            return spans_by_spelling
        spans, taken, start = Spans(), 0, 0
        for _, end in between_spaces(text):
            numbers = self._numbers(text[start:end])
            if ids[taken : taken + len(numbers)] != numbers:
                return []
            inner = self._within(text, numbers, start, [each for each in ends if start < each < end] + [end])
            if inner is None:
                return []
            spans += inner
            taken, start = taken + len(numbers), end
        return spans if taken == len(ids) else []

    def _within(self, text: str, ids: list[int], start: int, ends: list[int]) -> Spans | None:
        """Trace the pieces of a stretch without spaces, by spelling or word by word."""
        spans_by_spelling = spelled(text[start : ends[-1]], self._named(ids))
        if spans_by_spelling is not None:
            return [(start + first, start + last) for first, last in spans_by_spelling]
        spans = Spans()
        for end in ends:
            numbers = self._numbers(text[start:end]) if len(ends) > 1 else ids
            spans += [(start, end)] * len(numbers)
            if ids[len(spans) - len(numbers) : len(spans)] != numbers:
                return None
            start = end
        return spans if len(spans) == len(ids) else None

    def _named(self, ids: list[int]) -> list[str | None]:
        unknown = self.unknown_id()
        names = self._tokenizer.convert_ids_to_tokens(ids)
        return [None if number == unknown else self._without_marks(str(name)) for number, name in zip(ids, names)]
