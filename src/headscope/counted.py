"""A number and its noun, as sentences say it: one place, so that nobody reads `1 documents`."""


def count(number: int, noun: str, many: str = "") -> str:
    """Return `1 head` or `3,072 heads`.

    Args:
        number: how many.
        noun: of one; may have words before and after it where `many` is given.
        many: of several; by default the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
