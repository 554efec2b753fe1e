"""Made-up runs that together reach every branch of the templates, by analysis."""

import numpy as np

from support import mock_inputs
from support.measured import with_parts
from support.mock_norms import with_norms
from support.mock_syntax import with_treebank

SYNTAX_TABLES = ("syntax", "syntax_best", "syntax_baselines", "syntax_by_distance", "syntax_noop")


def changed(table, *, where="", **columns):
    """A run with a treebank of which some columns of a table are changed, in the rows of a query."""
    run = mock_inputs.section_4(2, 3)
    rows = run.tables[table].copy()
    chosen = rows.query(where).index if where else rows.index
    for name, value in columns.items():
        rows.loc[chosen, name] = value(rows.loc[chosen]) if callable(value) else value
    return with_parts(run, **{table: rows})


def opposite_noop(**columns):
    """A run in which the words that attend give special tokens more than others do."""
    turned = {"difference": lambda row: 0.2, "ci_low": lambda row: 0.19, "ci_high": lambda row: 0.21}
    return changed("syntax_noop", **turned, **columns)


def without_intervals():
    run = mock_inputs.section_4(2, 3)
    best = run.tables["syntax_best"].copy()
    best[[name for name in best if "ci_" in name]] = np.nan
    return with_parts(run, syntax_best=best)


def with_manifest(**treebank):
    run = mock_inputs.section_4(2, 3)
    return with_parts(run, manifest={**run.manifest, "treebank": {**run.manifest["treebank"], **treebank}})


def only_baseline(name):
    """A run with one of the two branching baselines."""
    run = mock_inputs.section_4(2, 3)
    rows = run.tables["syntax_baselines"]
    return with_parts(run, syntax_baselines=rows[rows["baseline"].isin(["offset", name])])


def one_relation(**values):
    """A run with a single relation."""
    run = changed("syntax_best", **values)
    return with_parts(run, **{name: run.tables[name].query("relation == 'obj'") for name in SYNTAX_TABLES})


def empty():
    run = mock_inputs.section_4(2, 3)
    return with_parts(run, **{name: run.tables[name].iloc[:0] for name in SYNTAX_TABLES})


RUNS = {
    "norms": [
        lambda: with_norms(mock_inputs.encoder(6, 12)),
        lambda: with_norms(mock_inputs.encoder(6, 12), resting=0.24),
        lambda: with_norms(mock_inputs.encoder(6, 12), resting=0.9),
        lambda: with_norms(mock_inputs.encoder(2, 2), intervals=False),
        lambda: with_norms(mock_inputs.encoder(6, 1), resting=0.1),
        lambda: with_norms(mock_inputs.t5()),
    ],
    "syntax": [
        lambda: mock_inputs.section_4(6, 12),
        lambda: changed("syntax_best", q_value=np.nan),
        lambda: changed("syntax_best", q_value=0.5),
        lambda: changed("syntax_best", q_value=0.001),
        lambda: changed("syntax_best", where="relation in ['acl', 'obj']", q_value=np.nan),
        lambda: with_parts(
            mock_inputs.section_4(2, 3),
            syntax_best=mock_inputs.section_4(2, 3).tables["syntax_best"].query("selection == 'same-data'"),
        ),
        lambda: changed("syntax_noop", ci_low=np.nan, ci_high=np.nan),
        lambda: changed("syntax_noop", where="relation == 'obj'", ci_low=np.nan, ci_high=np.nan),
        lambda: changed("syntax_noop", direction="dependent->head"),
        opposite_noop,
        lambda: opposite_noop(direction="head->dependent"),
        without_intervals,
        empty,
        one_relation,
        lambda: one_relation(q_value=np.nan),
        lambda: only_baseline("right-branching"),
        lambda: only_baseline("left-branching"),
        lambda: with_treebank(mock_inputs.encoder(2, 3), shuffled=True),
        lambda: with_manifest(
            special_changes={"accuracies": 3, "of": 40, "largest": 0.02}, words_merged=2, words_shared=1, folded=False
        ),
        lambda: with_manifest(special_changes={"accuracies": 0, "of": 40, "largest": None}, special_kept=True),
    ],
}
