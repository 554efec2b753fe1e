"""A cache of the inputs that several models read one after another, where they fit into memory."""

from collections.abc import Callable, Iterable, Iterator

from headscope.encoding.segment import Segment

MOST_TOKENS = 1 << 19
"""Number of tokens in the cache at most, about 60 MB with words and trees; a longer corpus is read again."""


class SegmentCache:
    """Keeps the segments that pass through it, for further readings.

    Args:
        most: number of tokens at most; a longer corpus is not kept at all.
    """

    def __init__(self, *, most: int = MOST_TOKENS) -> None:
        self.most = most
        self._segments: list[Segment] | None = None

    def watch(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Yield the segments unchanged, and keep them once all have passed."""
        kept: list[Segment] | None = []
        tokens = 0
        for segment in segments:
            tokens += len(segment)
            if tokens > self.most:
                kept = None
            elif kept is not None:
                kept.append(segment)
            yield segment
        self._segments = kept

    def again(self, make: Callable[[], Iterable[Segment]]) -> Iterator[Segment]:
        """Yield the kept segments; where there are none, those that `make` returns."""
        yield from make() if self._segments is None else self._segments
