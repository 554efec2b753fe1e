"""Numbers with their nouns, and times, for sentences: in one place, so that no message has `1 documents`."""


def count(number: int, noun: str, many: str = "") -> str:
    """Return `1 head` or `3,072 heads`.

    Args:
        number: number of things.
        noun: singular noun; it may have words before and after it if `many` is given.
        many: plural noun; by default the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def duration(seconds: float) -> str:
    """Write a time as `45 s`, `3 min` or `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
