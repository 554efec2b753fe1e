"""The tables of jobs, in the text and in a treebank."""

from headscope.analyses.jobs.head_jobs import SIDES
from headscope.statistics.tables.columns import (
    FEW,
    FROM_ONE,
    KIND,
    PLACE,
    SHARE,
    count,
    excerpt,
    number,
    share,
    shares,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

TEXT, TREEBANK = CORPORA = ("text", "treebank")
TAG_COLUMNS = ("row_tag", "key_tag")
_CORPUS = text("corpus", "which the rows are of: the text, or a treebank, whose parts of speech tell jobs apart, too",
               choices=CORPORA)  # fmt: skip
_JOB = Column("job", "which of the head's jobs, from 1, the one with most rows first", "int64", bounds=FROM_ONE)
_RANK = Column("rank", "which of the job's, from 1", "int64", bounds=FROM_ONE)

JOBS = TableSchema(
    name="jobs",
    meaning="What each head does in the rows in which its non-sink attention is above 50%: one thing, or "
    "several that come out again of half of the documents, with a valley between any two. Heads with fewer than 100 "
    "such rows are left out.",
    columns=(
        _CORPUS,
        *PLACE,
        _JOB,
        Column("jobs", "how many the head has", "int64", bounds=FROM_ONE),
        *shares("share", "of the head's active rows that are grouped with the job, which is not how often the head "
                "does it where rows of two jobs look alike"),
        text("description", "what is done there, in words"),
        Column("agreement", "adjusted Rand index of the jobs that halves of the documents give, on all rows",
               missing="the head has one job", bounds=(-1.0, 1.0)),
        Column("q_value", "that there is no valley between some two jobs, over the heads of the kind "
               "(Benjamini-Hochberg); several jobs where it is below 0.05", missing=FEW, bounds=SHARE),
        count("n_rows", "active rows of the head that were read"),
        share("active", "of all rows in which the head is active"),
    ),
    key=("corpus", "kind", "layer", "head", "job"),
)  # fmt: skip

TOKENS = TableSchema(
    name="job_tokens",
    meaning="Tokens that stand in a job's rows more often than in the head's others, or, where the head has one job, "
    "than in those of all other heads: log-odds with an informative Dirichlet prior (Monroe et al. 2008), z above 3.",
    columns=(
        _CORPUS,
        *PLACE,
        _JOB,
        text("side", "whose token it is: the row's own, or that of its strongest non-sink key", choices=SIDES),
        _RANK,
        text("token", "readable token"),
        number("log_odds", "in the job's rows, less those in the others", unit="nats"),
        number("z", "log_odds by its standard error", unit="standard errors"),
        count("n_rows", "rows of the job", meaning="in how many it stands"),
    ),
    key=("corpus", "kind", "layer", "head", "job", "side", "rank"),
)

EXAMPLES = TableSchema(
    name="job_examples",
    meaning="Rows of each job, up to three drawn by a hash, with the tokens around them and what the head looked at "
    "most among non-sink keys.",
    columns=(
        _CORPUS,
        *PLACE,
        _JOB,
        _RANK,
        *excerpt("non-sink token"),
        *(
            text(name, f"universal part of speech of the word of {token}; empty in the text, and where it has none")
            for name, token in zip(TAG_COLUMNS, ("the row", "its strongest non-sink key"), strict=True)
        ),
    ),
    key=("corpus", "kind", "layer", "head", "job", "rank"),
)  # fmt: skip


COUNTS = TableSchema(
    name="job_counts",
    meaning="How many heads have several jobs, of the model and, in the text, of one with random weights.",
    columns=(
        _CORPUS,
        KIND,
        text("model", "whose heads", choices=("trained", "control")),
        count("heads", "heads", meaning="with at least 100 active rows"),
        count("tested", "heads", meaning="of these, with rows of at least 10 documents"),
        count("several", "heads", meaning="of these, with several jobs"),
        count("n_rows", "active rows", meaning="that were read, of all heads"),
    ),
    key=("corpus", "kind", "model"),
)

TABLES = (JOBS, TOKENS, EXAMPLES, COUNTS)
