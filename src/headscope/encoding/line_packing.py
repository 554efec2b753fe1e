"""Packing of lines into model inputs: pairs of paragraphs, pairs as in pre-training, joined lines, or single lines."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from itertools import accumulate
from random import Random
from typing import Any

from headscope.corpora.document import Document
from headscope.encoding.encoder import LETTERS_A_TOKEN, Encoder
from headscope.encoding.max_inputs import draw_documents, draw_inputs
from headscope.encoding.segment import Segment
from headscope.encoding.tokenizer.alignment import WordCounts
from headscope.encoding.tokenizer.pieces import Pieces
from headscope.errors import InputError

Text = tuple[Pieces, Pieces | None, dict[str, Any]]
"""One text or a pair of them, which becomes an input, and the segment's `shortened` and `first_written`."""

NO_PAIR = {"pretraining": "no second line to pair with", "paragraphs": "no second paragraph to pair with"}
"""Reason why a document of one line makes no input, for each packing that makes pairs."""


@dataclass(kw_only=True)
class PackingCounts(WordCounts):
    """Counts of documents and segments; `pack` fills them, and the manifest records them.

    Attributes:
        documents: documents that were read; with a limit, those that a segment could be drawn from.
        documents_used: documents with at least one segment.
        segments: segments that were yielded.
        tokens: tokens in them, special tokens included.
        truncated: segments that lost tokens to fit into the limit.
        skipped: inputs without a segment, by reason.
    """

    documents: int = 0
    documents_used: int = 0
    segments: int = 0
    tokens: int = 0
    truncated: int = 0
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(eq=False)
class Packer:
    """Cut documents into segments.

    Args:
        encoder: the wrapper of the tokenizer.
        packing: `pretraining`, lines packed to the limit and cut into A and B at a random line, over-long
            pairs shortened at a random end, as the original's `preprocess_unlabeled.py`; `paragraphs`,
            lines 1 and 2, 3 and 4 ... of each document as pairs, as the paper says; `joined`, lines joined into one
            text until it fills an input, whose end is cut; `single`, each line an input of its own.
        max_length: maximum number of tokens in a segment, special tokens included.
        too_long: the treatment of an input over the limit: `truncate`, `skip` or `error`. Pre-training packing fills
            inputs and cuts the rest; with `skip` or `error` it stops before a line that does not fit.
        seed: the seed of the random cuts, and of the draw under a limit.
        one_stream: draw the cuts of all documents from a single stream, as the original does (seed 0 gives its exact
            cuts). Otherwise the draws of a document depend on the seed and its id alone, so that its inputs do not
            depend on other documents or on the machine that reads it.

    Attributes:
        counts: the counts of documents and segments so far.
        random: generator of the cuts of the single stream; the original then shuffles with it (`headscope segments`).
    """

    encoder: Encoder
    _: KW_ONLY
    packing: str = "pretraining"
    max_length: int = 128
    too_long: str = "truncate"
    seed: int = 0
    one_stream: bool = False
    counts: PackingCounts = field(default_factory=PackingCounts, init=False)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)

    def pack(self, documents: Iterable[Document], *, max_inputs: int | None = None) -> Iterator[Segment]:
        """Yield segments, document by document.

        Args:
            documents: documents to cut into segments.
            max_inputs: maximum number of segments, spread over the documents (`draw_inputs`); all if None.

        Raises:
            InputError: an input is over the limit, and `too_long` is `error`.
        """
        before = None
        for segment in self._made(documents) if max_inputs is None else self._drawn(documents, max_inputs):
            self.counts.documents_used += segment.document != before
            before = segment.document
            self.counts.segments += 1
            self.counts.tokens += len(segment)
            self.counts.truncated += segment.shortened
            yield segment

    def _made(self, documents: Iterable[Document]) -> Iterator[Segment]:
        for document in documents:
            self.counts.documents += 1
            yield from self._segments(document)

    def _drawn(self, documents: Iterable[Document], max_inputs: int) -> Iterator[Segment]:
        """Yield the segments that the seed draws; the documents that they can come from are kept in memory."""
        inputs = list(self._made(draw_documents(documents, limit=max_inputs, seed=self.seed)))
        positions = ((segment.document, segment.index) for segment in inputs)
        drawn = draw_inputs(positions, limit=max_inputs, seed=self.seed)
        yield from (segment for segment in inputs if (segment.document, segment.index) in drawn)

    def _segments(self, document: Document) -> Iterator[Segment]:
        if document.tokens is not None:
            yield from self._from_tokens(document)
        elif document.words is not None:
            yield from self._from_words(document)
        else:
            by_itself = document.whole or self.packing == "single"
            texts = self._singles(document) if by_itself else self._texts(document)
            fields = document.fields if by_itself else {}
            how: dict[str, Any] = {"document": document.id, "fields": fields, "origin": document.origin}
            for index, (first, second, facts) in enumerate(texts):
                yield self.encoder.segment(first, second, index=index, **facts, **how)

    def _texts(self, document: Document) -> Iterator[Text]:
        if self.packing == "paragraphs":
            return self._paragraph_pairs(document)
        return self._joined_lines(document) if self.packing == "joined" else self._pretraining_pairs(document)

    def _from_tokens(self, document: Document) -> Iterator[Segment]:
        tokens = document.tokens or ()
        shortened = self._over(len(tokens), document)
        if shortened is None:
            return
        if shortened:  # the last token is a closing separator in the original's files: it stays
            tokens = (*tokens[: self.max_length - 1], tokens[-1])
        yield self.encoder.segment_of_tokens(
            tokens, document=document.id, index=0, origin=document.origin, shortened=shortened, fields=document.fields
        )

    def _from_words(self, document: Document) -> Iterator[Segment]:
        words = self._readable(document.words or ())
        pieces, alignment = self.encoder.piece_words(words)
        shortened = self._over(len(pieces) + self.encoder.special_tokens_single, document)
        if shortened is None:
            return
        if shortened:
            # Cut between words, so that no word keeps only some of its pieces.
            keep = self.max_length - self.encoder.special_tokens_single
            while keep > 0 and alignment.word_ids[keep] == alignment.word_ids[keep - 1]:
                keep -= 1
            if keep == 0:
                self.counts.skipped["first word over the limit"] += 1
                return
            pieces.truncate(keep)
            words = words[: int(alignment.word_ids[:keep].max(initial=-1)) + 1]
        self.counts.count_words(alignment, words)
        yield self.encoder.segment(
            pieces,
            document=document.id,
            index=0,
            alignment=alignment,
            words=tuple(words),
            shortened=shortened,
            fields=document.fields,
            origin=document.origin,
        )

    def _singles(self, document: Document) -> Iterator[Text]:
        special = self.encoder.special_tokens_single
        for line in self._tokenized(document):
            first_written = self.encoder.without_first(line)
            shortened = self._over(len(line) + special, document)
            if shortened is None:
                continue
            if shortened:
                line.truncate(self.max_length - special)
            yield line, None, {"shortened": shortened, "first_written": first_written}

    def _paragraph_pairs(self, document: Document) -> Iterator[Text]:
        lines = self._tokenized(document)
        room = self.max_length - self.encoder.special_tokens_pair
        for first in lines:
            if (second := next(lines, None)) is None:
                self.counts.skipped[NO_PAIR["paragraphs"]] += 1
                return
            first_written = self.encoder.without_first(first)
            shortened = self._over(len(first) + len(second) + self.encoder.special_tokens_pair, document)
            if shortened is None:
                continue
            if shortened:
                shorter = min(len(first), len(second), room // 2)
                longer = room - shorter
                first.truncate(shorter if len(first) <= len(second) else longer)
                second.truncate(room - len(first))
            yield first, second, {"shortened": shortened, "first_written": first_written}

    def _pretraining_pairs(self, document: Document) -> Iterator[Text]:
        special = self.encoder.special_tokens_pair
        draws = self.random if self.one_stream else Random(f"{self.seed} {document.id}")
        for chunk in self._chunks(document, special=special, fewest=2):
            if len(chunk) < 2:
                self.counts.skipped[NO_PAIR["pretraining"]] += 1
                continue
            cut = draws.randint(1, len(chunk) - 1)
            first, second = self.encoder.join(chunk[:cut]), self.encoder.join(chunk[cut:])
            first_written = self.encoder.without_first(first)
            shortened = _shorten(first, second, self.max_length - special, draws)
            yield first, second, {"shortened": shortened, "first_written": first_written}

    def _joined_lines(self, document: Document) -> Iterator[Text]:
        special = self.encoder.special_tokens_single
        room = self.max_length - special
        for chunk in self._chunks(document, special=special, fewest=1):
            text = self.encoder.join(chunk)
            first_written = self.encoder.without_first(text)
            shortened = len(text) > room
            text.truncate(room)
            yield text, None, {"shortened": shortened, "first_written": first_written}

    def _chunks(self, document: Document, *, special: int, fewest: int) -> Iterator[list[Pieces]]:
        """Gather lines until they fill an input; if nothing may be cut off, until the next line would not fit.

        Args:
            document: document of the lines.
            special: number of special tokens of an input.
            fewest: minimum number of lines of an input, while there are more.
        """
        room = self.max_length - special
        chunk: list[Pieces] = []
        cutting = self.too_long == "truncate"
        for line in self._tokenized(document):
            if not cutting:
                if self._over(len(line) + special, document) is None:
                    continue
                if chunk and sum(map(len, chunk)) + len(line) > room:
                    yield chunk
                    chunk = []
            chunk.append(line)
            # One over-long line of a pair waits for a second line: the original drops the rest of the document there.
            if cutting and len(chunk) >= fewest and sum(map(len, chunk)) >= room:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _tokenized(self, document: Document) -> Iterator[Pieces]:
        """Yield the pieces of each line that is not empty."""
        most = LETTERS_A_TOKEN * self.max_length
        return filter(len, self.encoder.lines(line[:most] for line in document.lines))

    def _readable(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Return the first words of a document, as many as an input may have tokens of."""
        ends = accumulate(map(len, words))
        return words[: next((n for n, end in enumerate(ends, 1) if end >= LETTERS_A_TOKEN * self.max_length), None)]

    def _over(self, length: int, document: Document) -> bool | None:
        """Return False if an input fits, True if it must be cut, None if it is left out."""
        if length <= self.max_length:
            return False
        if self.too_long == "error":
            raise InputError(
                f"{document.origin}: {length} tokens, expected at most {self.max_length}; raise --max-length, "
                "or let --too-long truncate or skip such inputs"
            )
        if self.too_long == "skip":
            self.counts.skipped["over the limit"] += 1
            return None
        return True


def _shorten(first: Pieces, second: Pieces, room: int, draws: Random) -> bool:
    """Remove tokens one by one from a random end of the longer text until both fit, as the original does."""
    excess = len(first) + len(second) - room
    lengths = [len(first), len(second)]
    heads = [0, 0]  # tokens removed from the front of each text
    for _ in range(excess):
        longer = 0 if lengths[0] > lengths[1] else 1
        lengths[longer] -= 1
        heads[longer] += draws.random() < 0.5
    for text, length, head in zip((first, second), lengths, heads):
        text.truncate(len(text) - head, direction="left")
        text.truncate(length)
    return excess > 0
