"""Figure 5: for each of the best heads two sentences where it is right and one where it is wrong, drawn in the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pandas as pd

from headscope.analyses.coref.results import Antecedents, antecedents_of
from headscope.analyses.for_report import arc_examples
from headscope.analyses.syntax.relations import Best, relations_of
from headscope.attention.head_id import head_label
from headscope.present.blocks import Row
from headscope.present.figures.arc_diagram import LONGEST_WORD, arc_diagram, arc_pages
from headscope.present.figures.arc_strokes import FAINT, MOST_TOKENS, ArcStrokes, arcs_of
from headscope.present.figures.style import label as shortened
from headscope.present.figures.style import narrow
from headscope.present.numbers import offset_words, share
from headscope.present.page import Page
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.present.words import COREFERENCE, DIRECTIONS, capital, count, join, plain, short, terms
from headscope.views.markup import Html, el
from headscope.visible import titled

WIDTH = 300
LEFT, RIGHT = 106, 194
STEP = 17
LEVELS = 16


def drawing(arcs: ArcStrokes, *, role: str, label_: str, rows: int = 0) -> Html:
    """Return the picture as `<svg>`.

    Special tokens, and lines to and from them, are in class `special`, so that one switch in the page can hide them.

    Args:
        arcs: result of `headscope.present.figures.arc_strokes.arcs_of`.
        role: `syntax` or `coreference`, for the color.
        label_: description of the picture for screen readers.
        rows: number of words that the height allows for, so that pictures side by side have the same height.
    """
    height = STEP * max(rows, len(arcs.tokens))
    # A dashed line is drawn where the darkest line should have been.
    missed = "".join(_line(*arc) for arc, wrong in zip(arcs.arcs, arcs.chosen) if wrong is not None)
    return el(
        "svg",
        _lines(arcs),
        el("path", d=missed, class_="missed") if missed else None,
        [_word(arcs, side, index) for side in ("query", "key") for index in range(len(arcs.tokens))],
        class_=f"arcs role-{role}",
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=label_,
    )


def _y(index: int) -> float:
    return STEP * index + STEP / 2


def _line(query: int, key: int) -> str:
    return f"M{LEFT} {_y(query):g}L{RIGHT} {_y(key):g}"


def _lines(arcs: ArcStrokes) -> list[Html]:
    """Group lines by strength, by darkness and by whether they touch a special token; the darkest are drawn last."""
    groups: dict[tuple[bool, int, bool], list[str]] = {}
    for stroke in arcs.strokes():
        level = max(1, round(LEVELS * min(stroke.weight, 1.0)))
        groups.setdefault((stroke.strong, level, stroke.special), []).append(_line(stroke.query, stroke.key))
    return [
        el(
            "path",
            d="".join(paths),
            class_=" ".join(["strong" if strong else "faint", *(["special"] if special else [])]),
            stroke_opacity=f"{level / LEVELS * (1 if strong else FAINT):.3g}",
        )
        for (strong, level, special), paths in sorted(groups.items())
    ]


def _word(arcs: ArcStrokes, side: str, index: int) -> Html:
    full_text = titled(arcs.tokens[index])
    drawn = shortened(arcs.tokens[index], LONGEST_WORD)
    is_query = side == "query"
    colored = index in (arcs.queries if side == "query" else arcs.keys)
    cross = el("tspan", " ✗" if side == "key" else "✗ ", class_="cross") if (side, index) in arcs.mistaken else None
    classes = [name for name, on in (("on", colored), ("special", index in arcs.special)) if on]
    return el(
        "text",
        [cross, drawn] if is_query else [drawn, cross],
        el("title", full_text) if full_text != drawn else None,
        x=LEFT - 7 if is_query else RIGHT + 7,
        y=f"{_y(index):g}",
        text_anchor="end" if is_query else None,
        class_=" ".join(classes) or None,
    )


FILE_WORDS, COLUMN_WORDS = 24, 16
"""Largest number of words of a sentence in the file, and in a paper's column, where three rows fit on a page."""
OPEN_RELATIONS = 8
"""Number of relations that are unfolded in the page, including coreference."""


