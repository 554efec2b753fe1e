"""Cut documents of sentences into model inputs: whole sentences if they fit."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from headscope.corpora.annotation import AnnotatedDocument
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment, shared_words
from headscope.encoding.tokenizer.alignment import WordCounts
from headscope.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class Window:
    """A part of a document that the model reads at once.

    Attributes:
        segment: the model input; its word ids count from 0 within the window.
        start: position of its first word in the document.
        words: number of its words.
    """

    segment: Segment
    start: int
    words: int

    @property
    def end(self) -> int:
        """Position in the document of the word after the window's last word."""
        return self.start + self.words


@dataclass(kw_only=True)
class WindowCounts(WordCounts):
    """Counts of documents, windows and words; filled while `cut_windows` runs.

    Attributes:
        documents: documents read.
        windows: windows made.
        tokens: tokens in them, special tokens included.
        sentences: sentences read.
        sentences_cut: sentences longer than a window.
        words_too_long: words left out because a single word is longer than a window.
        words_after_first: words left out because they follow a document's first window and only that one is requested.
    """

    documents: int = 0
    windows: int = 0
    tokens: int = 0
    sentences: int = 0
    sentences_cut: int = 0
    words_too_long: int = 0
    words_after_first: int = 0


def cut_windows(
    document: AnnotatedDocument,
    encoder: Encoder,
    *,
    max_length: int,
    first_only: bool = False,
    counts: WindowCounts | None = None,
) -> Iterator[Window]:
    """Yield a document's windows: as many whole sentences as fit; a longer sentence is cut between words.

    The rest of a cut sentence begins the next window. Words are joined with the spaces between them, and every window
    is tokenized separately, as a text that begins there.

    Args:
        document: sentences of words.
        encoder: wrapper of the tokenizer.
        max_length: maximum number of tokens in a window, special tokens included.
        first_only: yield the first window only, as in the paper.
        counts: counts to update.

    Raises:
        OptionError: `max_length` is too small for a word.
    """
    counts = WindowCounts() if counts is None else counts
    room = max_length - encoder.special_tokens_single
    if room < 1:
        raise OptionError(
            f"--max-length {max_length} leaves no room beside {encoder.special_tokens_single} special tokens; "
            f"expected at least {encoder.special_tokens_single + 1}"
        )
    words, forms, spaces = document.words, document.forms, document.spaces
    ends = list(accumulate(len(sentence) for sentence in document.sentences))
    counts.documents += 1
    counts.sentences += len(ends)
    start = index = 0
    last_cut = -1
    while start < len(words):
        end = _whole_sentences(ends, start, start + fitting_words(forms, start, encoder, room, spaces))
        pieces, alignment = encoder.piece_words(forms[start:end], spaces[start:end])
        while len(pieces) > room:
            # Without the words after them, the words may have more pieces than before: take fewer.
            end = _whole_sentences(ends, start, end - 1)
            pieces, alignment = encoder.piece_words(forms[start:end], spaces[start:end])
        if end == start:
            counts.words_too_long += 1
            start += 1
            continue
        sentence = bisect_left(ends, end)
        if ends[sentence] != end and sentence != last_cut:
            counts.sentences_cut += 1
            last_cut = sentence
        if np.any(alignment.word_ids != NO_WORD):
            window_words = words[start:end]
            segment = encoder.segment(
                pieces,
                document=document.id,
                index=index,
                alignment=alignment,
                words=window_words,
                shared=shared_words(forms[start:end]),
            )
            counts.windows += 1
            counts.tokens += len(segment)
            counts.count_words(alignment, forms[start:end])
            yield Window(segment=segment, start=start, words=len(window_words))
            index += 1
            if first_only:
                counts.words_after_first += len(words) - end
                return
        start = end


def fitting_words(
    words: tuple[str, ...], start: int, encoder: Encoder, room: int, spaces: tuple[bool, ...] = ()
) -> int:
    """Return the number of words from `start` on that fit into `room` pieces (when more words follow them)."""
    taken = room
    while True:
        reach = slice(start, start + taken)
        pieces, alignment = encoder.piece_words(words[reach], spaces[reach])
        if len(pieces) > room:
            beyond = alignment.word_ids[room:]
            beyond = beyond[beyond != NO_WORD]
            return int(beyond[0]) if len(beyond) else min(taken, len(words) - start)
        if start + taken >= len(words):
            return len(words) - start
        taken *= 2  # words without pieces, or many words per piece, leave room for more


def _whole_sentences(ends: list[int], start: int, reach: int) -> int:
    """Return the last sentence's end within reach; `reach` itself if the first sentence goes beyond it."""
    last = bisect_right(ends, reach) - 1
    return ends[last] if last >= 0 and ends[last] > start else max(start, reach)
