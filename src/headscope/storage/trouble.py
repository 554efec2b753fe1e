"""File system errors, as one sentence that says what to do."""

import os


def in_words(error: OSError) -> str:
    """Return a message for a file system error: the file, the system's reason, and what to do."""
    name = "a file" if error.filename is None else os.fsdecode(error.filename)
    reason = error.strerror or str(error) or type(error).__name__
    return (
        f"cannot read or write {name}: {reason}; what was finished is kept: free space, check permissions or give "
        "another path, and run the same command again"
    )
