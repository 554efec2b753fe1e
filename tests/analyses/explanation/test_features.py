"""Every feature against a plain loop over rows and keys of inputs made by hand."""

import math

import numpy as np
import pytest

from headscope.analyses.explanation.catalog import FEATURES, GROUPS
from headscope.analyses.explanation.row_context import Annotation, RowContext, Tokens
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.analyses.explanation.words import one_stem
from headscope.encoding.vocabulary import KeyClass
from headscope.palette import palette

PIECES = [
    "[CLS]",
    "the",
    "cat",
    "s",
    "##at",
    ".",
    "“",
    "The",
    "cat",
    "walk",
    "##s",
    ",",
    "(",
    "walk",
    "##ing",
    "!",
    "[SEP]",
    "not",
    "7",
    "the",
    "cat",
    "s",
    "##at",
    "42",
    "[SEP]",
]
WORDS = [-1, 0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, -1, 12, 13, 14, 15, 16, 16, 17, -1]
NAMES = sorted({*PIECES, "\n", "[PAD]"})
SPECIAL = ("[CLS]", "[SEP]", "[PAD]")
IDS = {name: number for number, name in enumerate(NAMES)}
CLASSES = {
    "[CLS]": KeyClass.CLS,
    "[SEP]": KeyClass.SEP,
    ".": KeyClass.PERIOD_COMMA,
    ",": KeyClass.PERIOD_COMMA,
    "!": KeyClass.OTHER_PUNCTUATION,
    "(": KeyClass.OTHER_PUNCTUATION,
    "\u201c": KeyClass.OTHER_PUNCTUATION,
}
N = len(PIECES)
TEXTS = ["" if piece in SPECIAL else piece.removeprefix("##") for piece in PIECES]
IS_SPECIAL = [piece in SPECIAL for piece in PIECES]
IS_MARK = [piece in CLASSES and piece not in SPECIAL for piece in PIECES]
WORD_TEXTS = {
    word: "".join(text for text, other in zip(TEXTS, WORDS, strict=True) if other == word).lower()
    for word in set(WORDS) - {-1}
}
# Sentences end after "." (5), "!" (15) and separators (16, 24).
SENTENCES = [0] * 6 + [1] * 10 + [2] + [3] * 8


def row_context(rows=tuple(range(N)), *, causal=False, annotation=None):
    tokens = Tokens(
        ids=np.array([IDS[piece] for piece in PIECES]),
        classes=np.array([int(CLASSES.get(piece, KeyClass.OTHER)) for piece in PIECES]),
        word_ids=np.array(WORDS),
    )
    counts = np.bincount(tokens.ids, minlength=len(NAMES))
    vocabulary = VocabularyFacts.of_names(
        {number: name for name, number in IDS.items()}, special=[IDS[name] for name in SPECIAL]
    ).with_counts(counts)
    at = np.array(rows)
    visible = np.arange(N)[None] <= at[:, None] if causal else np.ones((len(at), N), dtype=bool)
    return RowContext(
        rows=at,
        visible=visible,
        queries=tokens,
        keys=tokens,
        vocabulary=vocabulary,
        annotation=annotation or Annotation(),
    )


def copy(i, j):
    return PIECES[i] == PIECES[j] and not IS_SPECIAL[i]


def last_copy(i, j):
    return copy(i, j) and j < i and not any(copy(i, k) for k in range(j + 1, i))


def starts(j):
    return WORDS[j] >= 0 and (j == 0 or WORDS[j - 1] != WORDS[j])


def ends(j):
    return WORDS[j] >= 0 and (j == N - 1 or WORDS[j + 1] != WORDS[j])


def word_away(i, j, by):
    return WORDS[i] >= 0 and WORDS[j] >= 0 and WORDS[j] - WORDS[i] == by and i != j


def text_of(i):
    return WORD_TEXTS.get(WORDS[i], "")


def frequency(j):
    return math.log(PIECES.count(PIECES[j]) / N * 1e6)


def mean_for_special(value):
    """Return a function of row and key from one of the key; special tokens have the mean of the others."""
    others = [value(j) for j in range(N) if not IS_SPECIAL[j]]
    return lambda i, j: sum(others) / len(others) if IS_SPECIAL[j] else value(j)


