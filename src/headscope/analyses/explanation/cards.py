"""Explanations on the cards of heads, their example rows with attention and predicted attention, and the search."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headscope.analyses.explanation.looks import rows_of
from headscope.analyses.explanation.tables import CORPORA, PREDICTIONS, TEXT, TRAINED, WORST
from headscope.present.blocks import Row
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import records
from headscope.report_kit.words import CardWords
from headscope.study.study import Study

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
