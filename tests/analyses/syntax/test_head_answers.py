"""Answers read off attention: four-word sentences worked by hand, each of which breaks a wrong way to do it."""

import numpy as np
import pytest
import torch

from headscope.analyses.syntax.gold_arcs import ArcTable
from headscope.analyses.syntax.head_answers import BatchArcs, judge, reachable, read_answers
from headscope.attention.word_attention import between_words, word_axis
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass

TABLE = ArcTable(("root", "punct", "other"))
DOWN, UP, BOTH = range(3)  # dependent->head, head->dependent, both
# [CLS] the cat sat down [SEP]
PLAIN = [-1, 0, 1, 2, 3, -1]
HEADS = [2, 3, 0, 3]  # the -> cat, cat -> sat, sat: root, down -> sat


def special_classes(word_ids):
    """[CLS] stands first, every other special token is a [SEP]."""
    classes = [KeyClass.SEP if word < 0 else KeyClass.OTHER for word in word_ids]
    if word_ids[0] < 0:
        classes[0] = KeyClass.CLS
    return classes


def ask(*sentences, left=False, width=0, pooling="mean", causal=False, compat=False, shared=(), **options):
    """Answer sentences given as (map, word ids, heads[, words, relations]); padding holds NaN."""
    width = max(width, *(len(word_ids) for _, word_ids, *_ in sentences))
    table = ArcTable(TABLE.relations, compat=compat)
    word_ids = torch.full((len(sentences), width), -1)
    valid = torch.zeros(len(sentences), width, dtype=torch.bool)
    classes = torch.zeros(len(sentences), width, dtype=torch.long)
    weights = torch.full((len(sentences), 1, width, width), torch.nan, dtype=torch.float64)
    arc_sentences = []
    for item, (own, ids, heads, *rest) in enumerate(sentences):
        at = slice(width - len(ids), width) if left else slice(0, len(ids))
        word_ids[item, at], valid[item, at] = torch.tensor(ids), True
        classes[item, at] = torch.tensor([int(c) for c in special_classes(ids)])
        weights[item, 0, at] = 0.0
        weights[item, 0, at, at] = torch.as_tensor(own, dtype=torch.float64)
        words, relations = rest or (("x",) * len(heads), ["dep"] * len(heads))
        arc_sentences.append((words, heads, relations))
    axis = word_axis(word_ids, valid)
    nothing = np.zeros(0, dtype=np.int64)
    segments = [
        Segment(document="d", index=0, ids=nothing, token_types=nothing, word_ids=nothing, shared=shared)
        for _ in arc_sentences
    ]
    batch_arcs = BatchArcs.of(axis, classes, table.arcs_of(arc_sentences), segments)
    seen = (valid[:, None] & torch.ones(width, width, dtype=torch.bool).tril()) if causal else None
    weights = between_words(weights, axis, axis, pooling=pooling)
    answers = read_answers(weights, batch_arcs, both=options.pop("both", False), compat=compat)
    hits, other = (part[:, 0] for part in judge(answers, batch_arcs, compat=compat, **options))
    allowed = reachable(batch_arcs, seen, directions=len(answers))
    return [part.numpy() for part in (hits, other, allowed)]


def hits(*sentences, direction=DOWN, **options):
    return ask(*sentences, **options)[0][:, 0, direction].tolist()


def pointing(answers, *, size=6, weight=0.5):
    """A map in which token `q` gives `weight` to token `answers[q]`, and the rest to all evenly."""
    table = np.full((size, size), (1 - weight) / size)
    for query, key in answers.items():
        table[query, key] += weight
    return table


GOLD = {1: 2, 2: 3, 4: 3}  # tokens of the dependents and of their heads


def test_each_dependent_looks_at_its_head():
    # `sat` looks at `down`, so that `down` has most from its head too; `down` gives `the` a little more than others.
    table = pointing(GOLD | {3: 4})
    table[4, 1] += 0.01
    sentence = (table, PLAIN, HEADS)
    assert hits(sentence) == [True, True, False, True]
    assert hits(sentence, direction=UP) == [False, False, False, True]


def test_each_head_looks_at_its_dependent():
    # `sat` has two dependents and looks at both.
    table = pointing({2: 1, 3: 2})
    table[3, 4] += 0.4
    sentence = (table, PLAIN, HEADS)
    assert hits(sentence, direction=UP) == [True, True, False, True]
    # cat -> the, and sat's favorite is `cat`; `the` and `down` look nowhere: the leftmost other word.
    assert hits(sentence) == [True, False, False, False]


