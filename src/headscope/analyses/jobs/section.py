"""Jobs in the report: which heads have several, and a table of all."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.jobs.findings import TOPIC, TREE_TOPIC
from headscope.analyses.jobs.job_corpora import CorpusJobs, corpus_jobs
from headscope.analyses.jobs.tables import TEXT, TREEBANK
from headscope.attention.head_id import head_label
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import linked
from headscope.report_kit.numbers import DASH, joined, share
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.cells import records
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import capital
from headscope.views.markup import Html, el

TITLE = "Heads with several jobs"
WHY = (
    "A mean over all rows mixes what a head does here with what it does there. Here rows in which it is active are "
    "grouped by where it looks, at what, and what it writes."
)
CAPTION = (
    "A head is active in a row where its non-sink attention is above 50%. Its jobs are the groups of such "
    "rows that come out again of half of the documents, have at least 5% of the rows each, and have a valley between "
    "any two, where rows are at most half as dense (false discovery rate 5% over the heads); a head without such "
    "groups has one job. A share is that of the rows in a group, and so is its interval: rows that two jobs have in "
    "common are in one of the groups. In the atlas a card has rows of each job, with their words."
)
IN_TREES = "In the treebank, by part of speech too"


def job_section(about: Context) -> list[Section]:
    """Build the section; none where no head of the run has a job."""
    blocks, of_trees = ([*_corpus_blocks(about, *each)] for each in ((TEXT, TOPIC), (TREEBANK, TREE_TOPIC)))
    heading = [el("h3", IN_TREES)] if of_trees else []
    every = [*blocks, *heading, *of_trees]
    return section("jobs", TITLE, WHY, [captioned(every, caption(CAPTION))] if every else [])


def _corpus_blocks(about: Context, corpus: str, topic: str) -> Iterator[Html | None]:
    """Yield the findings and the table of jobs in one corpus; nothing where no head has one."""
    jobs = corpus_jobs(about.run.tables.get, corpus)
    if jobs is None or jobs.jobs.empty:
        return
    for kind in about.kinds:
        yield from [*kind.heading(), *linked(about.findings_on(topic, kind=kind))]
        if (jobs.jobs["kind"] == kind.name).any():
            yield job_table(jobs, kind, in_treebank=corpus == TREEBANK).html()


def job_table(jobs: CorpusJobs, kind: Kind, *, in_treebank: bool) -> Table:
    """Tabulate every job of a kind: its share with the interval, its description and distinctive tokens.

    Args:
        jobs: of one corpus.
        kind: of attention.
        in_treebank: whether that is the treebank.
    """
    jobs_of_kind = jobs.jobs[jobs.jobs["kind"] == kind.name]
    ordered = records(jobs_of_kind.sort_values(["layer", "head", "job"]))
    rows = tuple(
        (
            head_label(row["layer"], row["head"]),
            f"{row['job']} of {row['jobs']}",
            share(row["share"]),
            joined(row["ci_low"], row["ci_high"], between=" to ", missing=DASH),
            capital(str(row["description"])),
            *(" ".join(tokens) or "–" for tokens in jobs.tokens_of(row)),
        )
        for row in ordered
    )
    return Table(
        summary=f"Table: the jobs of every head{' in the treebank' * in_treebank}{kind.in_brackets}",
        header=("head", "job", "share of rows, %", "95% interval", "what it does", "from", "at"),
        rows=rows,
        name=f"table-jobs{'-treebank' * in_treebank}-{kind.name}",
        words=(0, 4, 5, 6),
        matters=tuple(float(row["jobs"]) for row in ordered),
        first="the most jobs first",
    )
