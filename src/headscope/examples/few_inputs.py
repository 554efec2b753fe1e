"""How much of what was read once is read again, for examples to draw: a tenth, or the little that examples need."""

from collections.abc import Sequence
from itertools import accumulate

from headscope.encoding.segment import Segment

_SHARE = 10
_FEWEST, _MOST = 48, 400
_FEWEST_TOKENS = 1024
"""Of a text that takes moments to read, a tenth would leave most heads without a second example."""


def example_inputs(total: int) -> int:
    """Return how many short sentences are read for examples: a tenth of all, at least 48 and at most 400.

    Args:
        total: how many sentences, or stretches as short, there are.
    """
    return min(max(total // _SHARE, _FEWEST), _MOST)


def example_tokens(total: int) -> int:
    """Return how many tokens of a text are read again for examples: a tenth, or 1,024 where that is less.

    Args:
        total: its tokens.
    """
    return max(total // _SHARE, _FEWEST_TOKENS)


def within_tokens(segments: Sequence[Segment], *, most: int) -> list[Segment]:
    """Return the first of these inputs that have at most so many tokens together; the first alone may have more."""
    totals = accumulate(map(len, segments))
    return [
        segment
        for position, (segment, total) in enumerate(zip(segments, totals, strict=True))
        if not position or total <= most
    ]
