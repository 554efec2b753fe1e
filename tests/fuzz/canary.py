"""A function that malicious inputs name: it records every call."""

sung: list[str] = []


def sing(*words: object) -> str:
    """Record a call by a pickle or a model folder, which must not happen."""
    sung.append(f"canary.sing{words}"[:200])
    return "tweet"
