"""Excerpts of text as rows of tables of examples."""

from typing import Any

from headscope.examples.excerpts import Excerpt
from headscope.prepare.prepared_run import Run


def excerpt_columns(run: Run, excerpt: Excerpt) -> dict[str, Any]:
    """Return the head, the behavior and the input of an excerpt, and its words with the attention between them.

    Args:
        run: run with the tokens' texts.
        excerpt: part of an input; its `weights` are listed row by row.
    """
    tokens, keys, text = run.excerpt_words(excerpt)
    weights = excerpt.weights.astype("float64").reshape(-1).tolist()
    words = {"start": excerpt.start, "tokens": tokens, "keys": keys, "weights": weights, "text": text}
    return {**vars(excerpt.wanted), **words}
