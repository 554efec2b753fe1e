"""Explanations in the terminal: the median over heads, then a line per head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headscope.analyses.explanation.findings import ALL_UNIFORM, with_something
from headscope.analyses.explanation.said import says
from headscope.analyses.explanation.tables import CONTROL, COREFERENCE, CORPORA, TEXT, TRAINED, TREEBANK, WEIGHT
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.report_kit.numbers import HYPHEN, formatted, joined, percent, share
from headscope.report_kit.tables.cells import records
from headscope.report_kit.tables.terminal import Grid
from headscope.report_kit.words import count
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

IN_CORPUS: Mapping[str, str] = {
    TEXT: "",
    TREEBANK: "in the treebank, with its trees, ",
    COREFERENCE: "in the coreference corpus, with its mentions, ",
}
"""The beginning of a sentence on a corpus."""


def render_results(result: StageResult, *, find: str | None = None) -> Iterator[Grid | str]:
    """Yield the median of the explained shares, then the sentence of every head, the most explained first.

    Args:
        result: result of the stage.
        find: words; only heads whose sentence contains them are shown. None for all heads.
    """
    table = result.tables["explanation"]
    weights = table[table["measure"] == WEIGHT]
    for corpus in CORPORA:
        of_corpus = weights[weights["corpus"] == corpus]
        if not len(of_corpus):
            continue
        for kind, rows in of_corpus.groupby("kind", sort=False):
            yield median_words(str(kind), rows, corpus=corpus)
        trained = of_corpus[of_corpus["model"] == TRAINED]
        if find is not None:
            said = trained[trained["sentence"].fillna("").map(lambda sentence: says(sentence, find)).astype(bool)]
            yield f"{IN_CORPUS[corpus]}“{find}” is said of {len(said)} of {count(len(trained), 'head')}"
            trained = said
        if len(trained):
            yield _grid(trained.sort_values("explained", ascending=False, kind="stable"))
    yield (
        "explained: the share of the divergence from uniform attention (nats) that simple rules predict, on other "
        "documents than those to which they were fitted; in brackets what each rule adds; wrong: what the predictions "
        "of the layer's other heads explain (median)"
    )


def _grid(trained: pd.DataFrame) -> Grid:
    prefix = kind_prefixes(trained["kind"])
    lines = []
    for row in records(trained):
        name, *cells = head_cells(row, missing=HYPHEN)
        lines.append([prefix[row["kind"]] + name, *cells])
    titles = ("head", "explained", "95%", "nats", "wrong", "what it attends to")
    return Grid(titles, lines, words=titles[-1:])


def head_cells(row: Mapping[str, Any], *, missing: str) -> tuple[str, ...]:
    """Return a head's name, explained share, interval, nats, wrong share and sentence without the share it ends with.

    Args:
        row: row of the table of explanations.
        missing: replacement for a missing number.
    """
    return (
        head_label(int(row["layer"]), int(row["head"])),
        share(row["explained"], missing=missing),
        joined(row["ci_low"], row["ci_high"], missing=missing),
        formatted(row["to_explain"], ".2f", missing=missing),
        share(row["wrong"], missing=missing),
        "" if pd.isna(row["sentence"]) else row["sentence"].rpartition("; ")[0],
    )


def median_words(kind: str, rows: pd.DataFrame, *, corpus: str = TEXT) -> str:
    """Return a sentence on the explained share of the median head of a kind, and of the one with random weights.

    Args:
        kind: kind of attention.
        rows: rows of a corpus in the table of explanations.
        corpus: name of the corpus.
    """
    where = IN_CORPUS[corpus]
    trained, control = (rows[(rows["model"] == model) & rows["explained"].notna()] for model in (TRAINED, CONTROL))
    if trained.empty:
        return f"{where}no {kind} head is explained, which needs {FEWEST_DOCUMENTS} documents"
    if (uneven := with_something(trained)).empty:
        return f"{where}no {kind} head {ALL_UNIFORM}"
    beside = f"; with random weights {percent(control['explained'].median())}" if len(control) else ""
    return (
        f"{where}{percent(uneven['explained'].median())} of what the median {kind} head attends to is explained{beside}"
    )
