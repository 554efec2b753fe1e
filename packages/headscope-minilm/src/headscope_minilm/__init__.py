"""A small BERT with a trained masked-LM head, and the demonstration's corpora, kept as package data (see CARD.md)."""

from pathlib import Path

__version__ = "1.1.1"


def folder() -> Path:
    """Return the folder that holds the weights, the configuration and the tokenizer."""
    return Path(__file__).parent / "weights"


def demo_text() -> Path:
    """Return the file of the demonstration's text: short English documents, a blank line between them."""
    return Path(__file__).parent / "demo" / "demo.txt"


def demo_treebank() -> Path:
    """Return the file of the demonstration's treebank: CoNLL-U with mentions (see CARD.md)."""
    return Path(__file__).parent / "demo" / "demo.conllu"