@dataclass(frozen=True)
class Group:
    """The examples of one relation's best head, right ones first, and whether it is shown to beat its baselines."""

    relation: str
    rows: tuple[pd.Series, ...]
    beats: bool

    @property
    def first(self) -> pd.Series:
        """The first example, which has the head that all examples share."""
        return self.rows[0]


def groups_of(run: Study) -> list[Group]:
    """Return the relations with examples in the order of table 1, with coreference as the last unfolded one."""
    table = arc_examples(run)
    if table is None or table.empty:
        return []
    ordered = table.sort_values("outcome", key=lambda outcomes: outcomes.astype(str) != "right", kind="stable")
    by_name = {str(name): tuple(row for _, row in rows.iterrows()) for name, rows in ordered.groupby("relation")}
    relations = [relation for relation in relations_of(run) if not relation.overall]
    order = {relation.name: rank for rank, relation in enumerate(relations)}
    beaten = {relation.name for relation in relations if relation.held_out and relation.held_out.beats}
    names = sorted(by_name.keys() - {COREFERENCE}, key=lambda name: (order.get(name, len(order)), name))
    if COREFERENCE in by_name:
        names.insert(min(OPEN_RELATIONS - 1, len(names)), COREFERENCE)
    return [Group(name, by_name[name], beats=name == COREFERENCE or name in beaten) for name in names]


def figure_examples(run: Study) -> tuple[pd.DataFrame, dict[str, str]] | None:
    """Return the rows of figure 5 as a file, in order, with each relation's title; None if no examples were kept."""
    all_groups = groups_of(run)
    # If some heads are shown to find their relation, the figure leaves out those that are not.
    groups = ([group for group in all_groups if group.beats] or all_groups)[:OPEN_RELATIONS]
    if not groups:
        return None
    rows = pd.DataFrame([row for group in groups for row in group.rows])
    titles = {
        group.relation: f"Head {head_label(group.first['layer'], group.first['head'])} · {_title(group.relation)}"
        for group in groups
    }
    return rows, titles


def _draw(about: Context) -> Iterator[tuple[str, Drawing]]:
    """Yield figure 5, as wide as two columns of a paper; rows beyond one page continue in `figure-5-2`."""
    examples = figure_examples(about.run)
    if examples is None:
        return
    rows, titles = examples
    words = COLUMN_WORDS if narrow() else FILE_WORDS
    for page in arc_pages(rows, most=words):
        yield "", partial(arc_diagram, page, titles=titles, special=_special(about), most=words)


FIGURE = Figure(name="figure-5", tables=(), draw=_draw)


def hide_special(about: Context) -> Html | None:
    """Return the switch that hides special tokens, nothing if the examples have none; None without examples."""
    groups = groups_of(about.run)
    present = [name for name in _special(about) if any(name in list(group.first["tokens"]) for group in groups)]
    box = el("input", type="checkbox", id="hide-special")
    switch = el("p", el("label", box, f" Hide {join(present)}"), class_="switch") if present else Html()
    return switch if groups else None


def open_groups(about: Context) -> Html | None:
    """Draw the examples of the first relations."""
    drawn = _drawn_groups(about, slice(OPEN_RELATIONS))
    return el("div", drawn, class_="arc-groups") if drawn else None


def folded_groups(about: Context) -> Html | None:
    """Draw the examples of all other relations, folded."""
    drawn = _drawn_groups(about, slice(OPEN_RELATIONS, None))
    more = el("summary", f"{count(len(drawn), 'more relation')}")
    return el("details", more, el("div", drawn, class_="arc-groups")) if drawn else None


def _special(about: Context) -> tuple[str, str]:
    return about.words.cls, about.words.sep


def _title(relation: str) -> str:
    known = terms(relation)
    return short(relation) + (f", {known[0]}" if known else "")


