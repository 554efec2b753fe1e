"""The number of inputs that are read a second time for examples."""

from collections.abc import Sequence
from itertools import accumulate

from headscope.encoding.segment import Segment

_SHARE = 10
_FEWEST, _MOST = 48, 400
_FEWEST_TOKENS = 1024
"""A tenth of a short text would leave most heads without a second example."""


def example_inputs(total: int) -> int:
    """Return the number of short sentences read for examples: a tenth of all, at least 48 and at most 400.

    Args:
        total: number of sentences, or of equally short inputs.
    """
    return min(max(total // _SHARE, _FEWEST), _MOST)


def example_tokens(total: int) -> int:
    """Return the number of tokens of a text that are read for examples: a tenth, at least 1,024.

    Args:
        total: number of tokens of the text.
    """
    return max(total // _SHARE, _FEWEST_TOKENS)


def within_tokens(segments: Sequence[Segment], *, most: int) -> list[Segment]:
    """Return the first inputs with at most this number of tokens in total; the first alone may have more."""
    totals = accumulate(map(len, segments))
    return [
        segment
        for position, (segment, total) in enumerate(zip(segments, totals, strict=True))
        if not position or total <= most
    ]
