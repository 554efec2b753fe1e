"""Who attends in a relation and what they give special tokens: sentences worked by hand, in every direction."""

import numpy as np
import pytest

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.dependency_result import DependencyResult
from headscope.analyses.syntax.detail_tables import noop_table
from headscope.analyses.syntax.gold_arcs import ArcTable, DependencyOptions
from headscope.attention.scan import scan
from headscope.encoding.segment import Segment
from support.hand_made import HandMadeSource
from support.inputs import CLS, SEP

TABLE = ArcTable(("det", "obj", "nsubj", "root", "punct", "other"))
DOWN, UP, BOTH = range(3)  # dependent->head, head->dependent, both
SEPARATOR, FIRST = range(2)  # of the last axis

# [CLS] the cat saw the dogs [SEP]: two determiners, a subject, an object.
# `wide` sentences have a word on each side.
HEADS, NAMES = [2, 3, 0, 5, 3], ["det", "nsubj", "root", "det", "obj"]
# What each word gives [SEP]; half as much to [CLS]
SHARE = [0.1, 0.2, 0.4, 0.3, 0.6]


def sentence(*, heads=HEADS, names=NAMES, word_ids=None, document="d0", index=0, wide=True):
    word_ids = [-1, *range(len(heads)), -1] if word_ids is None else word_ids
    if wide:
        last = len(heads) + 2
        heads = [last, *(head + 1 if head else 0 for head in heads), 1]
        names = ["punct", *names, "punct"]
        word_ids = [-1, 0, *(word + 1 for word in word_ids[1:-1]), last - 1, -1]
    ids = [CLS, *(9 + place for place in range(len(word_ids) - 2)), SEP]
    return Segment(
        document=document,
        index=index,
        ids=np.array(ids),
        token_types=np.zeros(len(ids), dtype=np.int64),
        word_ids=np.array(word_ids),
        words=("x",) * len(heads),
        fields={"heads": heads, "relns": names},
    )


def map_of(shares, *, wide=True):
    """One head: token `q` gives `shares[q - 1]` to [SEP], half as much to [CLS], the rest to itself."""
    shares = [0.5, *shares, 0.5] if wide else shares
    size = len(shares) + 2
    weights = np.eye(size)
    for token, share in enumerate(shares, start=1):
        weights[token] = 0
        weights[token, [-1, 0, token]] = share, share / 2, 1 - 1.5 * share
    return weights[None, None]


def counted(segments, maps, *, both=False, table=TABLE):
    source = HandMadeSource(segments, lambda segment: maps[segments.index(segment)])
    accumulator = DependencyAccumulator(source.layout, table, DependencyOptions(both=both))
    scan(source, [accumulator])
    return accumulator


def told(sums, relation, direction, table=TABLE):
    """Attention to [SEP] and to [CLS], and how many words attend; of all documents."""
    row = table.relations.index(relation)
    given = sums.noop.sum(0)[row, direction, 0, 0]
    return given.tolist(), int(sums.attending.sum(0)[row, direction])


def test_the_dependents_attend_or_their_head_words():
    (sums,) = counted([sentence()], [map_of(SHARE)], both=True).compute()
    near = {"abs": 1e-12}
    # obj: `dogs` attends to `saw`, or `saw` to `dogs`.
    assert told(sums, "obj", DOWN) == (pytest.approx([0.6, 0.3], **near), 1)
    assert told(sums, "obj", UP) == (pytest.approx([0.4, 0.2], **near), 1)
    assert told(sums, "obj", BOTH) == (pytest.approx([1.0, 0.5], **near), 2)
    # det: `the` and `the`, or `cat` and `dogs`.
    assert told(sums, "det", DOWN) == (pytest.approx([0.4, 0.2], **near), 2)
    assert told(sums, "det", UP) == (pytest.approx([0.8, 0.4], **near), 2)
    assert told(sums, "det", BOTH) == (pytest.approx([1.2, 0.6], **near), 4)
    # Nothing stands above the root.
    assert told(sums, "root", DOWN) == (pytest.approx([0.4, 0.2], **near), 1)
    assert told(sums, "root", UP) == ([0, 0], 0)


def test_the_first_and_the_last_word_are_left_out():
    """Beside them stands nothing but the special token: a head that looks back has to look at [CLS] from the first."""
    (sums,) = counted([sentence(wide=False)], [map_of(SHARE, wide=False)], both=True).compute()
    # Of the determiners the second, of the object its head word alone.
    assert told(sums, "det", DOWN) == (pytest.approx([0.3, 0.15]), 1)
    assert told(sums, "obj", DOWN) == ([0, 0], 0)
    assert told(sums, "obj", UP) == (pytest.approx([0.4, 0.2]), 1)
    assert told(sums, "det", UP) == (pytest.approx([0.2, 0.1]), 1)
    assert sums.attending[:, :, DOWN].sum() == 3
    # A word without pieces is no edge: the next one is.
    (sums,) = counted([sentence(wide=False, word_ids=[-1, 1, 2, 3, 4, -1])], [map_of(SHARE[1:], wide=False)]).compute()
    assert told(sums, "nsubj", DOWN) == ([0, 0], 0)
    assert sums.attending[:, :, DOWN].sum() == 2