def test_the_head_is_who_looks_most_at_the_dependent_not_whose_favorite_it_is():
    # `sat` prefers `down` to `cat`, but nobody looks at `cat` more than `sat`.
    table = pointing({3: 4}, weight=0.3)
    table[3, [1, 2]] += 0.1, 0.2
    assert hits((table, PLAIN, HEADS), direction=UP) == [False, True, False, True]
    # `cat` is what `sat` likes best, but `down` looks at it more.
    table = pointing({3: 2}, weight=0.3)
    table[4, [1, 2]] += 0.1, 0.5
    assert hits((table, PLAIN, HEADS), direction=UP) == [False, False, False, False]


def test_a_neighbor_is_not_the_head():
    # One place off in either direction: no answer is right (`the` left of its head looks at `down`, not at itself).
    for shift in (-1, 1):
        off = {query: key + shift for query, key in GOLD.items()}
        off[1] = 4 if shift < 0 else 3
        assert hits((pointing(off), PLAIN, HEADS)) == [False, False, False, False]


def test_without_special_tokens_words_do_not_move():
    table = pointing(GOLD)[1:5, 1:5]
    assert hits((table, [0, 1, 2, 3], HEADS)) == [True, True, False, True]
    assert hits((pointing(GOLD)[:5, :5], [-1, 0, 1, 2, 3], HEADS)) == [True, True, False, True]
    assert hits((table, [0, 1, 2, 3], HEADS), special=True) == [True, True, False, True]


def test_a_word_does_not_point_at_itself():
    table = pointing(GOLD, weight=0.2)
    table += 0.7 * np.eye(6)
    for direction in (DOWN, UP):
        flipped = table if direction == DOWN else table.T
        assert hits((flipped, PLAIN, HEADS), direction=direction) == [True, True, False, True]


@pytest.mark.parametrize("special", [0, 5])
@pytest.mark.parametrize("direction", [DOWN, UP])
def test_special_tokens_win_only_where_they_may(special, direction):
    table = pointing(GOLD, weight=0.2)
    table[[1, 2, 4], special] += [0.7, 0.7, 0.1]  # `down` prefers its head still
    if direction == UP:
        table = table.T.copy()
    sentence = (table, PLAIN, HEADS)
    for kept in (False, True):
        found, other, *_ = ask(sentence, special=kept)
        assert found[:, 0, direction].tolist() == ([False, False, False, True] if kept else [True, True, False, True])
        # The other way is counted beside it.
        assert other[:, 0, direction].tolist() == ([True, True, False, True] if kept else [False, False, False, True])


def test_a_tie_goes_to_the_leftmost():
    # `the` gives equal shares to `cat` (its head) and `down`; `down` to `the` and `sat` (its head).
    table = pointing({1: 2, 4: 3}, weight=0.25)
    table[1, 4], table[4, 1] = table[1, 2], table[4, 3]
    assert hits((table, PLAIN, HEADS)) == [True, False, False, False]
    assert hits((table.T, PLAIN, HEADS), direction=UP) == [True, False, False, False]
    # Everything equal: the leftmost other word, which is `cat` for `the` and `the` for the others.
    even = np.full((6, 6), 1 / 6)
    assert ask((even, PLAIN, HEADS), both=True)[0][:, 0].tolist() == [[True] * 3, *[[False] * 3] * 3]
    # A tie with [CLS] goes to [CLS], one with [SEP] to the word.
    for token, kept in ((0, False), (5, True)):
        table = pointing(GOLD)
        table[[1, 2, 4], token] = table[1, 2]
        assert hits((table, PLAIN, HEADS), special=True) == [kept, kept, False, kept]


def test_the_sum_of_both_directions():
    # Neither direction alone finds `cat` -> `sat`: `cat` prefers `down` slightly, `the` looks at `cat` slightly more.
    table = np.zeros((6, 6))
    table[2, [3, 4]] = [0.4, 0.5]
    table[3, 2], table[1, 2] = 0.4, 0.5
    found = ask((table, PLAIN, HEADS), both=True)[0][1, 0].tolist()
    assert found == [False, False, True]
    assert ask((table, PLAIN, HEADS))[0].shape == (4, 1, 2)


# [CLS] the ca ##t ##s sat down [SEP]
CUT = [-1, 0, 1, 1, 1, 2, 3, -1]


