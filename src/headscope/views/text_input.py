"""A text as a model reads it, with the parts that a view draws: readable tokens, words, start of the second text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.tokenizer.pieces import Pieces, text_places
from headscope.encoding.tokenizer.text_words import PieceWords, special_ids
from headscope.encoding.tokenizer.token_names import readable_tokens
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.views.attention_snapshot import Axis

TOO_LONG = ("error", "truncate")
MARKS = "words are the tokenizer's: the generated text is cut into other tokens when it is read again"
_WORD_MARKS = ("\u0120", "\u2581", "\u010a")  # byte-level BPE's and SentencePiece's marks, and a line break


@dataclass(frozen=True, eq=False)
class TextInput:
    """One text or pair: the model's input, the axis that views draw, and notes for the user."""

    segment: Segment
    axis: Axis
    notes: tuple[str, ...] = ()
    typed: Mapping[int, str] = field(default_factory=dict)
    """Position of each unknown token -> the text that it replaces."""


def text_input(
    encoder: Encoder, text: str, text_b: str | None = None, *, most: int, too_long: str = "error"
) -> TextInput:
    """Cut a text, or a pair, into the model's pieces with its special tokens around them.

    Args:
        encoder: the tokenizer's wrap.
        text: the text.
        text_b: the second text of a pair.
        most: maximum number of tokens that the model may read, special tokens included.
        too_long: `error`, or `truncate`: tokens are removed from the end of the longer text.

    Raises:
        InputError: a text has no tokens, does not fit, or is almost entirely unknown to the tokenizer.
    """
    texts = [text] if text_b is None else [text, text_b]
    pieces = [_pieces(encoder, each) for each in texts]
    first_written = encoder.without_first(pieces[0])
    special = encoder.special_tokens_single if text_b is None else encoder.special_tokens_pair
    _fit(pieces, most - special, special=special, too_long=too_long)
    known = KnownPieces(encoder, "text")
    words = [each[start:end] for each, cut in zip(texts, pieces) for start, end in cut.words.spans.tolist()]
    whole = encoder.whole(*pieces)
    (segment,) = known.watch(iter([encoder.segment(*pieces, document="view", index=0, first_written=first_written)]))
    positions = text_places(whole)
    segment = replace(segment, words=tuple(words))
    second = None if text_b is None else int(positions[len(pieces[0])])
    written = (unread for each in zip(texts, pieces) for unread in _typed(encoder, *each))
    typed = {position: unread for position, unread in zip(positions.tolist(), written) if unread}
    axis = axis_of(encoder, segment, segment_b=second, typed=typed)
    return TextInput(segment, axis, tuple(known.notes()), typed)


def after_start(start: int, segment: Segment | None) -> Segment:
    """Return the decoder input of an encoder-decoder model: its start token, then a text, if there is one."""
    first = Segment(
        document="view", index=0, ids=np.array([start]), token_types=np.array([0]), word_ids=np.array([NO_WORD])
    )
    if segment is None:
        return first
    ids, words = (np.concatenate([getattr(part, name) for part in (first, segment)]) for name in ("ids", "word_ids"))
    return replace(segment, ids=ids, token_types=np.zeros_like(ids), word_ids=words)


def shifted(encoder: Encoder, segment: Segment, start: int | None) -> Segment:
    """Return the decoder input of an encoder-decoder model for a text, shifted right as the model does it.

    The shift drops the last token. If that is not a special token it is kept, so that the whole text is read.

    Args:
        encoder: encoder that made the segment.
        segment: the text as the decoder would write it.
        start: id of the token before the text; None for the text's last token (mBART: its language code).
    """
    last = int(segment.ids[-1])
    if start is None:
        return after_start(last, _cut(segment, len(segment) - 1))
    ends = last in special_ids(encoder.tokenizer)
    return after_start(start, _cut(segment, len(segment) - 1) if ends else segment)


def without_end(encoder: Encoder, segment: Segment) -> Segment:
    """Return a segment without the special tokens at its end, for a text that continues."""
    special, stop = special_ids(encoder.tokenizer), len(segment)
    while stop > 1 and int(segment.ids[stop - 1]) in special:
        stop -= 1
    return _cut(segment, stop)


def _cut(segment: Segment, stop: int) -> Segment:
    """Return the first tokens of a segment."""
    kept = {name: getattr(segment, name)[:stop] for name in ("ids", "token_types", "word_ids")}
    return replace(segment, **kept)


def continued(encoder: Encoder, segment: Segment, new: Sequence[int]) -> Segment:
    """Return a segment with generated tokens appended, and the words that they form."""
    ids = np.concatenate([segment.ids, np.array(new, dtype=np.int64)])
    special = np.array([int(i) in special_ids(encoder.tokenizer) for i in ids], dtype=bool)
    word_ids = np.full(len(ids), NO_WORD, dtype=np.int64)
    words = _generated_words(encoder, ids[~special])
    word_ids[~special] = words.ids
    token_types = np.concatenate([segment.token_types, np.zeros(len(new), dtype=np.int64)])
    return replace(segment, ids=ids, token_types=token_types, word_ids=word_ids, words=(), words_note=words.note)


