"""What inputs name that would like to run code: that it was called is remembered."""

sung: list[str] = []


def sing(*words: object) -> str:
    """Be called by a pickle or a model folder, which must not happen."""
    sung.append(f"canary.sing{words}"[:200])
    return "tweet"
