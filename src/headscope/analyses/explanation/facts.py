"""Explained heads: the share of a typical head's attention that features predict, and the heads left unexplained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from headscope.analyses.explanation.cards import explanation_cards, has_words, head_sentences
from headscope.analyses.explanation.figures import FIGURE, explained_bars
from headscope.analyses.explanation.looks import head_looks, rows_of
from headscope.analyses.explanation.tables import CONTROL, COREFERENCE, CORPORA, TEXT, TRAINED, TREEBANK
from headscope.present.blocks import Row
from headscope.present.facts import Fact
from headscope.present.page import Page
from headscope.report_kit.claim_rules import leading, turned
from headscope.report_kit.head_functions import UNEXPLAINED
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, HeadRef, numbered
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LEAST_DIVERGENCE, LEAST_SHARE


class ExplanationFact(Fact):
    """A claim on the attention in the text, for the first screen."""

    topic = "explanation"
    rank = -1


@dataclass(frozen=True, kw_only=True)
class CorpusFact(Fact):
    """A claim on a corpus for the section alone."""

    corpus: str
    topic = "explanation_detail"


class Untested(CorpusFact):
    """The corpus has too few documents."""


class NothingToExplain(ExplanationFact):
    """All heads attend almost uniformly."""


@dataclass(frozen=True, kw_only=True)
class Predicted(ExplanationFact):
    """The median explained share of `heads` heads, the median with random weights, and the heads named in the text.

    `uniform` heads are left out; `least` are the heads explained least, `unexplained` those unexplained off the sink.
    """

    median: float
    control: float | None
    heads: int
    uniform: int
    least: Sequence[HeadRef]
    unexplained: Sequence[HeadRef]


@dataclass(frozen=True, kw_only=True)
class InCorpus(CorpusFact):
    """The median explained share in an annotated corpus; None if all heads attend almost uniformly there."""

    median: float | None


def explanation_facts(about: Context) -> Iterator[Fact]:
    """Yield the explained share of the median head by kind of attention and corpus."""
    for kind in about.kinds:
        for corpus in CORPORA:
            rows = rows_of(about.run, kind, corpus=corpus)
            tested = rows[(rows["model"] == TRAINED) & rows["explained"].notna()]
            uneven = tested[tested["to_explain"] >= LEAST_DIVERGENCE].sort_values("explained", kind="stable")
            if tested.empty and len(rows):
                yield Untested(kind=kind, corpus=corpus)
            elif corpus != TEXT and len(tested):
                yield InCorpus(
                    kind=kind, corpus=corpus, median=None if uneven.empty else float(uneven["explained"].median())
                )
            elif len(uneven):
                control = rows[rows["model"] == CONTROL]["explained"].median()
                yield _predicted(about, kind, uneven, control, len(tested) - len(uneven))
            elif len(tested):
                yield NothingToExplain(kind=kind)


def _predicted(about: Context, kind: Kind, uneven: pd.DataFrame, control: float, uniform: int) -> Predicted:
    rows = {(int(row["layer"]), int(row["head"])): row for row in records(uneven)}
    least = leading([turned(cell_of(row, "explained")) for row in rows.values()], least=LEAST_SHARE, most=MOST_LISTED)
    looks = sorted(head_looks(about.run, kind).items())
    unexplained = [divmod(index, kind.heads_per_layer) for index, look in looks if look.color == UNEXPLAINED]
    return Predicted(
        kind=kind, median=float(uneven["explained"].median()), control=None if pd.isna(control) else float(control),
        heads=len(rows), uniform=uniform, least=[numbered(kind.name, *head) for head in list(rows)[:least]],
        unexplained=[numbered(kind.name, layer + 1, head + 1) for layer, head in unexplained],
        figure=kind.shaded({head: float(row["explained"]) for head, row in rows.items()}),
    )  # fmt: skip


def text_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each head: its explained share in the text, and its sentence without that share."""
    return _head_rows(about, kind, TEXT)


def treebank_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the same rows for the treebank."""
    return _head_rows(about, kind, TREEBANK)


def coreference_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the same rows for the coreference corpus."""
    return _head_rows(about, kind, COREFERENCE)


def _head_rows(about: Context, kind: Kind, corpus: str) -> list[Row]:
    return [
        {
            "head": numbered(kind.name, int(row["layer"]), int(row["head"])),
            "explained": cell_of(row, "explained"),
            "to_explain": number(row["to_explain"]),
            "wrong": number(row["wrong"]),
            "sentence": "" if pd.isna(row["sentence"]) else row["sentence"].rpartition("; ")[0],
        }
        for row in records(rows_of(about.run, kind, corpus=corpus, model=TRAINED))
    ]


PAGE = Page(
    __name__, explanation_facts, uses=(explained_bars, text_rows, treebank_rows, coreference_rows), finds=has_words
)
PARTS = PAGE.parts(
    figures=(FIGURE,), group="what", explained=("explanation",), head_sentences=head_sentences, looks=head_looks,
    cards=explanation_cards, needed={"explanation": ("explanation_examples", "run headscope report again")},
)  # fmt: skip
