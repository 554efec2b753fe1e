"""Tokens as labels of a figure: visible, and short."""

from __future__ import annotations

from headscope.visible import LONGEST_TITLE, MOST_MARKS, cells, shorten, visible

__all__ = ["LONGEST_LABEL", "LONGEST_TITLE", "MOST_MARKS", "cells", "label", "shorten", "visible"]

LONGEST_LABEL = 17


def label(token: str, limit: int = LONGEST_LABEL) -> str:
    """Return a token as it is drawn: visible, and at most `limit` columns wide."""
    return shorten(visible(token[: 8 * LONGEST_TITLE]), limit)
