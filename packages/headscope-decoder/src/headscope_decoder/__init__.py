"""A small decoder with its tokenizer, trained by `headscope train`, kept as package data (see CARD.md)."""

from pathlib import Path

__version__ = "1.0.0"


def folder() -> Path:
    """Return the folder that holds the weights, the configuration and the tokenizer."""
    return Path(__file__).parent / "weights"
