"""A cache of inputs that several models read one after another, if they fit into memory."""

from collections.abc import Callable, Iterable, Iterator

from headscope.encoding.segment import Segment

MOST_TOKENS = 1 << 19
"""Maximum number of tokens in the cache, about 60 MB with words and trees; a longer corpus is read again."""


class SegmentCache:
    """Keeps the segments that pass through it, for further readings.

    Args:
        most: maximum number of tokens; a longer corpus is not kept at all.
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
        """Yield the kept segments; if there are none, yield those that `make` returns."""
        yield from make() if self._segments is None else self._segments
