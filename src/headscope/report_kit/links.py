"""Links of the page: heads to their cards, figures to their files."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.report_kit.linked_sentences import HeadRef, Sentence
from headscope.report_kit.report_parts import Context
from headscope.views.markup import Html, el


def linked(sentences: Sequence[Sentence], *, tag: str = "p", class_: str | None = "finding") -> list[Html]:
    """Return sentences with each head linked to its card; sentences that continue another share its paragraph."""
    paragraphs: list[list[Sentence]] = []
    for each in sentences:
        if each.goes_on and paragraphs:
            paragraphs[-1].append(each)
        else:
            paragraphs.append([each])
    return [el(tag, _text_of(paragraph), class_=class_) for paragraph in paragraphs]


def _text_of(paragraph: Sequence[Sentence]) -> list[Html | str]:
    out: list[Html | str] = []
    for each in paragraph:
        out += [" "] if out else []
        out += [part.link if isinstance(part, HeadRef) else part for part in each.parts]
    return out


def file_link(about: Context, file: str, what: str) -> Html | None:
    """Link a figure's file, with a short description; None if figures are not saved next to the page."""
    link = el("a", "SVG", href=f"figures/{file}.svg")
    return el("p", f"{what}: ", link, class_="files") if about.links else None
