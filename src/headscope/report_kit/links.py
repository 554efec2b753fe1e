"""What the page links to: heads to their cards, figures to their files."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from headscope.report_kit.linked_sentences import HeadRef, Sentence
from headscope.report_kit.report_parts import Context
from headscope.views.markup import Html, el


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
        _file(name, "SVG"),
        class_="files",
    )


def kind_links(about: Context, name: str, what: str, drawn: Collection[str]) -> Html | None:
    """Link the files of a figure that has one for each kind of attention, under a few words on what it is.

    Args:
        about: the run.
        name: of the figure; `figure_file` names its files.
        what: it is.
        drawn: the kinds that have numbers, and so a file.

    Returns:
        None where no figures lie beside the page, or no kind has numbers.
    """
    links: list[Html | str] = []
    for index, kind in enumerate(about.kinds):
        if kind.name in drawn:
            file = figure_file(name, kind.name, first=index == 0)
            links += [", "] if links else []
            links.append(_file(file, f"{kind.prefix}SVG"))
    return el("p", f"{what}: ", links, class_="files") if about.links and links else None


def _file(name: str, words: str) -> Html:
    return el("a", words, href=f"figures/{name}.svg")
