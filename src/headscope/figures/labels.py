"""Tokens as figure labels: control characters visible, and limited in width."""

from __future__ import annotations

from headscope.visible import LONGEST_TITLE, MOST_MARKS, cells, shorten, visible

__all__ = ["LONGEST_LABEL", "LONGEST_TITLE", "MOST_MARKS", "cells", "label", "shorten", "visible"]

LONGEST_LABEL = 17


def label(token: str, limit: int = LONGEST_LABEL) -> str:
    """Return a token as it is drawn: control characters visible, and at most `limit` columns wide."""
    return shorten(visible(token[: 8 * LONGEST_TITLE]), limit)
