"""A tokenizer without a fast backend: pieces come from its own Python code, and their offsets are found from them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.alignment import between_spaces
from headscope.encoding.tokenizer.bounds import check_characters, within_time
from headscope.encoding.tokenizer.pieces import kept_pieces
from headscope.encoding.tokenizer.spelling import spelled, without_marks
from headscope.encoding.tokenizer.text_words import PieceWords, WordFinder, joined_words

Spans = list[tuple[int, int]]
Found = tuple[Spans, PieceWords]


@dataclass
class SlowPieces:
    """Pieces of one text, with the interface of `Pieces`.

    Offsets and words are found on first use: most measures need no words.

    Attributes:
        ids, type_ids, special_tokens_mask: as in `Pieces`.
        find: finds offsets and words; called before anything is cut off, or for the pieces before the cut.
    """

    ids: list[int]
    find: Callable[[], Found]
    type_ids: list[int] = field(default_factory=list)
    special_tokens_mask: list[int] = field(default_factory=list)

    @cached_property
    def _found(self) -> Found:
        return self.find()

    @property
    def offsets(self) -> Spans:
        """First character and end of each piece; empty if they could not be found."""
        return self._found[0]

    @property
    def words(self) -> PieceWords:
        """The words of the text; none if they could not be found."""
        return self._found[1]

    def __len__(self) -> int:
        return len(self.ids)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keep `max_length` pieces: the first ones, or the last ones with `left`."""
        kept = kept_pieces(len(self), max_length, direction)
        before = replace(self)
        self.find = lambda: (before.offsets[kept], before.words.part(kept))
        self.__dict__.pop("_found", None)
        for name in ("ids", "type_ids", "special_tokens_mask"):
            setattr(self, name, getattr(self, name)[kept])


class SlowBackend:
    """A transformers tokenizer in Python, which does not return the offsets of its pieces.

    Args:
        tokenizer: as `AutoTokenizer` returns it.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        vocabulary = tokenizer.get_vocab()
        self._ids: dict[str, int] = {str(token): int(number) for token, number in vocabulary.items()}
        self._without_marks = without_marks(list(self._ids))
        self._words = WordFinder(tokenizer)

    def pieces(self, texts: Sequence[str]) -> list[SlowPieces]:
        """Cut texts into pieces, without special tokens."""
        return [self._cut(text) for text in texts]

    def pieces_of_words(self, text: str, spans: NDArray[np.int64]) -> tuple[SlowPieces, Spans]:
        """Cut a text with words at `spans` into pieces; offsets are empty if pieces cannot be traced to the words."""
        pieces = self._cut(text)
        ends = spans[:, 1].tolist()
        return pieces, self._traced(text, pieces.ids, ends)

    def join(self, parts: Sequence[SlowPieces]) -> SlowPieces:
        """Join the pieces of consecutive lines into one text, with consecutive word numbers."""

        def find() -> Found:
            offsets, after = Spans(), 0
            for part in parts:
                offsets += [(start + after, end + after) for start, end in part.offsets]
                after = max((end for _, end in offsets), default=after)
            words = joined_words([part.words for part in parts])
            return (offsets if len(offsets) == len(words.ids) else []), words

        return SlowPieces(ids=[number for part in parts for number in part.ids], find=find)

    def whole(self, first: SlowPieces, second: SlowPieces | None) -> SlowPieces:
        """Add the special tokens around one text or a pair, where the tokenizer's own code puts them."""
        texts = [first] if second is None else [first, second]
        # Numbers below 0 represent the pieces: their positions in the result show where each piece went.
        bases = [-1, -1 - len(first)]
        stand_ins = [list(range(base, base - len(text), -1)) for base, text in zip(bases, texts)]
        pieces = [(sequence, index) for sequence, text in enumerate(texts) for index in range(len(text))]
        numbers = [int(number) for number in self._tokenizer.build_inputs_with_special_tokens(*stand_ins)]
        sources = [pieces[-1 - number] if number < 0 else None for number in numbers]
        types = [int(kind) for kind in self._tokenizer.create_token_type_ids_from_sequences(*stand_ins)]

        def find() -> Found:
            offsets = Spans()
            if all(len(text.offsets) == len(text) for text in texts):
                offsets = [(0, 0) if source is None else texts[source[0]].offsets[source[1]] for source in sources]
            words = joined_words([text.words for text in texts])
            of_text = np.array([source is not None for source in sources], dtype=bool)
            return offsets, words.among(len(sources), np.flatnonzero(of_text))

        return SlowPieces(
            ids=[
                number if source is None else texts[source[0]].ids[source[1]]
                for number, source in zip(numbers, sources)
            ],
            find=find,
            type_ids=types if len(types) == len(numbers) else [0] * len(numbers),
            special_tokens_mask=[int(source is None) for source in sources],
        )

    def special_tokens(self, *, pair: bool) -> int:
        """Return the number of special tokens around one text or a pair."""
        nothing: list[list[int]] = [[], []] if pair else [[]]
        return len(self._tokenizer.build_inputs_with_special_tokens(*nothing))

    def id_of(self, token: str) -> int | None:
        """Return the id of a piece by its name; None for an unknown name."""
        return self._ids.get(token)

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

    def _cut(self, text: str) -> SlowPieces:
        check_characters([text])
        ids = self._numbers(text)

        def find() -> Found:
            offsets = self._traced(text, ids, [end for _, end in between_spaces(text)])
            return offsets, self._words(text, ids, offsets)

        return SlowPieces(ids=ids, find=find)

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
