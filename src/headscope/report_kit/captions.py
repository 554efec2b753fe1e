"""Captions of figures and tables: in a third of the page to their right, or below them on narrow screens."""

from __future__ import annotations

from headscope.views.markup import Child, Html, el


def caption(*words: Child) -> Html | None:
    """Return a caption; None if it has no text."""
    return el("p", words, class_="caption") if any(words) else None


def captioned(parts: Child, *notes: Html | None) -> Html:
    """Return a figure or table together with its explanation next to it.

    Args:
        parts: a figure, a table, or the sentences above a table that is as wide as the page.
        notes: captions and links to files, in order; None is skipped.
    """
    return el("div", el("div", parts), el("div", notes, class_="notes"), class_="captioned")
