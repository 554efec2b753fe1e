"""Features from a treebank: parts of speech, the arcs of the tree in both directions, clauses."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import Feature, Group, Need, Values
from headscope.analyses.explanation.row_context import RowContext
from headscope.corpora.trees.universal_tags import TAGS
from headscope.report_kit.relation_names import BASIC_RELATIONS, terms

_TREES: frozenset[Need] = frozenset({"same_axis", "trees"})
_TAGS: frozenset[Need] = frozenset({"same_axis", "tags"})
GROUPS = (
    Group("tag", "treebank", "tokens by part of speech", named_features=2),
    Group("head", "treebank", "the syntactic head", named_features=2),
    Group("dependents", "treebank", "the syntactic dependents", named_features=2),
    Group("clause", "treebank", "the row’s own clause"),
)
TAG_NAMES = {
    "ADJ": "adjectives", "ADP": "adpositions", "ADV": "adverbs", "AUX": "auxiliaries", "CCONJ": "conjunctions",
    "DET": "determiners", "INTJ": "interjections", "NOUN": "nouns", "NUM": "numbers", "PART": "particles",
    "PRON": "pronouns", "PROPN": "proper nouns", "PUNCT": "punctuation", "SCONJ": "subordinating conjunctions",
    "SYM": "symbols", "VERB": "verbs", "X": "other words",
}  # fmt: skip


def _tag(tag: str) -> Values:
    return lambda rows: rows.of_words(np.array(rows.annotation.tags) == tag)


def _word_pairs(rows: RowContext, pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a mask of the keys whose word is paired with the row's word, `[row, key]`.

    Args:
        rows: context of the rows.
        pairs: mask of the pairs of words (word of the row, word of the key), `[word, word]`.
    """
    of_rows, of_keys = rows.queries.word_ids[rows.rows], rows.keys.word_ids
    known = (of_rows >= 0)[:, None] & (of_keys >= 0)[None, :]
    return pairs[of_rows[:, None], of_keys[None, :]] & known


def _arcs(rows: RowContext, relation: str) -> NDArray[np.bool_]:
    """Return a mask of the pairs (dependent, head) of a relation, or of all if it is empty, `[word, word]`."""
    heads = rows.annotation.heads
    assert heads is not None
    arcs = np.zeros((len(heads), len(heads)), dtype=bool)
    of_relation = np.array([relation in ("", name) for name in rows.annotation.relations or ()], dtype=bool)
    dependents = np.flatnonzero((heads >= 0) & of_relation)
    arcs[dependents, heads[dependents]] = True
    return arcs


def _head(relation: str) -> Values:
    return lambda rows: _word_pairs(rows, _arcs(rows, relation))


def _dependent(relation: str) -> Values:
    return lambda rows: _word_pairs(rows, _arcs(rows, relation).T)


def _same_clause(rows: RowContext) -> NDArray[np.bool_]:
    clauses = rows.annotation.clauses
    return _word_pairs(rows, (clauses[:, None] == clauses[None, :]) & (clauses >= 0)[:, None])


def _of_relation(relation: str) -> tuple[Feature, Feature]:
    named = terms(relation)
    assert named is not None
    dependent, head = named
    return (
        Feature(f"head_{relation}", "head", f"the {head} of a {dependent}", _head(relation), needs=_TREES),
        Feature(
            f"dependent_{relation}", "dependents", f"the {dependent} of a {head}", _dependent(relation), needs=_TREES
        ),
    )


FEATURES = (
    *(Feature(f"tag_{tag}", "tag", TAG_NAMES[tag], _tag(tag), needs=_TAGS) for tag in TAGS),
    Feature("head", "head", "the syntactic head", _head(""), needs=_TREES),
    Feature("dependent", "dependents", "the syntactic dependents", _dependent(""), needs=_TREES),
    *(feature for relation in BASIC_RELATIONS for feature in _of_relation(relation)),
    Feature("same_clause", "clause", "the row’s own clause", _same_clause, needs=_TREES),
)
