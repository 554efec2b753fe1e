"""The tables of explanations, from the divergences of each document."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.greedy import LEAST_GAIN
from headscope.analyses.explanation.held_out import HeadExplanation
from headscope.analyses.explanation.sentence import Part, explanation_sentence
from headscope.analyses.explanation.tables import TABLES
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval, ends_of, ratio_interval
from headscope.statistics.inference.worth_saying import LEAST_DIVERGENCE, shown
from headscope.statistics.statistic import Special

Rows = list[dict[str, Any]]
_SHOWN_TOKENS = 8


def head_rows(
    of: Mapping[str, Any],
    heads: Sequence[HeadExplanation],
    *,
    columns: Mapping[str, Sequence[str]],
    texts: Sequence[str],
    special: Special,
    catalog: Catalog = CATALOG,
) -> tuple[Rows, Rows]:
    """Return the rows of both tables for the heads of a layer by one measure.

    Args:
        of: kind, layer, measure and model.
        heads: their explanations.
        columns: names of the features of each group.
        texts: how each token id is written.
        special: names of the special tokens.
        catalog: the features and groups.
    """
    explanations, groups = [], []
    for number, head in enumerate(heads):
        head_columns = {**of, "head": number + 1}
        documents = int(np.count_nonzero(head.to_explain > 0))
        whole = float(head.to_explain.sum())
        row: dict[str, Any] = {
            **head_columns,
            "to_explain": whole / head.n_rows if head.n_rows else np.nan,
            "n_rows": head.n_rows,
            "n_documents": len(head.to_explain),
        }
        if documents < FEWEST_DOCUMENTS:
            nothing = dict.fromkeys(("explained", "ci_low", "ci_high", "wrong"), np.nan)
            explanations.append({**row, **nothing, "sentence": None})
            continue
        explained = explained_interval(head.left, head.to_explain)
        others = np.delete(head.wrong.sum(1), number)
        row["wrong"] = float(np.median(1 - others / whole)) if len(others) else np.nan
        parts, gains = [], list[tuple[float, float, float]]()
        shares = {group: gained.sum() / whole for group, gained in head.gained.items()}
        for rank, group in enumerate(sorted(shares, key=lambda group: -shares[group]), start=1):
            interval = ratio_interval(head.gained[group], head.to_explain, scale="real")
            part = _part(head, group, float(shares[group]), columns, texts)
            parts.append(part)
            gains.append((part.share, float(interval.low), float(interval.high)))
            groups.append(
                {
                    **head_columns,
                    "group": group,
                    "rank": rank,
                    **ends_of(interval, (), "share"),
                    "exchangeable": " ".join(part.exchangeable),
                    "halves": len(head.pulls[group]),
                }
            )
        explanations.append({**row, **ends_of(explained, (), "explained"), "sentence": None})
        if row["to_explain"] >= LEAST_DIVERGENCE:
            is_shown = shown(*zip(*gains, strict=True), least=LEAST_GAIN) if gains else ()
            named = [part for part, worth in zip(parts, is_shown, strict=True) if worth and part.share > 0]
            sentence = explanation_sentence(float(explained.value), named, special=special, catalog=catalog)
            explanations[-1]["sentence"] = sentence
    return explanations, groups


def explained_interval(left: NDArray[np.float64], to_explain: NDArray[np.float64]) -> Interval:
    """Return the explained share of each head, with its interval over documents.

    What is left is positive and has a tail: a few documents, which the prediction does not fit, have most of it. So the
    interval is that of the share left, on its logarithm, seen from 1: it reaches further down than up, and never
    above 1.

    Args:
        left: KL(attention || prediction) of each document, in nats, `[document, ...]`.
        to_explain: KL(attention || uniform) of each document, in nats, of the same shape.
    """
    share_left = ratio_interval(left, to_explain, scale="positive")
    return Interval(1 - share_left.value, 1 - share_left.high, 1 - share_left.low)


def _part(
    head: HeadExplanation, group: str, share: float, columns: Mapping[str, Sequence[str]], texts: Sequence[str]
) -> Part:
    """Return a group as the sentence reads it: averages over the halves that selected it."""
    alternatives = head.alternatives[group]
    exchangeable = [name for name in alternatives[0] if all(name in of_half for of_half in alternatives)]
    pulls: dict[int, float] = {}
    for of_half in head.tokens if group == TOKENS else ():
        for token, pull in of_half.items():
            pulls[token] = pulls.get(token, 0.0) + pull
    avoided = sum(pulls.values()) < 0
    sign = -1 if avoided else 1
    best = sorted(pulls, key=lambda token: (-sign * pulls[token], token))[:_SHOWN_TOKENS]
    tokens = [texts[token] if token < len(texts) else f"⟨{token}⟩" for token in best if sign * pulls[token] > 0]
    names = columns.get(group, ())
    coefficients, pulls_of_features = (
        dict(zip(names, np.mean(values, axis=0).tolist(), strict=True)) if names else {}
        for values in (head.coefficients(group), head.pulls[group])
    )
    return Part(
        group=group,
        share=share,
        coefficients=coefficients,
        pulls=pulls_of_features,
        tokens=tokens,
        avoids_tokens=avoided,
        exchangeable=exchangeable,
    )


def explanation_tables(explanations: Rows, groups: Rows, examples: Rows) -> dict[str, pd.DataFrame]:
    """Return the tables from their rows."""
    return {
        schema.name: pd.DataFrame(rows, columns=schema.names)
        for schema, rows in zip(TABLES, (explanations, groups, examples), strict=True)
    }
