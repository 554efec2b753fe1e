"""Sections of the report on statistics: each has figures, the findings they support, and a folded table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from headscope.analyses.stats.by_norm import UNKNOWN, norm_table
from headscope.analyses.stats.figures import EXAMPLE_PANELS, PANELS, example_rows
from headscope.attention.head_id import head_anchor, head_label
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import linked, paper_figure
from headscope.report_kit.numbers import DASH, table_number
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.cells import number
from headscope.report_kit.tables.page_rows import Table, layer_table, role_table, unit
from headscope.report_kit.words import capital, count, plain
from headscope.statistics.measures import NORM, of_measure
from headscope.statistics.role_catalog import ROLES
from headscope.statistics.statistic import Topic
from headscope.statistics.statistic_catalog import STATISTICS, is_share, of_topic
from headscope.views.markup import Html, el

CAPTION = (
    "A point is a head, in its role’s color and shape, heads side by side in their layer; a larger point with an edge "
    "has the color and shape of what the head finds. The line is the layer’s mean with its 95% interval as a band; "
    "dashed is what uniform attention would give. Click a point to open its card."
)


def stats_sections(about: Context) -> list[Section]:
    """Build a section for each topic whose statistics can occur, and the section on roles."""
    words = about.words
    sinks = (
        f"{capital(words.cls)}, {words.sep}, periods and commas are in nearly every input: they can be attention sinks."
    )
    return [
        *_section(about, "position", "Position", "Does a head look at the token before, after, or at itself?"),
        *_section(about, "special", "Special tokens and punctuation", sinks),
        *_section(
            about,
            "noop",
            f"Attention sinks: {words.sep} and {words.cls}",
            f"A {words.sep} that gathers the meaning of its segment attends to the segment; one that is an attention "
            "sink attends to itself.",
        ),
        *_section(
            about,
            "focus",
            "Focused or broad",
            "A low entropy means few tokens; the dashed line is attention spread evenly over all that is visible.",
            figure=4,
        ),
        Section(name="roles", title="Roles and examples", html=roles_section(about)),
    ]


def _section(about: Context, topic: Topic, title: str, why: str, *, figure: int = 2) -> list[Section]:
    """Build the section of a topic; `figure` is the number of the paper's figure."""
    return section(topic, title, why, _blocks(about, topic, figure))


def _blocks(about: Context, topic: Topic, figure: int) -> Iterator[Html]:
    words, statistics = about.words, of_topic(topic)
    occurring = [kind for kind in about.kinds if any(map(kind.occurs, statistics))]
    for kind in occurring:
        absent = [words.statistics[name] for name in statistics if not kind.occurs(name) and not STATISTICS[name].rare]
        note = f"Left out because it cannot occur here: {', '.join(absent)}." if absent else ""
        file = paper_figure(about, figure) if kind is occurring[0] else None
        yield from (*kind.heading(), *linked(about.findings_on(topic, kind=kind)))
        panels = el("div", _panels(about, topic, kind), class_="panels")
        yield captioned(panels, caption(CAPTION), caption(note), file)
        if table := layer_table(kind, statistics, words, name=f"table-{topic}-{kind.name}"):
            yield table.html()


def _panels(about: Context, topic: Topic, kind: Kind) -> Iterator[Html]:
    for name in of_topic(topic):
        what = "share of attention" if is_share(name) else "nats"
        label = f"{capital(about.words.statistics[name])}: {what} of each {kind.name} head, by layer; the table below"
        yield from placed(about, PANELS[topic], f"{label} holds the numbers.", ending=f"-{kind.name}-{name}")


def roles_section(about: Context) -> Html:
    """Show the clearest example of each role, as figure 1 of the paper does, and count the roles."""
    words = about.words
    records = example_rows(about)
    figures = []
    for index, row in enumerate(records):
        label = f"Attention of {row['kind']} head {head_label(row['layer'], row['head'])} on an example sentence."
        card = f"#{head_anchor(row['kind'], int(row['layer']), int(row['head']))}"
        figures += placed(about, EXAMPLE_PANELS, label, ending=f"-{index}", href=card)
    table = _example_table(about, records).html() if records else None
    written = norm_table(about.run, about.kinds, words)
    known = len(of_measure(about.run.tables["stats"], NORM)) > 0
    return el(
        "section",
        el("h2", "Roles, with an example of each"),
        el("p", "The strongest head of each role on the sentence where it shows most clearly.", class_="why"),
        captioned(
            linked(about.findings_on("roles")),
            caption("On the left the tokens that attend, on the right those attended to; the darkness of a line is its "
                    "weight. Click one to open its head’s card.") if figures else None,
            None if known else caption(UNKNOWN),
            paper_figure(about, 1) if records else None,
        ),
        el("div", figures, class_="panels examples") if figures else el("p", "This run kept no examples."),
        role_table(about.kinds, words).html(),
        written.html() if written else None,
        table,
        id="section-roles",
    )  # fmt: skip


def _example_table(about: Context, examples: Sequence[pd.Series]) -> Table:
    rows = []
    for row in examples:
        behavior = str(row["behavior"])
        statistic = ROLES[behavior].example if behavior in ROLES else behavior
        value = table_number(number(row["value"]), statistic)
        rows.append(
            (
                capital(about.kind(row["kind"]).head_name(row["layer"], row["head"])),
                capital(about.words.roles.get(behavior, behavior)),
                f"{value} {unit(statistic)}" if value != DASH else value,
                plain(row["document"])[:12],
                str(int(row["segment"])),
            )
        )
    return Table(
        summary=f"Table: {count(len(rows), 'example')} and where they come from",
        header=("head", "role", "value here", "document", "segment"),
        rows=tuple(rows),
        name="table-examples",
        words=(1, 3),
    )