def axis_of(
    encoder: Encoder,
    segment: Segment,
    *,
    segment_b: int | None = None,
    generated: int | None = None,
    typed: Mapping[int, str] | None = None,
) -> Axis:
    """Return the axis that views draw for a segment.

    Args:
        encoder: encoder that made the segment.
        segment: the model's input.
        segment_b: first position of the second text of a pair.
        generated: first position generated by the model.
        typed: position -> text unknown to the tokenizer, for which the model reads its unknown token.
    """
    tokenizer = encoder.tokenizer
    hidden = special_ids(tokenizer)
    special = tuple(position for position, number in enumerate(segment.ids) if int(number) in hidden)
    numbers: dict[int, int] = {}
    words: list[int | None] = []
    members: dict[int, list[int]] = defaultdict(list)  # the positions of each word
    tokens = readable_tokens(tokenizer, segment.ids)
    unknown = {position: text for position, text in (typed or {}).items() if position < len(tokens)}
    for position, text in unknown.items():
        tokens[position] = text
    for position, word in enumerate(segment.word_ids.tolist()):
        if word == NO_WORD or position in special:
            words.append(None)
            continue
        words.append(numbers.setdefault(word, len(numbers)))
        members[word].append(position)
    return Axis(
        tokens=tuple(tokens),
        words=tuple(words) if members else (),
        word_text=tuple(
            segment.words[word]
            if segment.words
            else _written([tokens[position] for position in positions])
            if any(position in unknown for position in positions)
            else _joined(tokenizer, [int(segment.ids[position]) for position in positions])
            for word, positions in members.items()
        ),
        segment_b=segment_b,
        generated=generated,
        special=special,
        unknown=tuple(sorted(unknown)),
        words_note=segment.words_note,
    )


def _pieces(encoder: Encoder, text: str) -> Pieces:
    (pieces,) = encoder.pieces([text])
    if not len(pieces):
        raise InputError(f"the text {text[:40]!r} has no tokens; expected at least one word")
    return pieces


def _fit(pieces: list[Pieces], room: int, *, special: int, too_long: str) -> None:
    total = sum(map(len, pieces))
    if total <= room:
        return
    if too_long == "error" or room < len(pieces):
        raise InputError(
            f"the text is {total + special} tokens long, and at most {room + special} can be read; shorten it, or cut "
            "it with --too-long truncate (too_long='truncate' in Python)"
        )
    *shorter, longer = sorted(pieces, key=len)  # of equally long texts, the second counts as longer
    for each in shorter:
        each.truncate(min(len(each), room // 2))
        room -= len(each)
    longer.truncate(room)


def _generated_words(encoder: Encoder, ids: np.ndarray) -> PieceWords:
    """Return the words of a text of which only the ids are known."""
    tokenizer = encoder.tokenizer
    numbers = [int(i) for i in ids]
    text = str(tokenizer.decode(numbers, clean_up_tokenization_spaces=False))
    for candidate in (text, text.strip()):
        (pieces,) = encoder.pieces([candidate])
        if pieces.ids == numbers:
            return pieces.words
    # The text is tokenized differently when it is read again: the pieces' own marks separate words.
    named = [str(token) for token in tokenizer.convert_ids_to_tokens(numbers)]
    wordpiece = any(token.startswith("##") for token in tokenizer.get_vocab())
    words, word = [], -1
    for token in named:
        begins = not token.startswith("##") if wordpiece else token.startswith(_WORD_MARKS)
        word += begins or word < 0
        words.append(word)
    return PieceWords(np.array(words, dtype=np.int64), note=MARKS)


def _joined(tokenizer: Any, ids: list[int]) -> str:
    """Return a word's pieces as one text without the continuation marks."""
    text = str(tokenizer.decode(ids, clean_up_tokenization_spaces=False)).strip()
    if text and "\ufffd" not in text and not any(map(str.isspace, text)):
        return text
    # The tokenizer cannot join its pieces, or the word ends inside a character.
    named = readable_tokens(tokenizer, np.array(ids, dtype=np.int64))
    return _written(named)


def _written(tokens: Sequence[str]) -> str:
    return tokens[0] + "".join(token.removeprefix("##") for token in tokens[1:])


def _typed(encoder: Encoder, text: str, pieces: Pieces) -> list[str | None]:
    """Return the text of each piece that is unknown to the tokenizer; None for the other pieces."""
    if len(pieces.offsets) < len(pieces):
        return [None] * len(pieces)  # the spans of the pieces are unknown
    return [
        " ".join(text[start:end].split()) or None if number == encoder.unknown_id else None
        for number, (start, end) in zip(pieces.ids, pieces.offsets)
    ]
