"""What the page links to: heads to their cards, figures to their files."""

from __future__ import annotations

from collections.abc import Sequence

from headscope.reporting.kit.linked_sentences import HeadRef, Sentence
from headscope.reporting.kit.words import anchor
from headscope.views.markup import Html, el


def head_link(kind: str, layer: int, head: int, several: bool) -> Html:
    """Return a head's number, linked to its card."""
    name = f"{kind} {layer}-{head}" if several else f"{layer}-{head}"
    return el("a", name, href=f"#{anchor(kind, layer, head)}", class_="head")


def numbered(value: str, below: str = "") -> Html:
    """Return a cell with a number and what belongs to it in small below."""
    return el("td", value, el("small", below) if below else None)


def linked(sentences: Sequence[Sentence], *, tag: str = "p", class_: str | None = "finding") -> list[Html]:
    """Return sentences with each head linked to its card."""
    return [
        el(
            tag,
            [el("a", part.text, href=f"#{part.anchor}", class_="head") if isinstance(part, HeadRef) else part
             for part in sentence.parts],
            class_=class_,
        )
        for sentence in sentences
    ]  # fmt: skip


def figure_file(name: str, kind: str, *, first: bool) -> str:
    """Return the name of a figure's file for a kind of attention: the first kind of a model needs none of its own."""
    return name if first else f"{name}-{kind}"


def figure_links(name: str) -> Html:
    """Link the figure's file, which lies beside the page in a run's directory."""
    number = name.removeprefix("figure-")
    return file_links(name, f"Figure {number} of the paper, drawn for this model")


def file_links(name: str, what: str) -> Html:
    """Link a figure's file under a few words on what it is; `export` makes other forms."""
    return el(
        "p",
        f"{what}: ",
        el("a", "SVG", href=f"figures/{name}.svg"),
        class_="files",
    )
