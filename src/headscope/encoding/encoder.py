"""A thin wrapper of a tokenizer: turns texts, words or pieces into segments, with special tokens around them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.tokenizer.alignment import Alignment, align, join_words
from headscope.encoding.tokenizer.pieces import TEXT, FastBackend, Pieces, join_pieces, text_places, within_template
from headscope.encoding.tokenizer.slow_backend import SlowBackend
from headscope.encoding.vocabulary import Vocabulary, read_vocabulary
from headscope.errors import InputError, ModelError
from headscope.visible import shorten

LETTERS_A_TOKEN = 1000
"""Characters of a text that are tokenized per token of the longest input; the rest is cut off in any case."""
_AT_ONCE = 1 << 20  # characters; a tokenizer takes 260 bytes for each
# Methods of a tokenizer in Python that are needed besides calling it.
_SLOW = ("get_vocab", "build_inputs_with_special_tokens", "create_token_type_ids_from_sequences")


class Encoder:
    """Turn documents' texts into model inputs with the tokenizer's own special tokens.

    Args:
        tokenizer: a transformers tokenizer. One without a fast backend does not return the offsets of its pieces: they
            are found from the pieces, with an error if that fails and words are needed.
        token_types: `own`, the model's types 0 and 1 for the texts of a pair, or `zero`, as the
            original code feeds them.

    Attributes:
        unknown_id: id of the piece for unknown text; None if no text is unknown.
        latest: the lines or words that were tokenized last.
        first_tokens: ids of the special tokens before a text.

    Raises:
        ModelError: it is not a transformers tokenizer, or writes a text twice, so that pieces cannot be traced to
            words.
    """

    def __init__(self, tokenizer: Any, *, token_types: str = "own") -> None:
        self._backend = _backend_of(tokenizer)
        self.tokenizer = tokenizer
        self.token_types = token_types
        self.vocabulary: Vocabulary = read_vocabulary(tokenizer)
        self.unknown_id = self._backend.unknown_id()
        self.latest: Sequence[str] = ()
        self._templates = {texts: self._backend.template(texts=texts) for texts in (1, 2)}
        if any([number for number, _ in each].count(TEXT) != texts for texts, each in self._templates.items()):
            is_fast = getattr(tokenizer, "is_fast", False)
            where = "tokenizer.json's post_processor" if is_fast else type(tokenizer).__name__
            raise ModelError(
                f"{where} does not write each text once; expected special tokens around each text, once: save the "
                "tokenizer again"
            )
        self.special_tokens_single, self.special_tokens_pair = (len(self._templates[n]) - n for n in (1, 2))
        self.first_tokens = Frame.of(self).before

    def pieces(self, texts: Sequence[str]) -> Sequence[Pieces]:
        """Tokenize texts without special tokens."""
        self.latest = texts
        return self._backend.pieces(texts)

    def without_first(self, pieces: Pieces) -> bool:
        """Remove the tokenizer's first tokens from a text that begins with them, in place; return True if it did.

        A chat template writes them, and the tokenizer would add them again.
        """
        n = len(self.first_tokens)
        if not n or len(pieces) <= n or tuple(pieces.ids[:n]) != self.first_tokens:
            return False
        pieces.truncate(len(pieces) - n, direction="left")
        return True

    def lines(self, texts: Iterable[str]) -> Iterator[Pieces]:
        """Tokenize texts without special tokens, in chunks."""
        some, letters = list[str](), 0
        for text in texts:
            some.append(text)
            letters += len(text)
            if letters >= _AT_ONCE:
                yield from self.pieces(some)
                some, letters = [], 0
        if some:
            yield from self.pieces(some)

    def piece_words(self, words: Sequence[str], spaces: Sequence[bool] = ()) -> tuple[Pieces, Alignment]:
        """Tokenize words with the spaces between them, without special tokens, and align the pieces with them.

        Args:
            words: the words; an empty one shares the pieces of the previous word.
            spaces: whether a space follows each word, `[word]`; always if empty.

        Raises:
            InputError: the tokenizer does not return the offsets of its pieces, and they cannot be found.
        """
        self.latest = words
        text, spans = join_words(words, spaces)
        pieces = self._backend.pieces_of_words(text, spans)
        if len(pieces.offsets) < len(pieces):
            raise InputError(
                f"{type(self.tokenizer).__name__} does not say which characters each token covers, and the tokens of "
                f"{shorten(text, 40)!r} do not spell it out; words need a fast tokenizer (a tokenizer.json) here: "
                "give a model that has one, or leave out the treebank and coreference"
            )
        return pieces, align(text, spans, pieces.offsets)

    def join(self, parts: Sequence[Pieces]) -> Pieces:
        """Join pieces of consecutive lines into one text."""
        return join_pieces(parts)

    def whole(self, first: Pieces, second: Pieces | None = None) -> Pieces:
        """Add the special tokens to the pieces of one text or a pair."""
        texts = [first] if second is None else [first, second]
        return within_template(self._templates[len(texts)], texts)

    def segment(
        self,
        first: Pieces,
        second: Pieces | None = None,
        *,
        document: str,
        index: int,
        alignment: Alignment | None = None,
        **extra: Any,
    ) -> Segment:
        """Add the special tokens to one text or a pair and make a segment of the result.

        Word ids are those of `alignment`, else those of the words of the text, numbered through a pair.
        """
        whole = self.whole(first, second)
        ids = np.array(whole.ids, dtype=np.int64)
        types = np.array(whole.type_ids, dtype=np.int64)
        if self.token_types == "zero":
            types = np.zeros_like(types)
        if alignment is not None:
            word_ids = np.full(len(ids), NO_WORD, dtype=np.int64)
            pieces = text_places(whole)
            word_ids[pieces] = alignment.word_ids[: len(pieces)]
        else:
            word_ids = whole.words.ids
            extra["words_note"] = whole.words.note
        return Segment(document=document, index=index, ids=ids, token_types=types, word_ids=word_ids, **extra)

    def segment_of_tokens(
        self, tokens: Sequence[str], *, document: str, index: int, origin: str, **extra: Any
    ) -> Segment:
        """Make a segment of pieces given by name, special tokens included, as in the original's JSON.

        Raises:
            InputError: a token is not in the vocabulary.
        """
        ids = [self._ids.get(token) for token in tokens]
        if None in ids:
            position = ids.index(None)
            raise InputError(
                f"{origin}: token {position + 1}, {tokens[position]!r}, is not in the model's vocabulary; expected "
                "the model's own pieces (give the entry as text or words to have it cut)"
            )
        numbers = np.array(ids, dtype=np.int64)
        # As in BERT: the second text of a pair begins after the first separator that is not the last token.
        sep = self.tokenizer.sep_token_id
        types = np.zeros_like(numbers)
        if self.token_types == "own" and sep is not None and self.special_tokens_pair > self.special_tokens_single:
            ends = np.flatnonzero(numbers == sep)
            if len(ends) > 1 and len({kind for _, kind in self._templates[2]}) > 1:
                types[ends[0] + 1 :] = 1
        special = set(self.tokenizer.all_special_ids) - {self.tokenizer.unk_token_id}
        word_ids = np.full(len(numbers), NO_WORD, dtype=np.int64)
        word = -1
        for position, (index_, token) in enumerate(zip(ids, tokens)):
            if index_ in special:
                continue
            word += not token.startswith("##")
            word_ids[position] = max(word, 0)
        return Segment(
            document=document, index=index, ids=numbers, token_types=types, word_ids=word_ids, origin=origin, **extra
        )

    @cached_property
    def _ids(self) -> dict[str, int]:
        """Id of each token by its name."""
        return {str(name): int(number) for name, number in self.tokenizer.get_vocab().items()}


def _backend_of(tokenizer: Any) -> FastBackend | SlowBackend:
    if getattr(tokenizer, "is_fast", False):
        return FastBackend(tokenizer)
    if not all(hasattr(tokenizer, name) for name in _SLOW):
        raise ModelError(
            f"{type(tokenizer).__name__} is not a tokenizer that can be read: expected one of transformers, as "
            "AutoTokenizer.from_pretrained returns it"
        )
    return SlowBackend(tokenizer)


@dataclass(frozen=True)
class Frame:
    """The special tokens that a tokenizer puts before and after a text."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, encoder: Encoder) -> "Frame":
        """Return the special tokens of an encoder around one text."""
        ids = [number for number, _ in encoder._templates[1]]
        place = ids.index(TEXT)
        return cls(tuple(ids[:place]), tuple(ids[place + 1 :]))

    def __len__(self) -> int:
        return len(self.before) + len(self.after)

    def segment(self, ids: NDArray[np.int64], *, document: str, index: int, **extra: Any) -> Segment:
        """Return an input of these tokens, `[token]`, with the special tokens around them and without words."""
        whole = np.concatenate([self.before, ids, self.after]).astype(np.int64)
        return Segment(
            document=document,
            index=index,
            ids=whole,
            token_types=np.zeros_like(whole),
            word_ids=np.full(len(whole), NO_WORD, dtype=np.int64),
            **extra,
        )
