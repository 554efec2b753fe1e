"""How much of what was read once is read again, for examples to draw: a tenth, so that no text is read twice."""

_SHARE = 10
_FEWEST, _MOST = 48, 400


def example_inputs(total: int) -> int:
    """Return how many short sentences are read for examples: a tenth of all, at least 48 and at most 400.

    Args:
        total: how many sentences, or stretches as short, there are.
    """
    return min(max(total // _SHARE, _FEWEST), _MOST)


def example_tokens(total: int) -> int:
    """Return how many tokens of a text are read again for examples: a tenth.

    Args:
        total: its tokens.
    """
    return total // _SHARE
