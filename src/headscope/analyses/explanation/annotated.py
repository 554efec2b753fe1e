"""Features from annotation: parts of speech and their pairs, arcs of trees in both directions, clauses, mentions."""

from functools import partial

import numpy as np

from headscope.analyses.explanation.features import Feature, Group, Need, Values, pair_feature
from headscope.analyses.explanation.row_block import Flags
from headscope.analyses.explanation.row_context import RowContext
from headscope.corpora.trees.tree import TAGS
from headscope.present.words import BASIC_RELATIONS, terms

_TAGS: frozenset[Need] = frozenset({"same_axis", "tags"})
_TREES: frozenset[Need] = frozenset({"same_axis", "trees"})
_MENTIONS: frozenset[Need] = frozenset({"same_axis", "mentions"})
GROUPS = (
    Group("tag", "syntax", "tokens by part of speech", named_features=2),
    Group("head", "syntax", "the syntactic head", named_features=2),
    Group("dependents", "syntax", "the syntactic dependents", named_features=2),
    Group("clause", "syntax", "the row’s own clause"),
    Group("tag_pairs", "syntax", "some parts of speech from some others", named_features=2, of_others=True),
    Group("entity", "coreference", "other mentions of the same entity", named_features=1),
    Group("mention_head", "coreference", "head words of mentions"),
)
PAIRED = ("ADJ", "ADP", "AUX", "DET", "NOUN", "PRON", "PROPN", "VERB")
"""Parts of speech of rows and keys that are paired; for others only the part of speech of the key counts."""
TAG_NAMES = {
    "ADJ": "adjectives", "ADP": "adpositions", "ADV": "adverbs", "AUX": "auxiliaries", "CCONJ": "conjunctions",
    "DET": "determiners", "INTJ": "interjections", "NOUN": "nouns", "NUM": "numbers", "PART": "particles",
    "PRON": "pronouns", "PROPN": "proper nouns", "PUNCT": "punctuation", "SCONJ": "subordinating conjunctions",
    "SYM": "symbols", "VERB": "verbs", "X": "other words",
}  # fmt: skip


def _tag(tag: str) -> Values:
    return lambda rows: rows.of_words(np.array(rows.annotation.tags) == tag)


def _tag_pair(of_row: str, of_key: str) -> Values:
    return lambda rows: rows.of_rows(_tag(of_row)(rows)) * _tag(of_key)(rows)


def _word_pairs(rows: RowContext, pairs: Flags) -> Flags:
    """Return a mask of the keys whose word is paired with the row's word, `[row, key]`.

    Args:
        rows: context of the rows.
        pairs: mask of the pairs of words (word of the row, word of the key), `[word, word]`.
    """
    of_rows, of_keys = rows.queries.word_ids[rows.rows], rows.keys.word_ids
    known = (of_rows >= 0)[:, None] & (of_keys >= 0)[None, :]
    return pairs[of_rows[:, None], of_keys[None, :]] & known


def _arcs(rows: RowContext, *, relation: str, to_head: bool) -> Flags:
    """Return a mask of the keys in the head of the row's word, or in its dependents, `[row, key]`.

    Args:
        rows: context of the rows.
        relation: relation of the dependent to the head; any if it is empty.
        to_head: True for the head, False for dependents.
    """
    heads = rows.annotation.heads
    assert heads is not None
    arcs = np.zeros((len(heads), len(heads)), dtype=bool)
    of_relation = np.array([relation in ("", name) for name in rows.annotation.relations or ()], dtype=bool)
    dependents = np.flatnonzero((heads >= 0) & of_relation)
    arcs[dependents, heads[dependents]] = True
    return _word_pairs(rows, arcs if to_head else arcs.T)


def _same_clause(rows: RowContext) -> Flags:
    clauses = rows.annotation.clauses
    return _word_pairs(rows, (clauses[:, None] == clauses[None, :]) & (clauses >= 0)[:, None])


def _entity(side: int) -> Values:
    """Return a function that marks other words in a mention of the row's entity, before (-1) or after (1) the row."""

    def values(rows: RowContext) -> Flags:
        assert rows.annotation.entities is not None
        numbers = rows.of_words(rows.annotation.entities + 1)
        same = (numbers[None, :] == numbers[rows.rows, None]) & (numbers[None, :] > 0)
        return np.asarray(same & (np.sign(rows.words_away) == side))

    return values


def _mention_head(rows: RowContext) -> Flags:
    assert rows.annotation.heads_mention is not None
    return rows.of_words(rows.annotation.heads_mention)


def _arc_features(relation: str) -> tuple[Feature, Feature]:
    """Return the features of the heads and of the dependents by a relation, or by any if it is empty."""
    ending, heads, dependents = "", "the syntactic head", "the syntactic dependents"
    if named := terms(relation):
        dependent, head = named
        ending, heads, dependents = f"_{relation}", f"the {head} of a {dependent}", f"the {dependent} of a {head}"
    to_head, to_dependent = (partial(_arcs, relation=relation, to_head=is_head) for is_head in (True, False))
    return (
        pair_feature(f"head{ending}", "head", heads, to_head, needs=_TREES),
        pair_feature(f"dependent{ending}", "dependents", dependents, to_dependent, needs=_TREES),
    )


FEATURES = (
    *(pair_feature(f"tag_{tag}", "tag", TAG_NAMES[tag], _tag(tag), needs=_TAGS) for tag in TAGS),
    *(feature for relation in ("", *BASIC_RELATIONS) for feature in _arc_features(relation)),
    pair_feature("same_clause", "clause", "the row’s own clause", _same_clause, needs=_TREES),
    *(
        pair_feature(
            f"tag_{of_key}_from_{of_row}", "tag_pairs", f"{TAG_NAMES[of_key]} from {TAG_NAMES[of_row]}",
            _tag_pair(of_row, of_key), needs=_TAGS,
        )
        for of_row in PAIRED
        for of_key in PAIRED
    ),
    pair_feature("earlier_mention", "entity", "earlier mentions of the same entity", _entity(-1), needs=_MENTIONS),
    pair_feature("later_mention", "entity", "later mentions of the same entity", _entity(1), needs=_MENTIONS),
    pair_feature("mention_head", "mention_head", "head words of mentions", _mention_head, needs=_MENTIONS),
)  # fmt: skip
