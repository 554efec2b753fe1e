"""The text that comes with headscope, so that a first report needs no file."""

from importlib.resources import files
from pathlib import Path


def demo_text() -> Path:
    """Return the path of the demonstration text: short English documents, for `read_text`.

    The prose was written for headscope and is under its licence.
    """
    return Path(str(files("headscope") / "data" / "demo.txt"))
