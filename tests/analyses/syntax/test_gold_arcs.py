"""Gold arcs as arrays: sentences worked by hand, and a plain loop over random trees."""

import re

import numpy as np
import pytest

from headscope.analyses.syntax.gold_arcs import OFFSETS, ArcTable
from headscope.encoding.sentence_packing import arcs_of_fields
from headscope.errors import InputError
from headscope.statistics.tables.frames import DISTANCES
from support.trees import WORDS, distance_name, random_tree

TABLE = ArcTable(("nsubj", "obj", "root", "punct", "other"))


def cell(table, relation, distance):
    return table.relations.index(relation) * len(DISTANCES) + DISTANCES.index(distance)


def test_a_sentence_worked_by_hand():
    # she saw dogs .
    arcs = TABLE.arcs(("she", "saw", "dogs", "."), [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"])
    assert arcs.heads.tolist() == [1, -1, 1, 1]
    assert arcs.dependents.tolist() == [0, 1, 2, 3]
    assert arcs.cells[[0, 2, 3]].tolist() == [
        cell(TABLE, "nsubj", "1"),
        cell(TABLE, "obj", "1"),
        cell(TABLE, "punct", "2"),
    ]
    assert arcs.cells[1] // len(DISTANCES) == TABLE.relations.index("root")
    right = [[OFFSETS[place] for place in np.flatnonzero(row)] for row in arcs.offsets]
    assert right == [[1], [], [-1], [-2]]


def test_offsets_that_leave_the_sentence_are_wrong():
    for number in (1, 2, 3, 7, 12):
        for head in range(number + 1):
            arcs = TABLE.arcs(("x",) * number, [head] * number, ["obj"] * number)
            for word in range(number):
                right = [OFFSETS[place] for place in np.flatnonzero(arcs.offsets[word])]
                apart = head - 1 - word
                assert right == ([apart] if head and 0 < abs(apart) <= 5 else [])


@pytest.mark.parametrize(
    ("distance", "name"),
    [(1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6-10"), (10, "6-10"), (11, "over 10"), (40, "over 10")],
)
def test_distances_in_both_directions(distance, name):
    number = distance + 1
    arcs = TABLE.arcs(("x",) * number, [number, *[1] * distance], ["obj", *["nsubj"] * distance])
    assert arcs.cells[0] == cell(TABLE, "obj", name)
    assert arcs.cells[-1] == cell(TABLE, "nsubj", name)
    assert distance_name(distance) == name


def test_which_relations_are_counted_apart():
    counts = {
        "obj": 100,
        "nsubj": 300,
        "nsubj:pass": 99,
        "root": 500,
        "punct": 20,
        "dep": 100,
        "case": 99,
        "other": 900,
    }
    assert ArcTable.of(counts).relations == ("nsubj", "dep", "obj", "root", "punct", "other")
    assert ArcTable.of(counts, fewest=99).relations == (
        *("nsubj", "dep", "obj", "case", "nsubj:pass"),
        *("root", "punct", "other"),
    )
    folded = ArcTable.of({"acl": 60, "acl:relcl": 60, "case": 99}, folded=True)
    assert folded.relations == ("acl", "root", "punct", "other")
    arcs = folded.arcs(("a", "b", "c"), [2, 0, 2], ["acl:relcl", "root", "case:of"])
    assert [folded.relations[c // len(DISTANCES)] for c in arcs.cells] == ["acl", "root", "other"]
    # Kept apart, a rare sub-type of a frequent relation is not that relation, but punctuation is punctuation.
    arcs = TABLE.arcs(("a", "b", "c"), [2, 0, 2], ["nsubj:pass", "root", "punct:x"])
    assert [TABLE.relations[c // len(DISTANCES)] for c in arcs.cells] == ["other", "root", "punct"]


def test_rows_of_tables():
    rows = ArcTable(("obj", "punct:x", "root", "punct", "other")).aggregates
    assert {name: own.tolist() for name, own in rows.items()} == {
        "all": [0, 1, 2, 3, 4],
        "all_but_punct_root": [0, 4],
        "obj": [0],
        "punct:x": [1],
        "root": [2],
        "punct": [3],
    }


# her cat 's tail fell; the possessor `cat` hangs on `tail`
POSS = (["poss", "poss", "possessive", "nsubj", "root"], [2, 4, 2, 5, 0])


@pytest.mark.parametrize(
    ("clitic", "applies", "original"),
    [
        ("'s", True, True),
        ("'", True, False),
        ("’s", True, False),
        ("s'", False, True),
        ("'S", False, False),
        ("s", False, False),
    ],
)
def test_the_clitic_answers_for_the_possessor(clitic, applies, original):
    words, (relations, heads) = ("her", "cat", clitic, "tail", "fell"), POSS
    arcs = TABLE.arcs(words, heads, relations)
    assert arcs.dependents.tolist() == [0, 2 if applies else 1, 2, 3, 4]
    # The baseline answers from the clitic as well.
    right = [OFFSETS[place] for place in np.flatnonzero(arcs.offsets[1])]
    assert right == ([1] if applies else [2])
    assert arcs.heads.tolist() == [1, 3, 1, 4, -1]
    compat = ArcTable(TABLE.relations, compat=True).arcs(words, heads, relations)
    assert compat.dependents.tolist() == [0, 2 if original else 1, 2, 3, 4]


def test_the_rule_is_for_poss_and_needs_a_word_after_it():
    heads = [2, 0, 2]
    assert TABLE.arcs(("cat", "tail", "'s"), heads, ["nmod:poss", "root", "poss"]).dependents.tolist() == [0, 1, 2]
    assert TABLE.arcs(("cat", "'s", "tail"), [3, 1, 0], ["nmod:poss", "case", "root"]).dependents.tolist() == [0, 1, 2]


def notebook_offsets(words, heads, relations):
    """Which offsets the notebook calls right for each word, 1-based with 0 for the root, as its loop says."""
    number = len(words)
    right = np.zeros((number, len(OFFSETS)), dtype=bool)
    for column, offset in enumerate(OFFSETS):
        predictions = [max(0, min(i + offset + 1, number)) for i in range(number)]
        for i, (prediction, head, relation) in enumerate(zip(predictions, heads, relations)):
            correct = prediction == head
            if relation == "poss" and prediction < number and i + 1 < number and words[i + 1] in ("'s", "s'"):
                correct = predictions[i + 1] == head
            right[i, column] = correct
    return right


def test_offsets_as_the_notebook_has_them():
    rng = np.random.default_rng(0)
    table = ArcTable(TABLE.relations, compat=True)
    differ = roots = 0
    for _ in range(300):
        number = int(rng.integers(1, 9))
        heads, relations = random_tree(number, rng)
        words = tuple(rng.choice(WORDS, size=number).tolist())
        expected = notebook_offsets(words, heads, relations)
        np.testing.assert_array_equal(table.arcs(words, heads, relations).offsets, expected)
        differ += int((expected != TABLE.arcs(words, heads, relations).offsets).sum())
        roots += int(expected[heads.index(0)].sum())
    assert differ > 100  # or this shows little
    assert roots > 100


def test_fields_without_a_tree():
    with pytest.raises(
        InputError,
        match=r"^segment 1 of document d has no tree: expected the fields heads and relns beside its words; give a "
        r"treebank, or maps that were extracted from one$",
    ):
        arcs_of_fields({"heads": [0]}, 1, "segment 1 of document d")
    for fields in ({"heads": [0, 1], "relns": ["root"]}, {"heads": [0], "relns": ["root"]}):
        message = (
            f"d: expected a head and a relation for each of its 2 words, found {len(fields['heads'])} heads and "
            f"{len(fields['relns'])} relations"
        )
        with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
            arcs_of_fields(fields, 2, "d")


def test_a_sentence_that_was_cut_keeps_the_arcs_of_its_words():
    assert arcs_of_fields({"heads": [3, 1, 0], "relns": ["a", "b", "root"]}, 2, "d") == ([3, 1], ["a", "b"])
    # Its head was cut off: no offset finds it.
    assert not TABLE.arcs(("x", "y"), [3, 1], ["obj", "obj"]).offsets[0].any()
    assert arcs_of_fields({"heads": (0,), "relns": ("root",)}, 1, "d") == ([0], ["root"])
