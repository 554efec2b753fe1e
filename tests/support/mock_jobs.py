"""Made-up jobs of heads: most heads have one, some three, and of some there are too few rows."""

from itertools import product

import numpy as np

from headscope.analyses.jobs.tables import EXAMPLES, JOBS, TAG_COLUMNS, TEXT, TOKENS, TREEBANK
from support.measured import with_parts
from support.stand_ins import table_of

WORDS = ("the", "cat", "sat", "on", "a", "mat", "and", "slept")
DESCRIPTIONS = ("looks back one token", "looks at an earlier copy, about 20 tokens back", "looks at a period or comma")


def jobs_of(layer, head):
    """How many jobs a head has."""
    return 0 if head == 2 else 3 if (layer + head) % 4 == 0 else 1


def with_jobs(inputs, *, words=WORDS, corpora=(TEXT,)):
    """Add the jobs of every head to a run, their telling tokens, and two rows of each."""
    rows, tokens, examples = [], [], []
    for corpus, entry in product(corpora, inputs.manifest["kinds"]):
        of_trees = corpus == TREEBANK
        heads = np.indices((entry["layers"], entry["heads"])).reshape(2, -1).T + 1
        for layer, head in heads.tolist():
            jobs = jobs_of(layer, head)
            for job, share in enumerate({1: (1.0,), 3: (0.7, 0.2, 0.1)}.get(jobs, ()), 1):
                place = {"corpus": corpus, "kind": entry["kind"], "layer": layer, "head": head, "job": job}
                told = {"share": share, "ci_low": 0.8 * share, "ci_high": min(1.2 * share, 1.0)}
                agreement = {"agreement": 0.9, "q_value": 0.001} if jobs > 1 else {"q_value": 1.0}
                said = {"description": DESCRIPTIONS[job - 1] + ", from nouns" * of_trees, "n_rows": 900, "active": 0.5}
                rows.append({**place, "jobs": jobs, **told, **agreement, **said})
                for side, token in (("row", words[job]), ("key", words[job - 1])):
                    telling = {"rank": 1, "token": token, "log_odds": 1.5, "z": 4.0, "n_rows": 30}
                    tokens.append({**place, "side": side, **telling})
                for rank in (1, 2):
                    row = {"document": "made-up", "segment": 0, "row": 20 + job, "key": 20 + job - rank}
                    seen = {"weight": 0.5, "start": 20, "tokens": list(words), "continues_word": []}
                    seen |= dict(zip(TAG_COLUMNS, ("NOUN" * of_trees, "")))
                    examples.append({**place, "rank": rank, **row, **seen, "key_token": words[max(0, job - rank)]})
    made = zip((JOBS, TOKENS, EXAMPLES), (rows, tokens, examples), strict=True)
    return with_parts(inputs, **{schema.name: table_of(schema, own) for schema, own in made})


def with_jobs_in_trees(inputs):
    """Add jobs in the text and in a treebank."""
    return with_jobs(inputs, corpora=(TEXT, TREEBANK))
