"""What jobs add to the report and the atlas."""

from headscope.analyses.jobs.clustering.clusters import FEWEST_ROWS
from headscope.analyses.jobs.findings import job_findings
from headscope.analyses.jobs.on_cards import job_cards
from headscope.analyses.jobs.section import job_section
from headscope.report_kit.report_parts import Parts

TERMS = (
    ("Active row", "a row of a head with more than half of its weight off the first token (cls, bos), separators and "
     "a learned sink; special tokens are no rows"),
    ("Job", f"a group of a head’s active rows, of a sample of at most 2,048 drawn by hashes, at least {FEWEST_ROWS}: "
     "k-means on standardized features of the strongest non-sink key (how far away, on which side, the same "
     "token, after an earlier copy, punctuation, in a treebank its part of speech; no feature that chance gives as "
     "well) and of what the row writes (8 "
     "principal directions), with the most groups, six at most, that halves of the documents agree on (adjusted Rand "
     "index above 0.75), of which none has less than 5% of the rows, and any two lie four standard deviations apart "
     "with a valley between them, tested on documents that did not choose it (5% false discoveries over the heads)"),
    ("Tells a job", "a token that stands in its rows more often than in the head’s others, or in those of all other "
     "heads where it has one job: log-odds with an informative Dirichlet prior, z above 3"),
)  # fmt: skip

PARTS = Parts(
    group="what",
    findings=job_findings,
    sections=job_section,
    terms=TERMS,
    explained=("jobs",),
    cards=job_cards,
    needed={"jobs": ("jobs", "run headscope report again")},
)
