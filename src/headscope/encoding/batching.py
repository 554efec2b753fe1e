"""Padded batches of segments of similar length, made ahead while earlier ones are processed."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.encoding.segment import NO_WORD, Segment, SegmentInfo
from headscope.encoding.vocabulary import KeyClass, Vocabulary

# The number of batches whose segments are sorted by length together: enough for even batches, at constant memory.
_WINDOW = 32
Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Padded segments.

    Attributes:
        segments: the segments, in row order.
        token_types: 0 or 1 for the texts of a pair, `[batch, position]`.
        info: ids, classes, words and validity of every position.
    """

    segments: tuple[Segment, ...]
    token_types: Tensor
    info: SegmentInfo


def collate(
    segments: Sequence[Segment], vocabulary: Vocabulary, *, padding_side: str = "right", decoder: bool = False
) -> Batch:
    """Pad segments to the longest of them, on the right or on the left.

    `decoder` says whether a decoder reads them, which decides the class of the first token (see `Vocabulary.of`).
    """
    classes = [vocabulary.of(segment.ids, decoder=decoder) for segment in segments]
    return padded_batch(segments, classes, pad_id=vocabulary.pad_id, padding_side=padding_side)


def padded_batch(
    segments: Sequence[Segment], classes: Sequence[Sequence[int] | NDArray[Any]], *, pad_id: int, padding_side: str
) -> Batch:
    """Pad segments with known classes, `[segment][token]`; arguments as `collate` takes them."""
    width = max(len(segment) for segment in segments)

    def padded(rows: Iterable[Sequence[int] | NDArray[Any]], fill: int) -> Tensor:
        table = np.full((len(segments), width), fill, dtype=np.int64)
        for row, values in zip(table, rows):
            if padding_side == "right":
                row[: len(values)] = values
            else:
                row[width - len(values) :] = values
        return torch.from_numpy(table)

    valid = padded((np.ones(len(segment)) for segment in segments), 0).bool()
    return Batch(
        segments=tuple(segments),
        token_types=padded((segment.token_types for segment in segments), 0),
        info=SegmentInfo(
            ids=padded((segment.ids for segment in segments), pad_id),
            classes=padded(classes, KeyClass.OTHER),
            word_ids=padded((segment.word_ids for segment in segments), NO_WORD),
            valid=valid,
            lengths=valid.sum(1),
            documents=tuple(segment.document for segment in segments),
            indices=tuple(segment.index for segment in segments),
        ),
    )


def length_buckets(segments: Iterable[Segment], *, batch_size: int) -> Iterator[list[Segment]]:
    """Group segments of similar length, longest first within a window, so that little padding is computed.

    At most a window of segments is in memory. The order within a corpus changes; no result depends on it.
    """
    window: list[Segment] = []
    for segment in segments:
        window.append(segment)
        if len(window) == _WINDOW * batch_size:
            yield from _cut(window, batch_size)
            window = []
    yield from _cut(window, batch_size)


def of_one_length(
    items: Sequence[Item],
    *,
    together: str,
    lengths: Callable[[Item], Hashable] = len,  # type: ignore[assignment]
) -> Iterator[list[Item]]:
    """Divide a batch into lists of items that a model may read together, in order.

    Args:
        items: the batch.
        together: `padded`, all items; `equal`, items of equal length; `alone`, each item by itself (see `Anatomy`).
        lengths: returns the length of an item, which must be equal.
    """
    if together == "padded":
        yield list(items)
    elif together == "alone":
        yield from ([item] for item in items)
    else:
        groups: dict[Hashable, list[Item]] = {}
        for item in items:
            groups.setdefault(lengths(item), []).append(item)
        yield from groups.values()


def _cut(window: list[Segment], batch_size: int) -> Iterator[list[Segment]]:
    window.sort(key=len, reverse=True)  # stable, so the order is the same in every run
    for start in range(0, len(window), batch_size):
        yield window[start : start + batch_size]


def ahead(items: Iterable[Item], *, most: int = 2) -> Iterator[Item]:
    """Yield items in their order, while a thread makes the next ones.

    An error in making an item is raised at its place. A consumer that stops early stops the thread.

    Args:
        items: items to yield; iterated once, in the thread.
        most: maximum number of items that wait to be consumed.
    """
    iterator = iter(items)
    end: Any = object()
    # Leaving the block waits for the item that is being made.
    with ThreadPoolExecutor(1, thread_name_prefix="headscope-ahead") as maker:
        waiting = deque(maker.submit(next, iterator, end) for _ in range(most))
        try:
            while (item := waiting.popleft().result()) is not end:
                waiting.append(maker.submit(next, iterator, end))
                yield item
        finally:
            maker.shutdown(cancel_futures=True)
