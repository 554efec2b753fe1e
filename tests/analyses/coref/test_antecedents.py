"""Who is a candidate, who counts, what is right: cases worked by hand, and the definition written out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.coref.mentions import MENTION_TYPES, candidate_words, first_headed
from headscope.analyses.coref.windows import MentionCounts, coreference_segments
from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.encoding.encoder import Encoder
from support.coreference import mention_table, word_tokenizer


def table_of(*mentions, words, allowed=None):
    """A table from (start, end, head, entity[, type]) tuples."""
    columns = [np.array([m[i] for m in mentions], dtype=np.int64).reshape(-1) for i in range(4)]
    types = np.array([m[4] if len(m) > 4 else 1 for m in mentions], dtype=np.int64)
    return mention_table(
        starts=columns[0],
        ends=columns[1],
        heads=columns[2],
        entities=columns[3],
        types=types,
        words=words,
        allowed=None if allowed is None else np.array(allowed, dtype=bool),
    )


def by_word(marks):
    return [np.flatnonzero(row).tolist() for row in marks]


def candidates(table, words):
    """The words that head a candidate of each mention, whether it counts or not."""
    first = first_headed(table.heads, table.allowed, words)
    return by_word(candidate_words(first, np.arange(len(table)), table.heads))


def test_a_candidate_is_earlier_and_its_head_word_stands_left():
    # 0 Mary 1 saw 2 her 3 old 4 aunt 5 . 6 She
    table = table_of((2, 5, 4, 1), (2, 3, 2, 0), (0, 1, 0, 0), (6, 7, 6, 0), words=7)
    assert table.starts.tolist() == [0, 2, 2, 6]
    assert table.heads.tolist() == [0, 4, 2, 6]
    # `her` comes after `her old aunt`, whose head stands right of it: that is no candidate of hers.
    assert candidates(table, 7) == [[], [0], [0], [0, 2, 4]]
    assert table.scored.tolist() == [2, 3]
    assert by_word(table.candidate_words) == [[0], [0, 2, 4]]
    assert by_word(table.right_words) == [[0], [0, 2]]


def test_singletons_are_candidates_unless_left_out():
    mentions = ((0, 1, 0, 0), (1, 2, 1, 7), (2, 3, 2, 0))
    assert by_word(table_of(*mentions, words=3).candidate_words) == [[0, 1]]
    alone = table_of(*mentions, words=3, allowed=[True, False, True])
    assert by_word(alone.candidate_words) == [[0]]
    assert alone.scored.tolist() == [2]


def test_mentions_that_share_a_head_word():
    # 0 the 1 man 2 there 3 he: `the man` (entity 0) and `the man there` (entity 1) have one head word.
    table = table_of((0, 3, 1, 1), (0, 2, 1, 0), (3, 4, 3, 0), words=4)
    # Neither is a candidate of the other: the head word must stand left.
    assert candidates(table, 4) == [[], [], [1]]
    assert by_word(table.right_words) == [[1]]


def test_a_mention_without_an_antecedent_of_its_entity_does_not_count():
    table = table_of((0, 1, 0, 0), (1, 2, 1, 1), (2, 3, 2, 2), words=3)
    assert table.scored.tolist() == []
    assert table.candidate_words.shape == (0, 3)
    assert table_of(words=3).scored.tolist() == []


def test_types_of_the_mentions_that_count():
    table = table_of((0, 1, 0, 0, 2), (1, 2, 1, 0, 1), (2, 3, 2, 0, 3), words=3)
    names = [[MENTION_TYPES[i] for i in np.flatnonzero(row)] for row in table.scored_types]
    assert names == [["all", "pronoun"], ["all", "nominal"]]


SPANS = st.tuples(st.integers(0, 7), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))


@settings(max_examples=60)
@given(st.lists(SPANS, max_size=9), st.booleans())
def test_the_definition_written_out(spans, singletons):
    mentions = [(start, start + length, start + head % length, entity) for start, length, head, entity in spans]
    sizes = {e: [m[3] for m in mentions].count(e) for *_, e in mentions}
    allowed = [singletons or sizes[m[3]] > 1 for m in mentions]
    table = table_of(*mentions, words=12, allowed=allowed)
    order = sorted(mentions, key=lambda m: (m[0], -m[1]))
    expected = []
    for i, (_, _, head, entity) in enumerate(order):
        earlier = [m for m in order[:i] if m[2] < head and (singletons or sizes[m[3]] > 1)]
        if any(m[3] == entity for m in earlier):
            words = sorted({m[2] for m in earlier})
            right = [w for w in words if any(m[2] == w and m[3] == entity for m in order)]
            expected.append((head, words, right))
    found = zip(table.scored_heads.tolist(), by_word(table.candidate_words), by_word(table.right_words))
    assert list(found) == expected


def story():
    """Two entities over three sentences, a singleton, and a mention over a sentence's end."""
    sentences = ("Ann met the queen", "she bowed and she smiled", "Ann left the hall with her")
    words = [AnnotatedSentence(words=tuple(s.split())) for s in sentences]
    mentions = [
        Mention(0, 1, "ann"),
        Mention(2, 4, "queen"),
        Mention(4, 5, "ann"),
        Mention(7, 8, "queen"),
        Mention(8, 11, "smile"),
        Mention(9, 10, "ann"),
        Mention(11, 13, "hall"),
        Mention(14, 15, "queen"),
    ]
    return AnnotatedDocument(id="story", sentences=tuple(words), mentions=tuple(mentions))


