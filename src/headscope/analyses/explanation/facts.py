"""Explained heads: the share of a typical head's attention that features predict, and explanations on heads' cards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from headscope.analyses.explanation.looks import FIGURE, explained_bars, head_looks, rows_of
from headscope.analyses.explanation.tables import CONTROL, CORPORA, PREDICTIONS, TEXT, TRAINED, WORST
from headscope.present.blocks import Row
from headscope.present.cells import cell_of, number, records
from headscope.present.claim_rules import leading, turned
from headscope.present.facts import Fact
from headscope.present.head_functions import UNEXPLAINED
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import MOST_LISTED, HeadRef, numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import CardWords
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_DIVERGENCE, LEAST_SHARE

MANY_HEADS = 512
"""With more heads of a kind, a card has one row, the one predicted worst, so that the page opens at once."""
LEAST_PERCENT = 10
"""Least percent of a group that the search finds: smaller groups do not distinguish heads."""
_GROUP = re.compile(r"(.*?) \((-?\d+(?:\.\d+)?)%\)")
_WORD = re.compile(r"[\w:'’#]+(?:-[^\W\d_]+)*")


def head_sentences(run: Study, kind: Kind, corpus: str = TEXT) -> dict[int, str]:
    """Return the sentence that explains each head of a kind in a corpus, by the head's index."""
    rows = rows_of(run, kind, corpus=corpus, model=TRAINED)
    return {
        kind.head_index(row["layer"], row["head"]): str(row["sentence"])
        for row in records(rows[rows["sentence"].notna()])
    }


def has_words(row: Row, words: str) -> bool:
    """Return True if the sentence of a row contains each of the words, singular or plural, in groups of at least 10%.

    The rules are those of the page's search.
    """
    said = [text for text, share in _GROUP.findall(row["sentence"]) if float(share) >= LEAST_PERCENT]
    known = {word for text in said for word in _singulars(re.sub(r"^(?:, | and )", "", text))}
    return bool(words.strip()) and known.issuperset(_singulars(words))


def _singulars(text: str) -> list[str]:
    """Return the words of a text, plurals as singulars, which are recognized by their endings."""
    return [
        f"{word[:-3]}y" if re.search(r"..ies$", word) else
        word[:-2] if re.search(r"(?:ss|(?<=..)x|ch|sh)es$", word) else
        word[:-1] if re.search(r"..[^su]s$", word) else word
        for word in _WORD.findall(text.lower())
    ]  # fmt: skip


def explanation_cards(run: Study, kind: Kind) -> dict[str, Any]:
    """Return `explanation` for the cards of the heads of a kind; None where the run has no example rows.

    `words` has every token as it is drawn, and in full where that differs. `rows` has by the head's index the rows
    predicted best, then the rows predicted worst. A row has `prediction`, `explained`, `token` (the attending token),
    `at` (its index among the words, -1 if none), `words` as `CardWords.row` numbers them, `gaps` (the words before
    which tokens are left out), and `attention` and `predicted` of each word. `annotated` has the sentences of heads by
    annotated corpus and the head's index.
    """
    examples = run.tables.get("explanation_examples")
    if examples is None:
        return {"explanation": None}
    words, rows = CardWords(), dict[int, list[dict[str, Any]]]()
    of_kind = examples[(examples["corpus"] == TEXT) & (examples["kind"] == kind.name)]
    if kind.size > MANY_HEADS:
        of_kind = of_kind[(of_kind["prediction"] == WORST) & (of_kind["rank"] == 1)]
    for row in sorted(records(of_kind), key=lambda row: (PREDICTIONS.index(row["prediction"]), row["rank"])):
        rows.setdefault(kind.head_index(row["layer"], row["head"]), []).append(_row(row, words))
    annotated = {corpus: head_sentences(run, kind, corpus) for corpus in CORPORA if corpus != TEXT}
    return {"explanation": {"words": words.drawn(), "rows": rows, "annotated": annotated}}


def _row(row: Mapping[str, Any], words: CardWords) -> dict[str, Any]:
    positions = [int(position) for position in row["positions"]]
    expected = [0, *(position + 1 for position in positions)]
    # In cross attention the attending token is not one of the keys.
    at = positions.index(row["row"]) if row["row"] in positions and row["kind"] != "cross" else -1
    return {
        "prediction": row["prediction"],
        "explained": round(float(row["explained"]), 3),
        "token": words.number(row["row_token"]),
        "at": at,
        "words": words.row(row["tokens"], row["continues_word"]),
        "gaps": [number for number, (each, after) in enumerate(zip(positions, expected)) if each > after],
        **{name: [round(float(weight), 3) for weight in row[name]] for name in ("attention", "predicted")},
    }


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


def head_rows(about: Context, kind: Kind, corpus: str) -> list[Row]:
    """Return a row for each head: its explained share in a corpus, and its sentence without that share."""
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


PAGE = Page(__name__, explanation_facts, uses=(explained_bars, head_rows), finds=has_words)
PARTS = PAGE.parts(
    figures=(FIGURE,), group="what", explained=("explanation",), head_sentences=head_sentences, looks=head_looks,
    cards=explanation_cards, needed={"explanation": ("explanation_examples", "run headscope report again")},
)  # fmt: skip
