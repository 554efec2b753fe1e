"""Findings on the explanation of a model's heads, and one sentence for each head."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from headscope.analyses.explanation.looks import head_looks
from headscope.analyses.explanation.tables import CONTROL, TEXT, TRAINED, WEIGHT
from headscope.report_kit.claim_rules import leading, turned
from headscope.report_kit.head_looks import UNEXPLAINED, HeadLook
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, continued, listed, numbered, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import cell_of, records
from headscope.report_kit.words import count
from headscope.statistics.inference.worth_saying import LEAST_DIVERGENCE, LEAST_SHARE
from headscope.study.study import Study

TOPIC = "explanation"
ALL_UNIFORM = (
    f"differs from uniform attention by {LEAST_DIVERGENCE:g} nats or more, so that there is nothing to explain"
)
"""The end of a finding `no head ...` on a model whose heads have nothing to explain."""


def explanation_findings(about: Context) -> list[Sentence]:
    """Return findings on the explained share of the median head of each kind of attention; none without intervals."""
    findings: list[Sentence] = []
    for kind in about.kinds:
        rows = of_weight(about.run, kind)
        trained = rows[(rows["model"] == TRAINED) & rows["explained"].notna()]
        if len(trained):
            control = rows[rows["model"] == CONTROL]["explained"].dropna()
            findings += kind.findings(_of_kind(kind, trained, control, head_looks(about.run, kind)))
    return findings


def of_weight(run: Study, kind: Kind, corpus: str = TEXT) -> pd.DataFrame:
    """Return the explanations of a kind's attention weights in a corpus; an empty table if the run has none."""
    table = run.tables.get("explanation")
    if table is None:
        return pd.DataFrame({"model": [], "explained": [], "sentence": []})
    return table[(table["corpus"] == corpus) & (table["measure"] == WEIGHT) & (table["kind"] == kind.name)]


def with_something(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the explanations of heads whose attention differs enough from uniform attention to be explained.

    Args:
        rows: rows of the table of explanations.
    """
    return rows[rows["to_explain"] >= LEAST_DIVERGENCE]


def _of_kind(kind: Kind, trained: pd.DataFrame, control: pd.Series, looks: Mapping[int, HeadLook]) -> list[Sentence]:
    uneven = with_something(trained).sort_values("explained", kind="stable")
    even = len(trained) - len(uneven)
    if uneven.empty:
        return [sentence(TOPIC, f"no {kind.noun} {ALL_UNIFORM}.")]
    beside = f"; {percent(control.median())} with random weights" if len(control) else ""
    findings = [
        sentence(
            TOPIC,
            f"simple rules predict {percent(uneven['explained'].median())} of the attention of a typical "
            f"{kind.noun}{beside}.",
            figure=kind.shaded(
                {(int(row["layer"]), int(row["head"])): float(row["explained"]) for row in records(uneven)}
            ),
        ),
        continued(
            TOPIC,
            f"This is the median of {count(len(uneven), kind.noun)}, on documents to which the rules were not fitted.",
        ),
    ]
    if even:
        differ, are = ("differs", "is") if even == 1 else ("differ", "are")
        near = f"{differ} from uniform attention by less than {LEAST_DIVERGENCE:g} nats, and {are} left out"
        findings.append(continued(TOPIC, f"{count(even, kind.noun)} {near}."))
    rows = records(uneven)
    cells = [turned(cell_of(row, "explained")) for row in rows]
    if least := leading(cells, least=LEAST_SHARE, most=MOST_LISTED):
        heads = (numbered(kind.name, int(row["layer"]), int(row["head"])) for row in rows[:least])
        findings.append(continued(TOPIC, f"Least explained{kind.of_kind}: ", *listed(heads), "."))
    unexplained = sorted(index for index, look in looks.items() if look.color == UNEXPLAINED)
    if unexplained:
        places = (divmod(index, kind.heads_per_layer) for index in unexplained)
        heads = (numbered(kind.name, layer + 1, head + 1) for layer, head in places)
        are = "is" if len(unexplained) == 1 else "are"
        claim = f"{count(len(unexplained), kind.noun)} {are} unexplained off the sink (less than a third predicted): "
        findings.append(continued(TOPIC, claim, *listed(heads), "."))
    return findings


def head_sentences(run: Study, kind: Kind, corpus: str = TEXT) -> dict[int, str]:
    """Return the sentence that explains each head of a kind in a corpus, by the head's index."""
    rows = of_weight(run, kind, corpus)
    return {
        kind.head_index(row["layer"], row["head"]): str(row["sentence"])
        for row in records(rows[(rows["model"] == TRAINED) & rows["sentence"].notna()])
    }