def _drawn_groups(about: Context, part: slice) -> list[Html]:
    drawn = []
    for group in groups_of(about.run)[part]:
        examples = [(row, arcs_of(row, special=_special(about))) for row in group.rows]
        tall = min(max(len(arcs.tokens) for _, arcs in examples), MOST_TOKENS)
        figures = [_example(row, arcs, tall) for row, arcs in examples]
        label = f"Examples of {short(group.relation)}"
        row = el("div", figures, class_="arc-row", tabindex=0, role="group", aria_label=label)
        drawn.append(el("div", el("div", _heading(group, about), class_="arc-head"), row, class_="arc-group"))
    return drawn


def _heading(group: Group, about: Context) -> list[Html | None]:
    first, relation = group.first, group.relation
    head = (int(first["layer"]), int(first["head"]))
    if relation == COREFERENCE:
        description = "A mention attends to an earlier mention of its entity."
        facts = [*_antecedent_facts(head, antecedents_of(about.run))]
    else:
        dependent, head_word = terms(relation) or ("dependent", "head word")
        description = {
            "head->dependent": f"The {head_word} attends to its {dependent}.",
            "both": f"The {dependent} and its {head_word}: {DIRECTIONS['both']}.",
        }.get(str(first["direction"]), f"The {dependent} attends to its {head_word}.")
        held_out = {each.name: each.held_out for each in relations_of(about.run)}
        facts = [*_relation_facts(head, held_out.get(relation))]
    return [
        el("h3", short(relation)),
        el("p", "Head ", about.kind(str(first["kind"])).head_link(*head), class_="which"),
        el("p", description),
        el("ul", facts, class_="facts") if facts else None,
    ]


def _antecedent_facts(head: tuple[int, int], antecedents: Antecedents | None) -> Iterator[Html]:
    selected = antecedents and antecedents.held_out
    if antecedents and selected and "all" in selected.cells and (selected.layer, selected.head) == head:
        yield _fact(selected.cells["all"].value, "right antecedents")
        if "all" in (nearest := antecedents.systems.get("nearest", {})):
            yield _fact(nearest["all"].value, "nearest candidate")


def _relation_facts(head: tuple[int, int], best: Best | None) -> Iterator[Html]:
    if best and (best.layer, best.head) == head:
        yield _fact(best.accuracy.value, "right")
        yield _fact(best.baseline.value, f"best offset, {offset_words(best.offset)}")
        if not best.beats:
            yield el("li", "not shown to beat every fixed offset" if best.tested else "not tested")


def _fact(value: float, name: str) -> Html:
    return el("li", el("b", f"{share(value)}%"), f" {name}")


def _example(row: pd.Series, arcs: ArcStrokes, tall: int) -> Html:
    is_right = str(row["outcome"]) == "right"
    outcome, value = "Right" if is_right else "Wrong", share(float(row["value"]))
    where = f"words {arcs.first + 1}–{arcs.first + len(arcs.tokens)} of {arcs.total}"
    note = f" · {where}" if arcs.total > len(arcs.tokens) else ""
    title = el("figcaption", el("b", outcome, class_=None if is_right else "cross"), f" · {value}%{note}")
    pairs = [f"{plain(arcs.tokens[query])} to {plain(arcs.tokens[key])}" for query, key in arcs.arcs[:6]]
    label = f"{outcome}: {', '.join(pairs)}. Mean weight {value}%."
    return el("figure", title, drawing(arcs, role=str(row["role"]), label_=label, rows=tall))


def example_rows(about: Context) -> list[Row]:
    """Return the source of each example."""
    return [
        {
            "head": capital(about.kind(str(row["kind"])).head_name(row["layer"], row["head"])),
            "relation": short(group.relation),
            "outcome": plain(row["outcome"]),
            "value": float(row["value"]),
            "document": plain(row["document"])[:12],
            "segment": row["segment"],
        }
        for group in groups_of(about.run)
        for row in group.rows
    ]


PAGE = Page(__name__, lambda _: (), uses=(hide_special, open_groups, folded_groups, example_rows))
PARTS = PAGE.parts(group="syntax", figures=(FIGURE,), explained=("syntax_best", "coref"))
