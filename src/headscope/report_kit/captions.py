"""What explains a figure or a table: in the right third beside it, below it where the screen has no room for that."""

from __future__ import annotations

from headscope.views.markup import Child, Html, el


def caption(*words: Child) -> Html | None:
    """Return a caption; None where there is nothing to say."""
    return el("p", words, class_="caption") if any(words) else None


def captioned(parts: Child, *notes: Html | None) -> Html:
    """Return what is explained, and beside it what explains it.

    Args:
        parts: a figure, a table, or the sentences above a table that is as wide as the page.
        notes: captions and links to files, in order; what is None is left out.
    """
    return el("div", el("div", parts), el("div", notes, class_="notes"), class_="captioned")