PLAIN = {
    "previous": lambda i, j: j == i - 1,
    "next": lambda i, j: j == i + 1,
    "current": lambda i, j: j == i,
    "before_2": lambda i, j: j == i - 2,
    "after_2": lambda i, j: j == i + 2,
    "before_2_3": lambda i, j: 2 <= i - j <= 3,
    "after_2_3": lambda i, j: 2 <= j - i <= 3,
    "before_4_5": lambda i, j: 4 <= i - j <= 5,
    "after_4_5": lambda i, j: 4 <= j - i <= 5,
    "before_6_8": lambda i, j: 6 <= i - j <= 8,
    "after_6_8": lambda i, j: 6 <= j - i <= 8,
    "before_9_16": lambda i, j: 9 <= i - j <= 16,
    "after_9_16": lambda i, j: 9 <= j - i <= 16,
    "log_distance_back": lambda i, j: math.log(1 + i - j) if j < i else 0,
    "log_distance_forward": lambda i, j: math.log(1 + j - i) if j > i else 0,
    "earlier": lambda i, j: j < i,
    "same_sentence": lambda i, j: SENTENCES[i] == SENTENCES[j],
    "sentences_apart": lambda i, j: abs(SENTENCES[i] - SENTENCES[j]),
    "ends_sentence": lambda i, j: SENTENCES[i] == SENTENCES[j] and (j == N - 1 or SENTENCES[j + 1] > SENTENCES[j]),
    "begins_sentence": lambda i, j: SENTENCES[i] == SENTENCES[j] and (j == 0 or SENTENCES[j - 1] < SENTENCES[j]),
    "log_place": mean_for_special(lambda j: math.log(1 + j)),
    "relative_place": mean_for_special(lambda j: j / (N - 1)),
    "first": lambda i, j: j == 0,
    "cls": lambda i, j: PIECES[j] == "[CLS]",
    "sep": lambda i, j: PIECES[j] == "[SEP]",
    "last_sep": lambda i, j: j == 24,
    "next_sep": lambda i, j: j == (16 if i < 16 else 24 if i < 24 else -1),
    "period": lambda i, j: PIECES[j] == ".",
    "period_comma": lambda i, j: PIECES[j] in (".", ","),
    "last_mark": lambda i, j: IS_MARK[j] and j < i and not any(IS_MARK[j + 1 : i]),
    "next_mark": lambda i, j: IS_MARK[j] and j > i and not any(IS_MARK[i + 1 : j]),
    "other_punctuation": lambda i, j: PIECES[j] in ("!", "(", "\u201c"),
    "quote": lambda i, j: PIECES[j] == "\u201c",
    "bracket": lambda i, j: PIECES[j] == "(",
    "newline": lambda i, j: False,
    "blank": lambda i, j: False,
    "earlier_copy": lambda i, j: copy(i, j) and j < i,
    "later_copy": lambda i, j: copy(i, j) and j > i,
    "last_copy": last_copy,
    "behind_copy": lambda i, j: 0 < j < i and copy(i, j - 1),
    "behind_last_copy": lambda i, j: 0 < j < i and last_copy(i, j - 1),
    "behind_two": lambda i, j: 1 < j < i and i > 0 and copy(i, j - 1) and PIECES[i - 1] == PIECES[j - 2],
    "before_earlier_copy": lambda i, j: j + 1 < i and copy(i, j + 1),
    "before_later_copy": lambda i, j: i < j < N - 1 and copy(i, j + 1),
    "behind_later_copy": lambda i, j: j - 1 > i and copy(i, j - 1),
    "same_word": lambda i, j: text_of(i).isalnum() and text_of(i) == text_of(j) and WORDS[i] != WORDS[j],
    "other_ending": lambda i, j: {text_of(i), text_of(j)} == {"walks", "walking"},
    "earlier_piece": lambda i, j: word_away(i, j, 0) and j < i,
    "later_piece": lambda i, j: word_away(i, j, 0) and j > i,
    "first_piece": lambda i, j: word_away(i, j, 0) and starts(j),
    "last_piece": lambda i, j: word_away(i, j, 0) and ends(j),
    "before_pieces": lambda i, j: word_away(i, j, -1),
    "before_first": lambda i, j: word_away(i, j, -1) and starts(j),
    "before_last": lambda i, j: word_away(i, j, -1) and ends(j),
    "after_pieces": lambda i, j: word_away(i, j, 1),
    "after_first": lambda i, j: word_away(i, j, 1) and starts(j),
    "word_start": mean_for_special(starts),
    "continuation": mean_for_special(lambda j: PIECES[j].startswith("##")),
    "ends_word": mean_for_special(ends),
    "length": mean_for_special(lambda j: math.log(1 + min(len(TEXTS[j]), 12))),
    "capital": mean_for_special(lambda j: PIECES[j] == "The"),
    "digit": mean_for_special(lambda j: PIECES[j] in ("7", "42")),
    "log_frequency": mean_for_special(frequency),
    "log_frequency_squared": lambda i, j: mean_for_special(frequency)(i, j) ** 2 / 10,
}


def in_cells(name, context):
    """The feature in all cells, `[row, key]`."""
    shape = (len(context.rows), N)
    row, key = (index.ravel() for index in np.indices(shape))
    return FEATURES[name].cells(context, row, key).reshape(shape)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("rows", [tuple(range(N)), (0,), (3, 4, 10, 20, 24)], ids=["all", "first", "some"])
def test_a_feature_is_what_a_plain_loop_says(name, rows):
    expected = [[float(PLAIN[name](i, j)) for j in range(N)] for i in rows]
    np.testing.assert_allclose(in_cells(name, row_context(rows)), expected, rtol=1e-6, atol=1e-6)


