"""Explanations on the cards of the atlas: example rows with attention and predicted attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.analyses.explanation.example_rows import PREDICTIONS, WORST
from headscope.analyses.explanation.findings import head_sentences
from headscope.analyses.explanation.tables import CORPORA, TEXT
from headscope.report_kit.card_words import CardWords
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import records
from headscope.study.study import Study

MANY_HEADS = 512
"""With more heads of a kind, a card has one row, the one predicted worst, so that the page opens at once."""
_DIGITS = 3


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
        "explained": round(float(row["explained"]), _DIGITS),
        "token": words.number(row["row_token"]),
        "at": at,
        "words": words.row(row["tokens"], row["continues_word"]),
        "gaps": [
            number
            for number, (position, following) in enumerate(zip(positions, expected, strict=False))
            if position > following
        ],
        "attention": [round(float(weight), _DIGITS) for weight in row["attention"]],
        "predicted": [round(float(weight), _DIGITS) for weight in row["predicted"]],
    }
