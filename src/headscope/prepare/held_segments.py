"""Inputs that several models read, one after another: made once, where they are few enough to be held."""

from collections.abc import Callable, Iterable, Iterator

from headscope.encoding.segment import Segment

MOST_TOKENS = 1 << 19
"""So many are held, about 60 MB with their words and trees; longer corpora are read and cut anew."""


class HeldSegments:
    """Holds what goes through it, for those who read the same again.

    Args:
        most: tokens that are held; of more, nothing is.
    """

    def __init__(self, *, most: int = MOST_TOKENS) -> None:
        self.most = most
        self._held: list[Segment] | None = None

    def watch(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Pass segments on, and hold them once all of them came."""
        held: list[Segment] | None = []
        tokens = 0
        for segment in segments:
            tokens += len(segment)
            if tokens > self.most:
                held = None
            elif held is not None:
                held.append(segment)
            yield segment
        self._held = held

    def again(self, make: Callable[[], Iterable[Segment]]) -> Iterator[Segment]:
        """Yield what is held; where nothing is, what `make` makes of the corpus again."""
        yield from make() if self._held is None else self._held
