"""Findings on jobs: which heads have several, in the text and in a treebank."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.jobs.clustering.clusters import FEWEST_ROWS
from headscope.analyses.jobs.job_corpora import CorpusJobs, corpus_jobs
from headscope.analyses.jobs.tables import TEXT, TREEBANK
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, continued, listed, numbered, sentence
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import records
from headscope.report_kit.words import count
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

TOPIC, TREE_TOPIC = "jobs", "jobs in the treebank"


def job_findings(about: Context) -> list[Sentence]:
    """Say which heads have several jobs, in text and treebank; nothing where the run measured no jobs."""
    findings: list[Sentence] = []
    for corpus, topic, where in ((TEXT, TOPIC, ""), (TREEBANK, TREE_TOPIC, " in the treebank")):
        jobs = corpus_jobs(about.run.tables.get, corpus)
        if jobs is not None:
            for kind in about.kinds:
                findings += kind.findings(_of_kind(jobs, kind, topic=topic, where=where))
    return findings


def _random_weights(jobs: CorpusJobs, kind: Kind) -> str:
    """Say how many heads have several jobs under random weights; nothing where unknown."""
    for row in records(jobs.counts):
        if row["kind"] == kind.name and row["model"] == "control" and row["tested"]:
            several = int(row["several"])
            has = "has" if several == 1 else "have"
            return f"; with random weights {several:,} of {int(row['tested']):,} {has} several jobs"
    return ""


def _of_kind(jobs: CorpusJobs, kind: Kind, *, topic: str, where: str) -> Iterator[Sentence]:
    """Yield the sentences on one kind of attention in one corpus."""
    first, of = jobs.jobs[(jobs.jobs["kind"] == kind.name) & (jobs.jobs["job"] == 1)], kind.of_kind
    if first.empty:
        none = f"no head{of} is active in {FEWEST_ROWS} rows{where}, so that no jobs were looked for."
        yield sentence(topic, none)
        return
    if first["q_value"].isna().all():
        why = f"which needs rows of at least {FEWEST_DOCUMENTS} documents"
        yield sentence(topic, f"whether heads{of} have several jobs{where} was not tested, {why}.")
        return
    many = first[first["jobs"] > 1].sort_values(["jobs", "layer", "head"], ascending=[False, True, True])
    if many.empty:
        yield sentence(topic, f"no head of {len(first):,}{of} is shown to have several jobs{where}.")
    else:
        heads = (numbered(kind.name, int(row["layer"]), int(row["head"])) for row in records(many))
        has = "has" if len(many) == 1 else "have"
        start = f"{len(many):,} of {count(len(first), 'head')}{of} {has} several jobs{where}: "
        yield sentence(topic, start, *listed(heads), ".")
    beside = _random_weights(jobs, kind)
    yield continued(topic, f"Heads{of} active in at least {FEWEST_ROWS} rows{where} are counted{beside}.")
