"""Kinds of words, from the model's own token embeddings, and features that vary with the attending token.

Tokens with similar embeddings are of one kind. A kind is a direction among the leading principal components of the
token embeddings. The groups describe the kinds of the attended words, of the words before them, of words nearby, and of
pairs of attending and attended words.
"""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.features import ATTENDING, Group, word_structure
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass

KINDS, AFTER, NEARBY = "word_kinds", "after_words", "nearby_words"
PAIRS, PAIRS_AFTER = "word_pairs", "pairs_after"
GROUPS = (
    Group(KINDS, "words", "some kinds of words"),
    Group(AFTER, "words", "words after some kinds of words"),
    Group(NEARBY, "words", "some kinds of words nearby", of_others=True),
    Group(PAIRS, "words", "some kinds of words from some others", of_others=True),
    Group(PAIRS_AFTER, "words", "words after some kinds of words from some others", of_others=True),
    Group(ATTENDING, ATTENDING, "varies with the attending token", of_others=True),
)
PAIRED, PAIRED_AFTER, NEAR = 8, 6, 6
"""Number of embedding components in products of both tokens of a pair, of the attending token and the token before the
key, and of the key with position features."""
NEAR_FEATURES = (
    *("previous", "next", "current", "before_2", "after_2"),
    *("log_distance_back", "log_distance_forward", "same_sentence"),
)
"""Position features whose weight varies with the kind of the key's word."""
LOCATED = ("cls", "sep", "last_sep", "previous", "next", "current", "period_comma")
"""Features of the key whose weight varies with the kind of the attending word."""
VARIED = (
    *LOCATED,
    *("first", "other_punctuation", "digit", "capital"),
    *("word_start", "ends_word", "continuation", "length", "log_frequency", "log_frequency_squared"),
    *("before_2", "after_2", "log_distance_back", "log_distance_forward"),
    *("earlier", "same_sentence", "log_place", "last_mark", "next_mark", "earlier_copy"),
)
"""Features of the key whose weight varies with `QUERY_FACTS`; those of `LOCATED` come first."""
QUERY_FACTS = (
    *("first token", "separator", "punctuation", "later piece of a word", "frequency"),
    *("last piece of a word", "length"),
)


def query_facts(rows: RowContext) -> NDArray[np.float32]:
    """Return the facts on the attending token of each row that `QUERY_FACTS` names, `[row, fact]`."""
    queries, vocabulary = rows.queries, rows.vocabulary
    frequency = vocabulary.of(vocabulary.log_frequency, queries.ids)
    # Tokens outside the sample get the mean frequency: predictions far from the fitted range are arbitrary.
    frequency = np.where(frequency > 0, frequency - vocabulary.mean_log_frequency, 0.0)
    facts = (
        queries.are(KeyClass.CLS),
        queries.are(KeyClass.SEP),
        queries.are(KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION),
        (queries.in_word > 0) & (queries.classes == KeyClass.OTHER),
        frequency,
        queries.ends_word,
        word_structure.lengths(rows, queries),
    )
    return np.stack(facts, axis=1)[rows.rows].astype(np.float32)