@pytest.mark.parametrize(("pooling", "right"), [("mean", False), ("first", True), ("max", False)])
def test_a_dependent_that_was_cut_joins_its_pieces(pooling, right):
    table = np.zeros((8, 8))
    #                   the          sat  down
    table[2] = [0.5, 0.1, 0, 0, 0, 0.3, 0.1, 0]
    table[3] = [0.4, 0.1, 0, 0, 0, 0.1, 0.4, 0]
    table[4] = [0.8, 0.0, 0, 0, 0, 0.0, 0.2, 0]
    # `cats`: sat 0.4 / 3 against down 0.7 / 3 of the mean; 0.3 against 0.1 of the first; 0.3 against 0.4 at most.
    assert hits((table, CUT, HEADS), pooling=pooling)[1] is right


@pytest.mark.parametrize(("pooling", "right"), [("mean", False), ("first", True), ("max", True)])
def test_pieces_of_words_that_look_at_the_dependent(pooling, right):
    # Who looks most at `down`? `sat`, now cut in two: 0.6 first and 0 after; `the` 0.4. Largest: 0.6 of 1.5.
    word_ids = [-1, 0, 1, 2, 2, 3, -1]
    table = np.zeros((7, 7))
    table[:, 0] = 1.0
    table[3, [0, 5]] = 0.4, 0.6
    table[1, [0, 5]] = 0.6, 0.4
    if pooling == "max":
        table[4, 0] = 0.5  # else the largest share of [CLS] takes most of the row
        table[4, 6] = 0.5
        table[1, [0, 5]] = 0.65, 0.35
    assert hits((table, word_ids, HEADS), pooling=pooling, direction=UP)[3] is right


def test_shares_of_a_heads_pieces_are_added():
    # `the` gives 0.2 to each piece of `cats`, 0.5 to `sat`: together the pieces have more.
    table = np.zeros((8, 8))
    table[1, [2, 3, 4, 5]] = 0.2, 0.2, 0.2, 0.4
    assert hits((table, CUT, HEADS))[0] is True
    table[1, 5] = 0.7
    assert hits((table, CUT, HEADS))[0] is False


def test_a_word_without_pieces():
    # `cat` has none: not right as a dependent, nor for `the`, whose head it is; the others stay where they were.
    word_ids = [-1, 0, 2, 3, -1]
    table = pointing({1: 2, 3: 2}, size=5)
    found, _, reachable = ask((table, word_ids, HEADS))
    assert found[:, 0, DOWN].tolist() == [False, False, False, True]
    assert reachable[:, DOWN].tolist() == [False, False, False, True]
    # The last word of the sentence, and a word that shares the piece of the one before.
    assert hits((pointing(GOLD)[:5, :5], [-1, 0, 1, 2, -1], HEADS)) == [True, True, False, False]


def test_the_side_of_the_padding_does_not_matter():
    short = (pointing({1: 2}, size=4), [-1, 0, 1, -1], [2, 0])
    long = (pointing(GOLD), PLAIN, HEADS)
    cut = (pointing({1: 2, 5: 4}, size=7), [-1, 0, 1, 1, 2, 3, -1], HEADS)
    together = [ask(short, long, cut, left=left, width=9, special=True, both=True) for left in (False, True)]
    alone = [ask(sentence, special=True, both=True) for sentence in (short, long, cut)]
    for parts in (*together,):
        for found, own in zip(parts, zip(*alone)):
            np.testing.assert_array_equal(found, np.concatenate(own))
    assert together[0][0][:, 0, DOWN].tolist() == [True, False, True, True, False, True, True, False, False, True]


def test_a_causal_mask_leaves_some_words_without_candidates():
    table = np.tril(pointing({1: 2, 2: 3, 4: 3, 3: 2}))
    found, _, reachable = ask((table, PLAIN, HEADS), causal=True, both=True)
    # `the` sees no word, `cat` only `the`, whose share is not its head's; `down` sees its head.
    assert found[:, 0, DOWN].tolist() == [False, False, False, True]
    assert reachable[:, DOWN].tolist() == [False, False, False, True]
    # Backwards: `cat` sees `the` and `sat` sees `cat`; nobody sees `down`.
    assert reachable[:, UP].tolist() == [True, True, False, False]
    assert reachable[:, BOTH].tolist() == [True, True, False, True]
    assert found[:, 0, UP].tolist() == [True, True, False, False]
    # `the` is seen by all and by `cat` most, if evenly spread rows count.
    even = np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]
    assert hits((even, PLAIN, HEADS), causal=True, direction=UP) == [True, True, False, False]
    # Without special tokens, as GPT-2 reads: the first word sees itself only.
    assert hits((np.eye(1), [0], [0]), causal=True) == [False]
    found, _, reachable = ask((np.tril(np.ones((2, 2))) / [[1], [2]], [0, 1], [2, 0]), causal=True)
    assert found[:, 0].tolist() == [[False, True], [False, False]]
    assert reachable.tolist() == [[False, True], [False, False]]


