"""An example of figure 5 as a small picture in the page: lines of equal darkness in one path, words as text."""

from __future__ import annotations

from headscope.figures.arc_diagram import LONGEST_WORD
from headscope.figures.arc_strokes import FAINT, ArcStrokes
from headscope.figures.style import label
from headscope.views.markup import Html, el
from headscope.visible import titled

WIDTH = 300
LEFT, RIGHT = 106, 194
STEP = 17
LEVELS = 16


def drawing(arcs: ArcStrokes, *, role: str, label_: str, rows: int | None = None) -> Html:
    """Return the picture as `<svg>`.

    Special tokens, and lines to and from them, are in class `special`, so that one switch in the page can hide them.

    Args:
        arcs: result of `headscope.figures.arc_strokes.arcs_of`.
        role: `syntax` or `coreference`, for the color.
        label_: description of the picture for screen readers.
        rows: number of words that the height allows for, so that pictures side by side have the same height.
    """
    height = STEP * max(rows or 0, len(arcs.tokens))
    return el(
        "svg",
        _lines(arcs),
        _missed(arcs),
        [_word(arcs, "query", index) for index in range(len(arcs.tokens))],
        [_word(arcs, "key", index) for index in range(len(arcs.tokens))],
        class_=f"arcs role-{role}",
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=label_,
    )


def _y(index: int) -> float:
    return STEP * index + STEP / 2


def _lines(arcs: ArcStrokes) -> list[Html]:
    """Group lines by strength, by darkness and by whether they touch a special token; the darkest are drawn last."""
    groups: dict[tuple[bool, int, bool], list[str]] = {}
    for stroke in arcs.strokes():
        level = max(1, round(LEVELS * min(stroke.weight, 1.0)))
        path = f"M{LEFT} {_y(stroke.query):g}L{RIGHT} {_y(stroke.key):g}"
        groups.setdefault((stroke.strong, level, stroke.special), []).append(path)
    return [
        el(
            "path",
            d="".join(paths),
            class_=" ".join(["strong" if strong else "faint", *(["special"] if special else [])]),
            stroke_opacity=f"{level / LEVELS * (1 if strong else FAINT):.3g}",
        )
        for (strong, level, special), paths in sorted(groups.items())
    ]


def _missed(arcs: ArcStrokes) -> Html | None:
    """Draw a dashed line where the darkest line should have been."""
    paths = [
        f"M{LEFT} {_y(query):g}L{RIGHT} {_y(key):g}"
        for (query, key), wrong in zip(arcs.arcs, arcs.chosen)
        if wrong is not None
    ]
    return el("path", d="".join(paths), class_="missed") if paths else None


def _word(arcs: ArcStrokes, side: str, index: int) -> Html:
    token = arcs.tokens[index]
    drawn = label(token, LONGEST_WORD)
    full_text = titled(token)
    wrong = (side, index) in arcs.mistaken
    colored = index in (arcs.queries if side == "query" else arcs.keys)
    cross = el("tspan", " ✗" if side == "key" else "✗ ", class_="cross") if wrong else None
    classes = [name for name, on in (("on", colored), ("special", index in arcs.special)) if on]
    words = [cross, drawn] if side == "query" else [drawn, cross]
    return el(
        "text",
        words,
        el("title", full_text) if full_text != drawn else None,
        x=LEFT - 7 if side == "query" else RIGHT + 7,
        y=f"{_y(index):g}",
        text_anchor="end" if side == "query" else None,
        class_=" ".join(classes) or None,
    )
