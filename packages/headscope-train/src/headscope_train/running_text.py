"""Documents as running text for a decoder: lines joined by line feeds, cut when an input is full."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder, Frame
from headscope.encoding.max_inputs import draw_inputs
from headscope.encoding.segment import Segment

_FEWEST = 2
"""Smallest number of pieces of an input: the second is predicted from the first."""


class RunningText:
    """Cut documents into consecutive inputs.

    At most a document's last token is dropped: all inputs are full, except the last of each document. The tokenizer's
    special tokens surround each input, and its end token, if it has one, follows each document.

    Args:
        encoder: wrapper of the tokenizer.
        max_length: maximum number of tokens in an input, special tokens included.

    Attributes:
        skipped: number of parts that gave no input, by reason.
        line_feed: the pieces of a line feed between words; empty if the tokenizer treats it as a space.
    """

    def __init__(self, encoder: Encoder, *, max_length: int) -> None:
        self.encoder = encoder
        self.max_length = max_length
        self.skipped: Counter[str] = Counter()
        self.line_feed = _line_feed(encoder)
        self._end = encoder.tokenizer.eos_token_id
        self._frame = Frame.of(encoder)

    def cut(self, documents: Iterable[Document], *, max_inputs: int | None = None, seed: int = 0) -> Iterator[Segment]:
        """Yield inputs, document by document; at most `max_inputs`, drawn by `draw_inputs`."""
        passages = (passage for document in documents for passage in self._passages(document))
        if max_inputs is None:
            yield from passages
            return
        every = list(passages)
        drawn = draw_inputs(((passage.document, passage.index) for passage in every), limit=max_inputs, seed=seed)
        yield from (passage for passage in every if (passage.document, passage.index) in drawn)

    def _passages(self, document: Document) -> Iterator[Segment]:
        room = self.max_length - len(self._frame)
        index = 0
        for text in self._texts(document):
            for start in range(0, len(text), room):
                part = text[start : start + room]
                if len(part) < _FEWEST:
                    self.skipped["one token"] += 1
                    continue
                # Training does not need the words of the tokens.
                yield self._frame.segment(np.array(part), document=document.id, index=index)
                index += 1

    def _texts(self, document: Document) -> list[list[int]]:
        """Return a document as ids without the tokens around an input; lines are separate if they are whole inputs."""
        if document.tokens is not None:
            segment = self.encoder.segment_of_tokens(
                document.tokens, document=document.id, index=0, origin=document.origin
            )
            around = {*self._frame.before, *self._frame.after}
            return [[number for number in segment.ids.tolist() if number not in around]]
        if document.words is not None:
            return [self._ended(self.encoder.piece_words(document.words)[0].ids)]
        lines = [line.ids for line in self.encoder.lines(document.lines)]
        if document.whole:
            return [self._ended(line) for line in lines]
        text: list[int] = []
        for number, line in enumerate(lines):
            text += line if number == 0 else [*self.line_feed, *line]
        return [self._ended(text)]

    def _ended(self, ids: list[int]) -> list[int]:
        return ids if self._end is None or self._end in self._frame.after else [*ids, self._end]


def _line_feed(encoder: Encoder) -> list[int]:
    """Return the pieces that represent a line feed only."""
    (pieces,) = encoder.pieces(["a\nb"])
    return [number for number, (start, end) in zip(pieces.ids, pieces.offsets) if (start, end) == (1, 2)]
