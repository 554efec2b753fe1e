"""An example of figure 5 as a small picture of the page: lines of like darkness in one path, words as text."""

from __future__ import annotations

from headscope.figures.arc_diagram import LONGEST_WORD
from headscope.figures.arc_strokes import FAINT, ArcStrokes
from headscope.figures.labels import label
from headscope.views.markup import Html, el
from headscope.visible import titled

WIDTH = 300
LEFT, RIGHT = 106, 194
STEP = 17
LEVELS = 16


def drawing(arcs: ArcStrokes, *, role: str, label_: str, rows: int | None = None) -> Html:
    """Return the picture as `<svg>`.

    Lines to and from special tokens, and those tokens, are in class `special`, so that one switch of the page can
    hide them.

    Args:
        arcs: from `headscope.figures.arc_strokes.arcs_of`.
        role: `syntax` or `coreference`, for the color.
        label_: what it shows, for those who do not see it.
        rows: how many words there is room for, so that pictures side by side are of one height.
    """
    height = STEP * max(rows or 0, len(arcs.tokens))
    return el(
        "svg",
        _lines(arcs),
        _missed(arcs),
        [_word(arcs, "query", place) for place in range(len(arcs.tokens))],
        [_word(arcs, "key", place) for place in range(len(arcs.tokens))],
        class_=f"arcs role-{role}",
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=label_,
    )


def _y(place: int) -> float:
    return STEP * place + STEP / 2


def _lines(arcs: ArcStrokes) -> list[Html]:
    """Gather lines by strength, darkness and whether they touch a special token; the darkest are drawn last."""
    groups: dict[tuple[bool, int, bool], list[str]] = {}
    for one in arcs.strokes():
        level = max(1, round(LEVELS * min(one.weight, 1.0)))
        path = f"M{LEFT} {_y(one.query):g}L{RIGHT} {_y(one.key):g}"
        groups.setdefault((one.strong, level, one.special), []).append(path)
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
    """Dash the line that should have been the darkest."""
    paths = [
        f"M{LEFT} {_y(query):g}L{RIGHT} {_y(key):g}"
        for (query, key), wrong in zip(arcs.arcs, arcs.chosen)
        if wrong is not None
    ]
    return el("path", d="".join(paths), class_="missed") if paths else None


def _word(arcs: ArcStrokes, side: str, place: int) -> Html:
    token = arcs.tokens[place]
    drawn = label(token, LONGEST_WORD)
    whole = titled(token)
    wrong = (side, place) in arcs.mistaken
    colored = place in (arcs.queries if side == "query" else arcs.keys)
    cross = el("tspan", " ✗" if side == "key" else "✗ ", class_="cross") if wrong else None
    classes = [name for name, on in (("on", colored), ("special", place in arcs.special)) if on]
    words = [cross, drawn] if side == "query" else [drawn, cross]
    return el(
        "text",
        words,
        el("title", whole) if whole != drawn else None,
        x=LEFT - 7 if side == "query" else RIGHT + 7,
        y=f"{_y(place):g}",
        text_anchor="end" if side == "query" else None,
        class_=" ".join(classes) or None,
    )
