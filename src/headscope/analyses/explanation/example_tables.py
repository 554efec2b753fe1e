"""The table of example rows: attention and predicted attention on the tokens that matter in either."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from headscope.analyses.explanation.columns import Integers
from headscope.analyses.explanation.example_rows import ExampleRow, chosen_examples
from headscope.analyses.explanation.head_explanation import HeadExplanation
from headscope.analyses.explanation.row_block import Floats
from headscope.analyses.explanation.row_context import Tokens
from headscope.analyses.explanation.row_sample import SampledRows
from headscope.analyses.explanation.sample import RowSample
from headscope.encoding.tokenizer.token_names import joined_pieces, readable_tokens

SINK_LOGIT = -1
"""The position of a learned sink."""
SINK_NAME = "learned sink"
_AROUND, _STRONG, _LEAST_WEIGHT = 4, 6, 0.02
"""Number of tokens shown on either side of the row; number of strongest keys shown by attention and by prediction, and
the least weight of such a key."""
_LONGEST_WORD = 4
"""Most pieces of a word that is shown whole when one of its pieces is shown."""


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
            yield {
                **of,
                "head": number + 1,
                "prediction": example.prediction,
                "rank": ranks[example.prediction],
                "explained": example.explained,
                "to_explain": example.to_explain,
                "document": sampled.document,
                "segment": sampled.index,
                "row": int(sampled.rows[row]),
                **_tokens(sampled, int(sampled.rows[row]), example, keys, tokenizer),
            }


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
