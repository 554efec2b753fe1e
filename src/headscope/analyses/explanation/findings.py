"""What explanations say of a model in one finding, and of each head in one sentence."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.explanation.tables import CONTROL, TEXT, TRAINED, WEIGHT
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import records
from headscope.report_kit.words import count
from headscope.study.study import Study

TOPIC = "explanation"


def explanation_findings(about: Context) -> list[Sentence]:
    """Say of each kind of attention what is explained of its median head; nothing without intervals."""
    findings: list[Sentence] = []
    for kind in about.kinds:
        rows = of_weight(about.run, kind)
        trained = rows[(rows["model"] == TRAINED) & rows["explained"].notna()]
        if len(trained):
            control = rows[rows["model"] == CONTROL]["explained"].dropna()
            findings += kind.findings(_of_kind(kind, trained, control))
    return findings


def of_weight(run: Study, kind: Kind, corpus: str = TEXT) -> pd.DataFrame:
    """Return the explanations of attention weights of a kind in a corpus; no row where the run has none."""
    table = run.tables.get("explanation")
    if table is None:
        return pd.DataFrame({"model": [], "explained": [], "sentence": []})
    return table[(table["corpus"] == corpus) & (table["measure"] == WEIGHT) & (table["kind"] == kind.name)]


def _of_kind(kind: Kind, trained: pd.DataFrame, control: pd.Series) -> list[Sentence]:
    beside = f" (random weights: {percent(control.median())})" if len(control) else ""
    least = trained.nsmallest(MOST_LISTED, "explained")
    heads = [numbered(kind.name, int(row["layer"]), int(row["head"])) for row in records(least)]
    return [
        sentence(
            TOPIC,
            f"features with names explain {percent(trained['explained'].median())} of the attention of the median "
            f"head{kind.of_kind}{beside}.",
            figure=kind.shaded(
                {(int(row["layer"]), int(row["head"])): float(row["explained"]) for row in records(trained)}
            ),
        ),
        sentence(
            TOPIC,
            f"The share is of text that fitted nothing, over {count(len(trained), kind.noun)}; least explained: ",
            *listed(heads),
            ".",
            goes_on=True,
        ),
    ]


def head_sentences(run: Study, kind: Kind, corpus: str = TEXT) -> dict[int, str]:
    """Return the sentence that explains each head of a kind in a corpus, by the head's index."""
    rows = of_weight(run, kind, corpus)
    return {
        kind.head_index(row["layer"], row["head"]): str(row["sentence"])
        for row in records(rows[(rows["model"] == TRAINED) & rows["sentence"].notna()])
    }
