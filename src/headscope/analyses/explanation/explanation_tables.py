"""Build the tables of explanations from the divergences of each document."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.head_explanation import HeadExplanation
from headscope.analyses.explanation.named_words import NAMED, NamedWords, WordNames
from headscope.analyses.explanation.order import LEAST_GAIN
from headscope.analyses.explanation.sentence import Part, explanation_sentence
from headscope.analyses.explanation.tables import TABLES
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval, ends_of, ratio_interval
from headscope.statistics.inference.worth_saying import LEAST_DIVERGENCE, shown
from headscope.statistics.statistic import Special

Rows = list[dict[str, Any]]


def head_rows(
    of: Mapping[str, Any],
    heads: Sequence[HeadExplanation],
    *,
    columns: Columns,
    names: WordNames,
    special: Special,
    catalog: Catalog = CATALOG,
) -> tuple[Rows, Rows]:
    """Return the rows of both tables for the heads of a layer by one measure.

    Args:
        of: values of the columns corpus, kind, layer, measure and model.
        heads: explanations of the heads.
        columns: columns of the fit.
        names: names for kinds of words.
        special: names of the special tokens.
        catalog: features and groups.
    """
    explanations, groups = [], []
    for number, head in enumerate(heads):
        head_columns = {**of, "head": number + 1}
        documents = int(np.count_nonzero(head.to_explain > 0))
        whole = float(head.to_explain.sum())
        row: dict[str, Any] = {
            **head_columns,
            "to_explain": whole / head.mass if head.mass else np.nan,
            "uniform": head.uniform / head.mass if head.mass else np.nan,
            "mass": head.mass / head.n_rows if head.n_rows else np.nan,
            "n_rows": head.n_rows,
            "n_documents": len(head.to_explain),
        }
        if documents < FEWEST_DOCUMENTS:
            nothing = dict.fromkeys(("explained", "ci_low", "ci_high", "wrong"), np.nan)
            untested = [_part(head, step.group, np.nan, columns, names) for steps in head.steps for step in steps]
            sentence = explanation_sentence(None, untested, special=special, catalog=catalog) if untested else None
            explanations.append({**row, **nothing, "sentence": sentence})
            continue
        explained = explained_interval(head.left, head.to_explain)
        others = np.delete(head.wrong, number)
        row["wrong"] = float(np.median(1 - others / whole)) if len(others) else np.nan
        parts, gains = [], list[tuple[float, float, float]]()
        shares = {group: gained.sum() / whole for group, gained in head.gained.items()}
        for rank, group in enumerate(sorted(shares, key=lambda group: -shares[group]), start=1):
            interval = ratio_interval(head.gained[group], head.to_explain, scale="real")
            part = _part(head, group, float(shares[group]), columns, names)
            parts.append(part)
            gains.append((part.share, float(interval.low), float(interval.high)))
            groups.append(
                {
                    **head_columns,
                    "group": group,
                    "rank": rank,
                    **ends_of(interval, (), "share"),
                    "alternatives": " ".join(part.alternatives),
                    "words": " ".join(part.words),
                    "attending": " ".join(part.attending),
                    "halves": sum(any(step.group == group for step in steps) for steps in head.steps),
                }
            )
        explanations.append({**row, **ends_of(explained, (), "explained"), "sentence": None})
        if row["to_explain"] >= LEAST_DIVERGENCE and head.steps:
            is_shown = shown(*zip(*gains, strict=True), least=LEAST_GAIN) if gains else ()
            named = [part for part, worth in zip(parts, is_shown, strict=True) if worth and part.share > 0]
            explanations[-1]["sentence"] = explanation_sentence(
                float(explained.value), named, special=special, catalog=catalog
            )
    return explanations, groups


def explained_interval(left: NDArray[np.float64], to_explain: NDArray[np.float64]) -> Interval:
    """Return the explained share of each head, with its interval over documents.

    The unexplained divergence is positive and has a heavy tail: most of it comes from a few documents that the
    prediction does not fit. The interval is therefore computed for the logarithm of the unexplained share and then
    subtracted from 1: it reaches further down than up, and never above 1.

    Args:
        left: KL(attention || prediction) of each document, in nats, `[document, ...]`.
        to_explain: KL(attention || uniform) of each document, in nats, of the same shape.
    """
    share_left = ratio_interval(left, to_explain, scale="positive")
    return Interval(1 - share_left.value, 1 - share_left.high, 1 - share_left.low)


def _part(head: HeadExplanation, group: str, share: float, columns: Columns, names: WordNames) -> Part:
    """Return a group as part of a sentence: averages over the halves of the documents that selected it."""
    part = columns.groups[group]
    taken = [(half, step) for half, steps in enumerate(head.steps) for step in steps if step.group == group]
    alternatives = [name for name in taken[0][1].alternatives if all(name in step.alternatives for _, step in taken)]
    coefficients = np.mean([step.coefficients for _, step in taken], axis=0).astype(np.float64)
    pulls = np.mean([step.coefficients * head.differences[half][part] for half, step in taken], axis=0)
    features = columns.names(group)
    named = names.of(group, coefficients, pulls) if group in NAMED else NamedWords()
    return Part(
        group=group,
        share=share,
        coefficients=dict(zip(features, coefficients.tolist(), strict=True)) if features else {},
        pulls=dict(zip(features, pulls.tolist(), strict=True)) if features else {},
        words=named.words,
        attending=named.attending,
        avoided=named.avoided,
        alternatives=alternatives,
    )


def explanation_tables(explanations: Rows, groups: Rows, examples: Rows) -> dict[str, pd.DataFrame]:
    """Return the tables from their rows."""
    return {
        schema.name: pd.DataFrame(rows, columns=schema.names)
        for schema, rows in zip(TABLES, (explanations, groups, examples), strict=True)
    }
