"""How much is kept of a model's vectors: of many heads fewer tokens, and some layers alone."""

from collections.abc import Sequence

from headscope.models.anatomy import KindLayout

MOST_TOKENS, FEWEST_TOKENS = 100, 24
MOST_BYTES, FEWEST_LAYERS = 15_000_000, 8
_HEADS_TIMES_TOKENS = 12_288


def tokens_for(layout: Sequence[KindLayout]) -> int:
    """Return how many tokens are kept to be drawn: 100, of more than 122 heads fewer, 24 of 512 and more.

    Their vectors, three of 64 numbers in float16, are 5 MB up to 512 heads.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_TOKENS, max(FEWEST_TOKENS, _HEADS_TIMES_TOKENS // max(1, heads)))


def numbers_of(heads: int, width: int) -> int:
    """Return how many numbers the moments of heads' vectors are: sums, and products of which half are the others'."""
    return heads * (width + width * (width + 1) // 2)


def layers_apart(layout: Sequence[KindLayout], kind: str, numbers: int) -> int:
    """Return which of a kind's layers are measured: every so-manieth, counted from the last.

    All, where their sums are 15 MB at most; else as many as that holds, but 8 in any case.

    Args:
        layout: the kinds of attention and their sizes.
        kind: of them.
        numbers: of float64 that are kept of a layer.
    """
    (own,) = (part.layers for part in layout if part.kind == kind)
    share = MOST_BYTES * own / sum(part.layers for part in layout)
    allowed = max(FEWEST_LAYERS, int(share // (8 * numbers)))
    return -(-own // allowed)
