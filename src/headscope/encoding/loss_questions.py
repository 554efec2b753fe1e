"""The predictions for which a model's loss is computed: of tokens, and of the class of a segment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import NO_WORD, Segment
from headscope.errors import InputError
from headscope.visible import printable, shorten

NO_TARGET = -100
_MOST_NAMED = 12  # classes that an error lists
_LONGEST = 60


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


class ClassOfText:
    """Ask for the class of a segment.

    A label is the name of a class, as in the model's configuration, or its number from 0.

    Args:
        field: field of a document that holds its label.
        classes: number of each class by name.
    """

    def __init__(self, field: str, classes: Mapping[str, int]) -> None:
        self.field, self.classes = field, dict(classes)
        self._numbers = set(self.classes.values())

    def __call__(self, segment: Segment) -> Question:
        """Make a segment's question.

        Raises:
            InputError: its document has no label, or an unknown one; lists the classes.
        """
        label = segment.fields.get(self.field)
        number = self._number(label)
        if number is None:
            came = "nothing" if label is None else shorten(printable(str(label)), _LONGEST)
            names = [shorten(printable(name), _LONGEST) for name in self.classes]
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            where = segment.origin or f"document {segment.document}"
            raise InputError(
                f"{where}: its label {self.field!r} is {came}; expected a class of the model "
                f"({', '.join(names[:_MOST_NAMED])}{more}) or its number, from 0 to {len(names) - 1}"
            )
        return Question(segment=segment, targets=np.array([number]), of_whole=True)

    def _number(self, label: Any) -> int | None:
        """Return the number of a class; None for an unknown label."""
        text = str(label).strip()
        if text in self.classes:
            return self.classes[text]
        number = int(text) if text.isascii() and text.isdigit() and len(text) < _LONGEST else None
        return number if number in self._numbers else None
