"""What the page links to: heads to their cards, figures to their files."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.report_kit.linked_sentences import HeadRef, Sentence
from headscope.report_kit.report_parts import Context, Figure
from headscope.views.markup import Html, el


def linked(sentences: Sequence[Sentence], *, tag: str = "p", class_: str | None = "finding") -> list[Html]:
    """Return sentences with each head linked to its card, each with those that go on from it in one paragraph."""
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
        out += [
            el("a", part.text, href=f"#{part.anchor}", class_="head") if isinstance(part, HeadRef) else part
            for part in each.parts
        ]
    return out


def paper_figure(about: Context, number: int) -> Html | None:
    """Link the file of a figure of the paper."""
    return file_link(about, f"figure-{number}", f"Figure {number} of the paper, drawn for this model")


def file_link(about: Context, file: str, what: str) -> Html | None:
    """Link a figure's file under a few words on what it is; None where no figures lie beside the page."""
    return el("p", f"{what}: ", _link(file, "SVG"), class_="files") if about.links else None


def kind_links(about: Context, figure: Figure, what: str) -> Html | None:
    """Link the files of a figure that has one for each kind of attention, under a few words on what it is.

    Returns:
        None where no figures lie beside the page, or no kind has numbers.
    """
    files = figure.drawings(about) if about.links else {}
    links: list[Html | str] = []
    for kind in about.kinds:
        if (file := figure.name + kind.ending) in files:
            links += [*([", "] if links else []), _link(file, f"{kind.prefix}SVG")]
    return el("p", f"{what}: ", links, class_="files") if links else None


def _link(file: str, words: str) -> Html:
    return el("a", words, href=f"figures/{file}.svg")
