"""Kinds of tokens by which a prediction may depend on what attends: classes, first and later pieces of words."""

from collections.abc import Sequence

import numpy as np

from headscope.analyses.explanation.design import Integers
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.encoding.vocabulary import KeyClass

LEAST_ROWS = 0.05
"""A kind of query has biases of its own where so many of the rows are of it."""
_WORD_START, _CONTINUES = 5, 6
_N_KINDS = 7


def token_kinds(tokens: Tokens) -> Integers:
    """Return the `KeyClass` of each token, other tokens divided by whether they begin a word or go on with one."""
    others = np.where(tokens.starts_word, _WORD_START, _CONTINUES)
    return np.where(tokens.classes == KeyClass.OTHER, others, tokens.classes).astype(np.int64)


def frequent_kinds(contexts: Sequence[RowContext]) -> Integers:
    """Return the kinds of query that are frequent among the rows; none where only one is."""
    of_rows = np.concatenate([token_kinds(context.queries)[context.rows] for context in contexts])
    counts = np.bincount(of_rows, minlength=_N_KINDS)
    frequent = np.flatnonzero(counts >= LEAST_ROWS * counts.sum())
    return frequent if len(frequent) > 1 else frequent[:0]


def pair_codes(context: RowContext, query_kinds: Integers) -> Integers:
    """Return the code of each pair of a kind of query with a kind of key, 0 for other queries, `[row, key + 1]`.

    Args:
        context: of the rows.
        query_kinds: the kinds that have biases.
    """
    rank = np.full(_N_KINDS, -1)
    rank[query_kinds] = np.arange(len(query_kinds))
    of_query = rank[token_kinds(context.queries)[context.rows]][:, None]
    of_key = np.append(token_kinds(context.keys), 0)[None]
    return np.where(of_query < 0, 0, 1 + of_query * _N_KINDS + of_key)


def number_of_pairs(query_kinds: Integers) -> int:
    """Return how many pairs of a kind of query with a kind of key have biases."""
    return len(query_kinds) * _N_KINDS