def test_a_head_word_of_several_dependents_counts_once():
    # `saw` has two objects; `dogs` is an object and the head of one.
    segment = sentence(heads=[2, 3, 0, 3, 4], names=["det", "obj", "root", "obj", "obj"])
    (sums,) = counted([segment], [map_of(SHARE)], both=True).compute()
    assert told(sums, "obj", DOWN) == (pytest.approx([1.1, 0.55]), 3)
    assert told(sums, "obj", UP) == (pytest.approx([0.7, 0.35]), 2)
    assert told(sums, "obj", BOTH) == (pytest.approx([1.5, 0.75]), 4)


def test_labels_that_are_counted_together_share_their_words():
    # Rare labels are `other`; `nsubj:pass` is folded: `saw` is above both, and counts once.
    folded = ArcTable(TABLE.relations, folded=True)
    segment = sentence(heads=[3, 3, 0, 3, 3], names=["nsubj:pass", "nsubj", "root", "rare", "rarer"])
    (sums,) = counted([segment], [map_of(SHARE)], table=folded).compute()
    assert told(sums, "nsubj", DOWN, folded) == (pytest.approx([0.3, 0.15]), 2)
    assert told(sums, "nsubj", UP, folded) == (pytest.approx([0.4, 0.2]), 1)
    assert told(sums, "other", UP, folded) == (pytest.approx([0.4, 0.2]), 1)


def test_a_word_without_pieces_does_not_attend():
    # `cat` has none: neither as the subject, nor as the head word of `the`.
    segment = sentence(word_ids=[-1, 0, 2, 3, 4, -1])
    (sums,) = counted([segment], [map_of([0.1, 0.4, 0.3, 0.6])]).compute()
    assert told(sums, "nsubj", DOWN) == ([0, 0], 0)
    assert told(sums, "nsubj", UP) == (pytest.approx([0.4, 0.2]), 1)
    assert told(sums, "det", DOWN) == (pytest.approx([0.4, 0.2]), 2)
    assert told(sums, "det", UP) == (pytest.approx([0.6, 0.3]), 1)
    assert sums.attending[:, :, DOWN].sum() == 4


def test_a_cut_word_gives_the_mean_of_its_pieces():
    segment = sentence(word_ids=[-1, 0, 1, 1, 2, 3, 4, -1])
    (sums,) = counted([segment], [map_of([0.1, 0.2, 0.5, 0.4, 0.3, 0.6])]).compute()
    assert told(sums, "nsubj", DOWN) == (pytest.approx([0.35, 0.175]), 1)


@pytest.mark.parametrize(("direction", "rests"), [(DOWN, False), (UP, True)])
def test_the_row_that_attends_is_measured(direction, rests):
    """Head words of objects rest on [SEP], objects do not: the table says so of the head that is named."""
    segments, maps = [], []
    for place in range(24):
        share = 0.01 * (place % 5)
        segments += [
            sentence(heads=[0, 1, 1, 1, 1], names=["root", *["obj"] * 4], document=f"d{place}", index=i)
            for i in range(2)
        ]
        table = map_of([0.6 + share, 0.02, 0.02, 0.02, 0.02])
        # The dependents point at their head word, or it at one of them.
        rows, columns = ([3, 4, 5, 6], 2) if direction == DOWN else (2, [3, 4, 5, 6])
        table[0, 0, rows, columns] = 0.09
        table[0, 0, 3:7, 3:7] = 0
        maps += [table, table]
    result = DependencyResult(counted(segments, maps), seed=3)
    (row,) = [
        each
        for each in noop_table(result, result.best()).to_dict("records")
        if (each["relation"], each["key_class"]) == ("obj", "sep")
    ]
    assert row["direction"] == ("head->dependent" if direction == UP else "dependent->head")
    resting, busy = 0.6 + 0.01 * np.mean([place % 5 for place in range(24)]), 0.02
    assert (row["n_words"], row["n_other_words"]) == ((48, 192) if rests else (192, 48))
    assert row["attending"] == pytest.approx(resting if rests else busy, abs=1e-12)
    assert row["others"] == pytest.approx(busy if rests else resting, abs=1e-12)
    assert row["difference"] == pytest.approx(row["attending"] - row["others"], abs=1e-12)
    assert (row["ci_low"] > 0.5) if rests else (row["ci_high"] < -0.5)


def test_a_relation_without_others_has_no_difference():
    # Every word is the head of the other: nobody is left to compare with.
    segments = [
        sentence(heads=[2, 1], names=["obj", "obj"], document=f"d{place}", index=i)
        for place in range(12)
        for i in range(5)
    ]
    result = DependencyResult(counted(segments, [map_of([0.2, 0.3])] * len(segments)))
    table = noop_table(result, result.best()).query("relation == 'obj'")
    assert table["attending"].tolist() == pytest.approx([0.25, 0.125])
    assert (table["n_other_words"] == 0).all()
    assert table[["others", "difference", "ci_low", "ci_high"]].isna().all(axis=None)
