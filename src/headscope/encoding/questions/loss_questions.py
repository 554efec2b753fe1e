"""Prediction questions about segments: the model's input, and the right answer at each position."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import NO_WORD, Segment

NO_TARGET = -100


@dataclass(frozen=True, kw_only=True)
class Question:
    """A segment with something to predict.

    Attributes:
        segment: input of the encoder, or of the only stack of layers.
        targets: the right token at each position of the side that predicts (the decoder if there is one), or
            `NO_TARGET`, `[position]`; or, if `of_whole`, the right class alone, `[1]`.
        of_whole: whether one class is predicted for the whole segment, instead of tokens.
        decoder: input of the decoder of an encoder-decoder.
    """

    segment: Segment
    targets: NDArray[np.int64]
    of_whole: bool = False
    decoder: Segment | None = None

    @property
    def number(self) -> int:
        """Number of targets."""
        return int((self.targets != NO_TARGET).sum())


# Returns None for a segment without anything to predict (a single token has no next token).
Ask = Callable[[Segment], Question | None]


class NextToken:
    """Ask for the next token at every position except the last."""

    def __call__(self, segment: Segment) -> Question | None:
        """Make a segment's question."""
        if len(segment) < 2:
            return None
        return Question(segment=segment, targets=np.append(segment.ids[1:], NO_TARGET))


class GivenLabels:
    """Ask an encoder-decoder for labels given by the user.

    Args:
        labels: returns the token ids that the decoder should write for a segment, including its closing token; an empty
            result leaves the segment out.
        start: id of the decoder's first token; None for the last of the labels (mBART).
    """

    def __init__(self, labels: Callable[[Segment], Sequence[int]], *, start: int | None) -> None:
        self.labels = labels
        self.start = start

    def __call__(self, segment: Segment) -> Question | None:
        """Make a segment's question."""
        targets = np.asarray(self.labels(segment), dtype=np.int64)
        if not len(targets):
            return None
        words = np.full(len(targets), NO_WORD, dtype=np.int64)
        return Question(segment=segment, targets=targets, decoder=written(segment, targets, words, start=self.start))


def written(segment: Segment, targets: NDArray[np.int64], words: NDArray[np.int64], *, start: int | None) -> Segment:
    """Return the decoder's input while it writes targets: its start token, then all targets but the last.

    Args:
        segment: segment of the targets.
        targets: token ids, `[position]`.
        words: their word ids, `[position]`.
        start: id of the decoder's first token; None for the last of the targets (mBART).
    """
    return replace(
        segment,
        ids=np.concatenate([targets[-1:] if start is None else [start], targets[:-1]]),
        token_types=np.zeros(len(targets), dtype=np.int64),
        word_ids=np.concatenate([[NO_WORD], words[:-1]]),
    )


def generator_of(segment: Segment, *, seed: int) -> np.random.Generator:
    """Return the random generator of one segment; it depends only on its document, its index and the seed."""
    name = f"{seed}\n{segment.index}\n{segment.document}".encode()
    return np.random.default_rng(int.from_bytes(blake2b(name, digest_size=16).digest(), "little"))