def test_a_sentence_of_one_word_and_the_root():
    for options in ({}, {"special": True}, {"both": True}):
        found, other, reachable = ask((np.full((3, 3), 1 / 3), [-1, 0, -1], [0]), **options)
        assert not found.any()
        assert not other.any()
        assert not reachable.any()


# [CLS] cat 's tail fell [SEP]: `cat` hangs on `tail`
OWNER = (("cat", "'s", "tail", "fell"), ["poss", "possessive", "nsubj", "root"])
OWNED = [3, 1, 4, 0]


def test_the_clitic_answers_for_the_possessor():
    # `cat` looks at `fell`, 's at `tail`.
    table = pointing({1: 4, 2: 3, 3: 4})
    assert hits((table, PLAIN, OWNED, *OWNER)) == [True, False, True, False]
    # `cat` looks at `tail`, 's at `fell`: wrong all the same.
    table = pointing({1: 3, 2: 4, 3: 4})
    assert hits((table, PLAIN, OWNED, *OWNER)) == [False, False, True, False]
    # The other direction: who looks most at the clitic?
    assert hits((pointing({3: 2, 4: 1}), PLAIN, OWNED, *OWNER), direction=UP)[0] is True
    assert hits((pointing({3: 1, 4: 2}), PLAIN, OWNED, *OWNER), direction=UP)[0] is False
    # Without the clitic `cat` answers itself.
    assert hits((pointing({1: 3}), PLAIN, OWNED, ("cat", "old", "tail", "fell"), OWNER[1]))[0] is True
    # A clitic without pieces answers nothing.
    assert hits((pointing({1: 2}, size=5), [-1, 0, 2, 3, -1], OWNED, *OWNER))[0] is False


def test_the_notebook_asks_the_clitic_unless_the_word_itself_points_at_the_last_word():
    # `cat` looks at `fell`, the last word: its own answer stands, and is wrong.
    table = pointing({1: 4, 2: 3, 3: 4})
    assert hits((table, PLAIN, OWNED, *OWNER), compat=True) == [False, False, True, False]
    # `cat` looks elsewhere: the clitic is asked.
    table = pointing({1: 2, 2: 3, 3: 4})
    assert hits((table, PLAIN, OWNED, *OWNER), compat=True) == [True, False, True, False]
    # Its own answer is the last word and right.
    words = (*OWNER[0][:3], "'s")
    assert hits((pointing({1: 4}), PLAIN, [4, 1, 1, 0], words, OWNER[1]), compat=True)[0] is True


def test_the_notebook_zeroes_the_diagonal_and_takes_the_first_of_zeros():
    # Nothing but special tokens and itself: the first word, which is right for `down` here and never for itself.
    table = np.zeros((6, 6))
    table[:, 0] = 0.5
    table += 0.5 * np.eye(6)
    heads = [2, 1, 0, 1]
    assert hits((table, PLAIN, heads), compat=True) == [False, True, False, True]
    # By the definition it has no answer.
    assert hits((table, PLAIN, heads)) == [False] * 4


def test_a_head_that_was_cut_off_is_never_right():
    # Beside a longer sentence, so that its place exists in the table.
    short = (pointing({1: 2, 2: 1}, size=4), [-1, 0, 1, -1], [3, 1])
    assert hits(short, (pointing(GOLD), PLAIN, HEADS))[:2] == [False, True]


# [CLS] parle du chat [SEP], of the words parle de le chat: token 2 is written for words 1 and 2.
DU, DU_HEADS = [-1, 0, 1, 3, -1], [0, 4, 4, 1]


def test_words_of_a_multi_word_token_share_its_attention():
    table = pointing({2: 3, 3: 1}, size=5)
    alone = (table, DU, DU_HEADS)
    assert hits(alone) == [False, True, False, True]  # "le" has no piece
    assert hits(alone, shared=(2,)) == [False, True, True, True]
    # `chat` looks at `du`: the head of both words looks at them.
    back = (pointing({3: 2, 1: 3}, size=5), DU, DU_HEADS)
    assert hits(back, direction=UP) == [False, True, False, True]
    assert hits(back, direction=UP, shared=(2,)) == [False, True, True, True]
    # A head that shares a token is found there, and words of one token never find one another.
    heads = [0, 1, 2, 3]  # le -> de, chat -> le
    assert hits((pointing({2: 1, 3: 2}, size=5), DU, heads), shared=(2,)) == [False, True, False, True]
