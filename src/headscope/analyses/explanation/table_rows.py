"""The rows of the tables: explained shares, groups and sentences of heads, and example rows with their tokens."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.divergences import ExampleRow, HeadExplanation, chosen_examples
from headscope.analyses.explanation.order import LEAST_GAIN
from headscope.analyses.explanation.row_block import Doubles, Floats, Integers
from headscope.analyses.explanation.row_context import Tokens
from headscope.analyses.explanation.sample import RowSample
from headscope.analyses.explanation.sentence import NAMED, Part, WordNames, explanation_sentence
from headscope.analyses.explanation.sums import SampledRows
from headscope.analyses.explanation.tables import TABLES
from headscope.encoding.tokenizer.token_names import joined_pieces, readable_tokens
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval, ends_of, ratio_interval
from headscope.statistics.inference.significance import LEAST_DIVERGENCE, shown
from headscope.statistics.statistic import Special

Rows = list[dict[str, Any]]
SINK_LOGIT = -1
"""The position of a learned sink."""
SINK_NAME = "learned sink"
_AROUND, _STRONG, _LEAST_WEIGHT = 4, 6, 0.02
"""Number of tokens shown on either side of the row; number of strongest keys shown by attention and by prediction, and
the least weight of such a key."""
_LONGEST_WORD = 4
"""Most pieces of a word that is shown whole when one of its pieces is shown."""


def head_rows(
    of: Mapping[str, Any], heads: Sequence[HeadExplanation], *, names: WordNames, special: Special,
    catalog: Catalog = CATALOG,
) -> tuple[Rows, Rows]:  # fmt: skip
    """Return the rows of both tables for the heads of a layer by one measure.

    Args:
        of: values of the columns corpus, kind, layer, measure and model.
        heads: explanations of the heads.
        names: names for kinds of words, with the columns of the fit.
        special: names of the special tokens.
        catalog: features and groups.
    """
    say = partial(explanation_sentence, special=special, catalog=catalog)
    explanations, groups = [], []
    for number, head in enumerate(heads):
        head_columns = {**of, "head": number + 1}
        documents = int(np.count_nonzero(head.to_explain > 0))
        whole = float(head.to_explain.sum())
        row: dict[str, Any] = {
            **head_columns, "to_explain": _mean(whole, head.mass), "uniform": _mean(head.uniform, head.mass),
            "mass": _mean(head.mass, float(head.n_rows)), "n_rows": head.n_rows, "n_documents": len(head.to_explain),
        }  # fmt: skip
        explanations.append(row)
        if documents < FEWEST_DOCUMENTS:
            row |= dict.fromkeys(("explained", "ci_low", "ci_high", "wrong"), np.nan)
            untested = [_part(head, step.group, np.nan, names) for steps in head.steps for step in steps]
            row["sentence"] = say(None, untested) if untested else None
            continue
        explained = explained_interval(head.left, head.to_explain)
        others = np.delete(head.wrong, number)
        row["wrong"] = float(np.median(1 - others / whole)) if len(others) else np.nan
        row |= {**ends_of(explained, (), "explained"), "sentence": None}
        parts, gains = [], list[tuple[float, float, float]]()
        shares = {group: gained.sum() / whole for group, gained in head.gained.items()}
        for rank, group in enumerate(sorted(shares, key=lambda group: -shares[group]), start=1):
            interval = ratio_interval(head.gained[group], head.to_explain, scale="real")
            part = _part(head, group, float(shares[group]), names)
            parts.append(part)
            gains.append((part.share, float(interval.low), float(interval.high)))
            said = {name: " ".join(getattr(part, name)) for name in ("alternatives", "words", "attending")}
            halves = sum(any(step.group == group for step in steps) for steps in head.steps)
            ends = ends_of(interval, (), "share")
            groups.append({**head_columns, "group": group, "rank": rank, **ends, **said, "halves": halves})
        if row["to_explain"] >= LEAST_DIVERGENCE and head.steps:
            is_shown = shown(*zip(*gains, strict=True), least=LEAST_GAIN) if gains else ()
            named = [part for part, worth in zip(parts, is_shown, strict=True) if worth and part.share > 0]
            row["sentence"] = say(float(explained.value), named)
    return explanations, groups


def _mean(total: float, number: float) -> float:
    return total / number if number else np.nan


def explained_interval(left: Doubles, to_explain: Doubles) -> Interval:
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


def _part(head: HeadExplanation, group: str, share: float, names: WordNames) -> Part:
    """Return a group as part of a sentence: averages over the halves of the documents that selected it."""
    part = names.columns.groups[group]
    taken = [(half, step) for half, steps in enumerate(head.steps) for step in steps if step.group == group]
    alternatives = [name for name in taken[0][1].alternatives if all(name in step.alternatives for _, step in taken)]
    coefficients = np.mean([step.coefficients for _, step in taken], axis=0).astype(np.float64)
    pulls = np.mean([step.coefficients * head.differences[half][part] for half, step in taken], axis=0)
    named = names.of(group, coefficients, pulls) if group in NAMED else {}
    by_name = [dict(zip(names.columns.names(group), values.tolist())) for values in (coefficients, pulls)]
    return Part(group=group, share=share, coefficients=by_name[0], pulls=by_name[1], alternatives=alternatives, **named)


def explanation_tables(explanations: Rows, groups: Rows, examples: Rows) -> dict[str, pd.DataFrame]:
    """Return the tables from their rows."""
    return {
        schema.name: pd.DataFrame(rows, columns=schema.names)
        for schema, rows in zip(TABLES, (explanations, groups, examples), strict=True)
    }


def example_records(
    of: Mapping[str, Any], heads: Sequence[HeadExplanation], *, sample: RowSample, tokenizer: Any
) -> Iterator[dict[str, Any]]:
    """Yield the table rows of the heads of a layer.

    Args:
        of: values of the columns shared by all rows (corpus, kind and layer).
        heads: explanations of the heads.
        sample: sample that contains the example rows.
        tokenizer: tokenizer that names the tokens.
    """
    ends = np.cumsum([len(each.rows) for each in sample.samples])
    for number, head in enumerate(heads):
        ranks: Counter[str] = Counter()
        for example in chosen_examples(head.examples):
            ranks[example.prediction] += 1
            at = int(np.searchsorted(ends, example.row, side="right"))
            sampled = sample.samples[at]
            row = example.row - int(ends[at]) + len(sampled.rows)
            keys = np.flatnonzero(sample.visible[at][row])[example.cells - sample.starts[example.row]]
            position = int(sampled.rows[row])
            yield {
                **of, "head": number + 1, "prediction": example.prediction, "rank": ranks[example.prediction],
                "explained": example.explained, "to_explain": example.to_explain, "document": sampled.document,
                "segment": sampled.index, "row": position, **_tokens(sampled, position, example, keys, tokenizer),
            }  # fmt: skip


def _tokens(sampled: SampledRows, row: int, example: ExampleRow, keys: Integers, tokenizer: Any) -> dict[str, Any]:
    """Return the shown tokens of a row, with the attention and predicted attention of each."""
    segment = sampled.segment
    shown = shown_keys(
        row if segment.queries is segment.keys else None, keys, example.attention, example.predicted, segment.keys
    )
    positions, ids = keys[shown], segment.keys.ids
    on_tokens = positions < len(segment.keys)
    tokens = readable_tokens(tokenizer, ids[positions[on_tokens]]) + [SINK_NAME] * int((~on_tokens).sum())
    goes_on = np.isin(positions, joined_pieces(tokenizer, ids))
    goes_on[1:] &= positions[1:] == positions[:-1] + 1
    goes_on[0] = False
    return {
        "row_token": readable_tokens(tokenizer, segment.queries.ids[[row]])[0],
        "positions": np.where(on_tokens, positions, SINK_LOGIT).tolist(),
        "tokens": tokens,
        "continues_word": np.flatnonzero(goes_on & on_tokens).tolist(),
        "attention": example.attention[shown].tolist(),
        "predicted": example.predicted[shown].tolist(),
    }


def shown_keys(row: int | None, keys: Integers, attention: Floats, predicted: Floats, tokens: Tokens) -> Integers:
    """Return the indices of the shown keys, ascending: keys around the row, and the strongest by either number.

    Args:
        row: position of the row among the keys; None where queries and keys are different tokens.
        keys: positions of the keys that the row sees; the learned sink is the position after the last token.
        attention, predicted: attention and predicted attention of each of these keys.
        tokens: all keys.
    """
    shown = np.zeros(len(keys), dtype=bool)
    if row is not None:
        shown |= np.abs(keys - row) <= _AROUND
    for weights in (attention, predicted):
        strongest = np.argsort(-weights, kind="stable")[:_STRONG]
        shown[strongest[weights[strongest] >= _LEAST_WEIGHT]] = True
    if not shown.any():
        shown[np.argsort(-attention, kind="stable")[:_STRONG]] = True
    # Words are shown whole, unless they are long.
    words = np.append(tokens.word_ids, -1)[keys]
    pieces = np.bincount(tokens.word_ids[tokens.word_ids >= 0], minlength=int(words.max(initial=0)) + 1)
    whole = (words >= 0) & (pieces[np.maximum(words, 0)] <= _LONGEST_WORD)
    shown |= whole & np.isin(words, words[shown & whole])
    return np.flatnonzero(shown)