TAGS = ("DET", "NOUN", "VERB", "PUNCT", "PUNCT", "DET", "NOUN", "VERB", "PUNCT", "PUNCT", "VERB", "PUNCT",
        "PART", "NUM", "DET", "NOUN", "VERB", "NUM")  # fmt: skip
HEADS = (1, 2, -1, 2, 7, 6, 7, -1, 7, 10, 7, 7, 16, 15, 15, 16, -1, 16)
RELATIONS = ("det", "nsubj", "root", "punct", "punct", "det", "nsubj", "root", "punct", "punct", "advcl", "punct",
             "advmod", "nummod", "det", "nsubj", "root", "obj")  # fmt: skip
CLAUSES = (2, 2, 2, 2, 7, 7, 7, 7, 7, 10, 10, 7, 16, 16, 16, 16, 16, 16)
ENTITIES = (5, 5, -1, -1, -1, 5, 5, -1, -1, -1, -1, -1, -1, 9, 5, 5, -1, -1)
HEADS_MENTION = tuple(word in (1, 6, 13, 15) for word in range(18))
ANNOTATION = Annotation(
    tags=TAGS,
    heads=np.array(HEADS),
    relations=RELATIONS,
    entities=np.array(ENTITIES),
    heads_mention=np.array(HEADS_MENTION),
)


def words(compare):
    """Return a function of tokens from one of words, which is false for special tokens."""
    return lambda i, j: WORDS[i] >= 0 and WORDS[j] >= 0 and compare(WORDS[i], WORDS[j])


def same_entity(v, w):
    return ENTITIES[v] == ENTITIES[w] >= 0


ANNOTATED = {
    "tag_NOUN": lambda i, j: WORDS[j] >= 0 and TAGS[WORDS[j]] == "NOUN",
    "tag_VERB": lambda i, j: WORDS[j] >= 0 and TAGS[WORDS[j]] == "VERB",
    "tag_NOUN_from_VERB": lambda i, j: (
        WORDS[i] >= 0 and TAGS[WORDS[i]] == "VERB" and WORDS[j] >= 0 and TAGS[WORDS[j]] == "NOUN"
    ),
    "tag_DET_from_NOUN": words(lambda v, w: (TAGS[v], TAGS[w]) == ("NOUN", "DET")),
    "head": words(lambda v, w: HEADS[v] == w),
    "dependent": words(lambda v, w: HEADS[w] == v),
    "head_nsubj": words(lambda v, w: HEADS[v] == w and RELATIONS[v] == "nsubj"),
    "dependent_nsubj": words(lambda v, w: HEADS[w] == v and RELATIONS[w] == "nsubj"),
    "dependent_obj": words(lambda v, w: HEADS[w] == v and RELATIONS[w] == "obj"),
    "same_clause": words(lambda v, w: CLAUSES[v] == CLAUSES[w]),
    "earlier_mention": words(lambda v, w: same_entity(v, w) and w < v),
    "later_mention": words(lambda v, w: same_entity(v, w) and w > v),
    "mention_head": lambda i, j: WORDS[j] >= 0 and HEADS_MENTION[WORDS[j]],
}


@pytest.mark.parametrize("name", ANNOTATED)
def test_a_feature_of_annotation_is_what_a_plain_loop_says(name):
    computed = in_cells(name, row_context(annotation=ANNOTATION))
    np.testing.assert_array_equal(computed, [[ANNOTATED[name](i, j) for j in range(N)] for i in range(N)])
    assert computed.any()


@pytest.mark.parametrize("causal", [False, True], ids=["both sides", "causal"])
def test_a_feature_of_one_row_depends_on_no_other_row(causal):
    failed = []
    for name in FEATURES:
        whole = in_cells(name, row_context(causal=causal, annotation=ANNOTATION))
        alone = [in_cells(name, row_context((row,), causal=causal, annotation=ANNOTATION))[0] for row in (0, 7, 20)]
        if not np.isfinite(whole).all() or not np.array_equal(alone, whole[[0, 7, 20]]):
            failed.append(name)
    assert not failed


def test_every_feature_has_a_group_and_words():
    wrong = [
        feature.name
        for feature in FEATURES.values()
        if GROUPS[feature.group].role not in palette().roles or not feature.sentence or feature.sentence[0].isupper()
    ]
    assert not wrong


def test_an_input_without_annotation_has_not_what_annotation_needs():
    assert row_context().has == {"same_axis"}
    assert row_context(annotation=ANNOTATION).has == {"same_axis", "tags", "trees", "mentions"}


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [("walks", "walking", True), ("walk", "walks", True), ("walks", "walks", False), ("run", "runs", False),
     ("nation", "nationality", False), ("walked", "talked", False)],
)  # fmt: skip
def test_words_have_one_stem_where_their_endings_are_short(word, other, expected):
    assert one_stem(word, other) is expected
    assert one_stem(other, word) is expected
