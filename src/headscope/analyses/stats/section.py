"""Sections of the report on statistics: each has figures, the findings that they support, and a folded table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headscope.analyses.stats.by_norm import UNKNOWN, norm_table
from headscope.analyses.stats.figures import EXAMPLE_PANELS, PANELS, example_rows
from headscope.attention.head_id import head_anchor, head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import linked, paper_figure
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.page_rows import Table, example_table, layer_table, role_table
from headscope.report_kit.words import Words, capital, plain
from headscope.statistics.measures import NORM, of_measure
from headscope.statistics.statistic import Topic
from headscope.statistics.statistic_catalog import STATISTICS, is_share, of_topic
from headscope.views.markup import Html, el

CAPTION = (
    "A point is a head, in its role’s color and shape, heads side by side in their layer; the line is the layer’s "
    "mean with its 95% interval as a band; dashed is what uniform attention would give. Click a point to open its card."
)


@dataclass(frozen=True)
class Plan:
    """A section: its id, title and purpose, the topics of its findings, and the number of the paper's figure."""

    name: Topic
    title: str
    why: str
    topics: tuple[str, ...]
    figure: int

    @property
    def statistics(self) -> tuple[str, ...]:
        """The names of the statistics that it shows."""
        return of_topic(self.name)


def plans(words: Words) -> tuple[Plan, ...]:
    """Return the sections that are drawn from layers and heads, in order."""
    return (
        Plan(
            "position", "Position",
            "Does a head look at the token before, after, or at itself?",
            ("position",), 2,
        ),
        Plan(
            "special", "Special tokens and punctuation",
            f"{capital(words.cls)}, {words.sep}, periods and commas are in nearly every input: they can be "
            "attention sinks.",
            ("special",), 2,
        ),
        Plan(
            "noop", f"Attention sinks: {words.sep} and {words.cls}",
            f"A {words.sep} that gathers the meaning of its segment attends to the segment; one that is an attention "
            "sink attends to itself.",
            ("noop",), 2,
        ),
        Plan(
            "focus", "Focused or broad",
            "A low entropy means few tokens; the dashed line is attention spread evenly over all that is visible.",
            ("focus",), 4,
        ),
    )  # fmt: skip


def stats_sections(about: Context) -> list[Section]:
    """Build a section for each plan whose statistics can occur, and that of roles; the first explains its panels."""
    sections: list[Section] = []
    for plan in plans(about.words):
        occurring = [kind for kind in about.kinds if any(kind.occurs(name) for name in plan.statistics)]
        if occurring:
            sections += _section(plan, about, occurring, explain=not sections)
    return [*sections, Section(name="roles", title="Roles and examples", html=roles_section(about))]


def _section(plan: Plan, about: Context, occurring: Sequence[Kind], *, explain: bool) -> list[Section]:
    words = about.words
    blocks: list[Html | None] = []
    for kind in occurring:
        absent = [
            words.statistics[name]
            for name in plan.statistics
            if not kind.occurs(name) and not STATISTICS[name].rare
        ]
        note = f"Left out because it cannot occur here: {', '.join(absent)}. " if absent else ""
        blocks += [*kind.heading(), *linked(about.findings_on(*plan.topics, kind=kind))]
        blocks.append(el("div", _panels(plan, about, kind), class_="panels"))
        caption = note + (CAPTION if explain and kind is occurring[0] else "")
        blocks.append(el("p", caption, class_="caption") if caption else None)
        table = layer_table(kind, plan.statistics, words, name=f"table-{plan.name}-{kind.name}")
        blocks.append(table.html() if table else None)
    files = paper_figure(about, plan.figure)
    return section(plan.name, plan.title, plan.why, blocks, files=files)


def _panels(plan: Plan, about: Context, kind: Kind) -> list[Html]:
    out = []
    for name in plan.statistics:
        title, what = (
            capital(about.words.statistics[name]),
            "share of attention" if is_share(name) else "nats",
        )
        label = f"{title}: {what} of each {kind.name} head, by layer; the table below holds the numbers."
        out += placed(about, PANELS[plan.name], label, ending=f"-{kind.name}-{name}")
    return out


def roles_section(about: Context) -> Html:
    """Show the clearest example of each role, as figure 1 of the paper does, and count the roles."""
    words = about.words
    records = example_rows(about)
    figures = []
    for index, row in enumerate(records):
        label = (
            f"Attention of {row['kind']} head {head_label(row['layer'], row['head'])} on an example sentence."
        )
        card = f"#{head_anchor(row['kind'], int(row['layer']), int(row['head']))}"
        figures += placed(about, EXAMPLE_PANELS, label, ending=f"-{index}", href=card)
    table: Table | None = None
    if records:
        table = example_table(
            [
                (about.kind(row["kind"]).head_name(row["layer"], row["head"]), str(row["behavior"]),
                 _number(row["value"]), int(row["segment"]), plain(row["document"])[:12])
                for row in records
            ],
            words,
        )  # fmt: skip
    written = norm_table(about.run, about.kinds, words)
    known = len(of_measure(about.run.tables["stats"], NORM)) > 0
    return el(
        "section",
        el("h2", "Roles, with an example of each"),
        el("p", "The strongest head of each role on the sentence where it shows most clearly.", class_="why"),
        linked(about.findings_on("roles")),
        el("div", figures, class_="panels examples") if figures else el("p", "This run kept no examples."),
        el("p", "On the left the tokens that attend, on the right those attended to; the darkness of a line is its "
           "weight. Click one to open its head’s card.", class_="caption"),
        None if known else el("p", UNKNOWN, class_="caption"),
        role_table(about.kinds, words).html(),
        written.html() if written else None,
        table.html() if table else None,
        paper_figure(about, 1) if records else None,
        id="section-roles",
    )  # fmt: skip


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float | np.floating) else float("nan")