def encoder():
    return Encoder(word_tokenizer([word for sentence in story().sentences for word in sentence.words]))


def test_windows_and_what_is_lost():
    counts = MentionCounts()
    # Room for nine words: the first two sentences, then the third.
    segments = list(coreference_segments([story()], encoder(), max_length=11, counts=counts))
    assert [(s.index, s.words[0]) for s in segments] == [(0, "Ann")]
    table = segments[0].fields["mentions"]
    assert table.heads.tolist() == [0, 3, 4, 7]
    assert by_word(table.candidate_words) == [[0, 3], [0, 3, 4]]
    assert by_word(table.right_words) == [[0], [3]]
    assert (counts.mentions, counts.entities, counts.singletons) == (8, 4, 2)
    assert counts.without_antecedent == 4
    assert counts.counted == {"pronoun": 2}
    # Of the third sentence: `Ann` and `her` have their antecedents before it.
    assert counts.lost == {"no antecedent in its window": 2}
    assert counts.windows.windows == 2
    assert counts.mentions == (counts.without_antecedent + counts.counted.total() + counts.lost.total())


def test_positions_count_from_the_window():
    late = AnnotatedDocument(
        id="late",
        sentences=(AnnotatedSentence(words=("the",) * 5), *story().sentences),
        mentions=tuple(Mention(m.start + 5, m.end + 5, m.entity) for m in story().mentions),
    )
    # Windows of nine words and of eleven; in the first are no antecedents.
    (second,) = coreference_segments([late], encoder(), max_length=13)
    assert (second.index, second.words[0]) == (1, "she")
    table = second.fields["mentions"]
    assert table.heads.tolist() == [0, 3, 4, 5, 8, 10]
    assert table.scored_heads.tolist() == [5, 10]
    assert by_word(table.right_words) == [[0], [3]]


def test_the_first_window_only():
    counts = MentionCounts()
    list(coreference_segments([story()], encoder(), max_length=11, first_only=True, counts=counts))
    assert counts.lost == {"after the first window": 2}
    assert counts.counted.total() == 2


def test_mentions_over_an_edge_and_heads_without_pieces():
    # `x` has no piece.
    sentences = (AnnotatedSentence(words=("Ann", "met", "x")), AnnotatedSentence(words=("x", "met", "Ann")))
    mentions = (Mention(0, 1, "a"), Mention(2, 3, "x"), Mention(2, 5, "a"), Mention(3, 4, "x"), Mention(5, 6, "a"))
    doc = AnnotatedDocument(id="d", sentences=sentences, mentions=mentions)
    counts = MentionCounts()
    tokenizer = Encoder(word_tokenizer(["Ann", "met"], dropped="x"))
    assert list(coreference_segments([doc], tokenizer, max_length=5, counts=counts)) == []
    assert counts.lost == {"crosses a window's edge": 1, "head word has no piece": 1, "no antecedent in its window": 1}
    counts = MentionCounts()
    (whole,) = coreference_segments([doc], tokenizer, max_length=8, counts=counts)
    # The mentions of x are no candidates either: attention cannot look at them.
    assert whole.fields["mentions"].candidate_words.shape == (1, 6)
    assert counts.lost == {"head word has no piece": 2}
