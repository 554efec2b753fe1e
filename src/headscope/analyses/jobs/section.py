"""The jobs of heads, in the page: which heads have several, and a table of all."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.jobs.clusters import FEWEST_ROWS
from headscope.analyses.jobs.telling import told_tokens
from headscope.reporting.kit.cells import records
from headscope.reporting.kit.claim_rules import WHERE
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.reporting.kit.links import linked
from headscope.reporting.kit.page_rows import Table
from headscope.reporting.kit.report_parts import Context, Section, section
from headscope.reporting.kit.words import capital, count
from headscope.views.markup import Html, el

TOPIC = "jobs"
TITLE = "One job or several"
WHY = (
    "A mean over all rows mixes what a head does here with what it does there. Here rows in which it is active are "
    "grouped by where it looks, at what, and what it writes."
)
CAPTION = (
    "A head is active in a row where more than half of its weight lies off the sink. Its jobs are the groups of such "
    "rows that come out again of half of them, lie apart, and have at least 5% of them each; a head without such "
    "groups has one job. In the atlas a card has rows of each job, with their words."
)


def job_findings(about: Context) -> list[Sentence]:
    """Say how many heads have several jobs, and which; none where the run looked for none."""
    table = about.run.table("jobs")
    if table is None:
        return []
    return [made for kind in about.kinds for made in _of_kind(table, kind, several=about.several)]


def _of_kind(table: pd.DataFrame, kind: Kind, *, several: bool) -> list[Sentence]:
    first = table[(table["kind"] == kind.name) & (table["job"] == 1)]
    of = f" of {WHERE[kind.name]}" if several else ""
    if first.empty:
        words = f"no head{of} is active in {FEWEST_ROWS} rows, so that no jobs were looked for."
        return [Sentence(TOPIC, (capital(words),), kind.name)]
    many = first[first["jobs"] > 1].sort_values(["jobs", "layer", "head"], ascending=[False, True, True])
    of_all = f"of {count(len(first), 'head')}{of} active in at least {FEWEST_ROWS} rows"
    if many.empty:
        words = f"{of_all}, none is shown to have more than one job."
        return [Sentence(TOPIC, (capital(words),), kind.name)]
    heads = [numbered(kind.name, int(row["layer"]), int(row["head"])) for row in records(many)]
    has = "has" if len(many) == 1 else "have"
    made = sentence(TOPIC, f"{of_all}, {len(many):,} {has} several jobs: ", *listed(heads), ".")
    return [Sentence(made.topic, made.parts, kind.name)]


def job_section(about: Context) -> list[Section]:
    """Build the section; none where no head of the run has a job."""
    table = about.run.table("jobs")
    if table is None or table.empty:
        return []
    parts: list[Html | None] = []
    for kind in about.kinds:
        if about.several:
            parts.append(el("h3", capital(kind.name)))
        parts += linked([one for one in about.found if one.topic == TOPIC and one.kind in ("", kind.name)])
        own = table[table["kind"] == kind.name]
        if len(own):
            parts.append(job_table(own, about.run.table("job_tokens"), kind, several=about.several).html())
    return section("jobs", TITLE, WHY, parts, captions=(CAPTION,))


def job_table(jobs: pd.DataFrame, tokens: pd.DataFrame | None, kind: Kind, *, several: bool) -> Table:
    """Tabulate every job of a kind: its share with the interval, what it is, the tokens that tell it."""
    told = {} if tokens is None else told_tokens(tokens)
    rows = []
    for row in records(jobs.sort_values(["layer", "head", "job"])):
        place = (kind.name, int(row["layer"]), int(row["head"]), int(row["job"]))
        low, high = 100 * row["ci_low"], 100 * row["ci_high"]
        rows.append(
            (
                f"{place[1]}-{place[2]}",
                f"{place[3]} of {int(row['jobs'])}",
                f"{100 * row['share']:.1f}",
                "–" if low != low else f"{low:.1f} to {high:.1f}",
                capital(str(row["says"])),
                *(" ".join(told.get((*place, side), ())) or "–" for side in ("row", "key")),
            )
        )
    whose = f" ({kind.name})" if several else ""
    return Table(
        summary=f"Table: the jobs of every head{whose}",
        groups=(),
        header=("head", "job", "share of rows, %", "95% interval", "what it does", "from", "at"),
        rows=tuple(rows),
        name=f"table-jobs-{kind.name}",
        words=(0, 4, 5, 6),
    )
