"""Bounds on the stored vectors of a model: with many heads there are fewer tokens, and not every layer is measured."""

from collections.abc import Sequence

from headscope.models.anatomy import KindLayout

MOST_TOKENS, FEWEST_TOKENS = 100, 24
MOST_BYTES, FEWEST_LAYERS = 15_000_000, 8
_HEADS_TIMES_TOKENS = 12_288


def tokens_for(layout: Sequence[KindLayout]) -> int:
    """Return the number of tokens in the sample: 100, fewer for more than 122 heads, 24 for 512 heads or more.

    Their vectors, three of width 64 in float16, take at most 5 MB for up to 512 heads.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_TOKENS, max(FEWEST_TOKENS, _HEADS_TIMES_TOKENS // max(1, heads)))


def numbers_of(heads: int, width: int) -> int:
    """Return the number of values in the moments of heads' vectors: sums, and a triangle of products."""
    return heads * (width + width * (width + 1) // 2)


def layers_apart(layout: Sequence[KindLayout], kind: str, numbers: int) -> int:
    """Return the step between a kind's measured layers, counted from the last.

    The step is 1 if the sums take at most 15 MB. Otherwise the number of measured layers is the largest that fits, at
    least 8.

    Args:
        layout: the kinds of attention and their sizes.
        kind: kind of attention.
        numbers: number of float64 values per layer.
    """
    (layers,) = (part.layers for part in layout if part.kind == kind)
    share = MOST_BYTES * layers / sum(part.layers for part in layout)
    allowed = max(FEWEST_LAYERS, int(share // (8 * numbers)))
    return -(-layers // allowed)
