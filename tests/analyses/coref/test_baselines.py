"""Baselines by hand, and what the rules know of number, gender and person."""

import numpy as np
import pytest

from headscope.analyses.coref.baselines import (
    BASELINES,
    agreement,
    baseline_hits,
    choices,
    describe,
    features_of,
    lexicon,
)
from headscope.analyses.coref.mentions import FIELD, MENTION_TYPES
from headscope.analyses.coref.sums import CoreferenceAccumulator
from headscope.attention.scan import scan
from support.coreference import mention_table, segments_with_mentions
from support.hand_made import HandMadeSource, random_map

TYPE = {name: i for i, name in enumerate(MENTION_TYPES)}


def read(text):
    """Words and a table from a text such as `[the king:k:nominal] saw [him:b:pronoun]`; the last word heads."""
    words, spans = [], []
    for chunk in text.replace("[", "\n[").replace("]", "\n").split("\n"):
        if not chunk.startswith("["):
            words += chunk.split()
            continue
        inside, entity, kind = chunk[1:].rsplit(":", 2)
        start = len(words)
        words += inside.split()
        spans.append((start, len(words), entity, TYPE[kind]))
    names = sorted({span[2] for span in spans})
    table = mention_table(
        starts=np.array([s[0] for s in spans]),
        ends=np.array([s[1] for s in spans]),
        heads=np.array([s[1] - 1 for s in spans]),
        entities=np.array([names.index(s[2]) for s in spans]),
        types=np.array([s[3] for s in spans]),
        words=len(words),
    )
    return words, table


def chosen(text):
    """The words that each baseline names for the last mention."""
    words, table = read(text)
    return [None if place < 0 else words[place] for place in choices(words, table)[:, -1]]


CASES = [
    # nearest, head match, head match else nearest, rules
    ("[Mr Bennet:a:proper] and [the house:b:nominal] and [he:a:pronoun]", ["house", None, "house", "Bennet"]),
    ("[Anna:a:proper] met [Peter:b:proper] and [she:a:pronoun]", ["Peter", None, "Peter", "Anna"]),
    # A head that matches is nearer than the same string: the string goes first by the rules.
    (
        "[the old king:a:nominal] fought [a young King:b:nominal] until [the old king:a:nominal]",
        ["King", "King", "King", "king"],
    ),
    ("[the king:a:nominal] saw [a fool:b:nominal] , [a King:a:nominal]", ["fool", "king", "king", "king"]),
    # Nothing agrees: any, the nearest.
    ("[she:a:pronoun] kept [a cat:b:nominal] , [them:a:pronoun]", ["cat", None, "cat", "cat"]),
    # Person: `I` is not `she`.
    ("[I:a:pronoun] saw [her:b:pronoun] , [me:a:pronoun]", ["her", None, "her", "I"]),
    ("[the girls:a:nominal] told [a girl:b:nominal] that [they:a:pronoun]", ["girl", None, "girl", "girls"]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_choices_by_hand(text, expected):
    assert chosen(text) == expected


def test_hits_by_hand():
    text = "[Anna:a:proper] met [Peter:b:proper] . [He:b:pronoun] saw [Anna:a:proper] and [she:a:pronoun] left"
    words, table = read(text)
    assert [words[i] for i in table.scored_heads] == ["He", "Anna", "she"]
    right = dict(zip(BASELINES, baseline_hits(words, table).tolist()))
    assert right == {
        "nearest": [True, False, True],
        "head match": [False, True, False],
        "head match, else nearest": [True, True, True],
        "rules": [True, True, True],
    }


def test_the_same_string_is_told_from_the_same_head():
    words, table = read("[the king:a:nominal] , [a king:b:nominal] , [the King:a:nominal]")
    assert [words[i] for i in table.heads] == ["king", "king", "King"]
    assert choices(words, table).tolist() == [[4], [4], [4], [1]]
    assert baseline_hits(words, table).tolist() == [[False], [False], [False], [True]]


def test_no_mention_counts():
    words, table = read("[Anna:a:proper] met [Peter:b:proper]")
    assert baseline_hits(words, table).shape == (4, 0)


def test_random_mentions_agree_with_a_plain_loop():
    """Every sieve mention by mention; the sums of the accumulator are sums of these."""
    segments = segments_with_mentions(40, seed=3, longest=16, documents=7)
    totals: dict[str, np.ndarray] = {}
    for segment in segments:
        table = segment.fields.get(FIELD)
        if table is None or not len(table.scored):
            continue
        words = [word.lower() for word in segment.words]
        said = [
            describe(segment.words[s:e], h - s, named=t == TYPE["proper"])
            for s, e, h, t in zip(*(a.tolist() for a in (table.starts, table.ends, table.heads, table.types)))
        ]
        expected = np.zeros((4, len(table.scored)), dtype=bool)
        for column, i in enumerate(table.scored.tolist()):
            head = table.heads[i]
            earlier = [j for j in range(i) if table.heads[j] < head]
            good = {int(table.heads[j]) for j in range(len(table)) if table.entities[j] == table.entities[i]}

            def string(j, table=table, words=words):
                return words[table.starts[j] : table.ends[j]]

            strings = [j for j in earlier if string(j) == string(i)]
            heads = [j for j in earlier if words[table.heads[j]] == words[head]]
            agree = [j for j in earlier if all(set(a) & set(b) for a, b in zip(said[i], said[j]))]
            for row, sieves in enumerate(([earlier], [heads], [heads, earlier], [strings, heads, agree, earlier])):
                first = next((sieve for sieve in sieves if sieve), [])
                expected[row, column] = bool(first) and max(int(table.heads[j]) for j in first) in good
        np.testing.assert_array_equal(baseline_hits(segment.words, table), expected)
        total = totals.setdefault(segment.document, np.zeros((4, 4)))
        total += expected @ table.scored_types.astype(float)
    source = HandMadeSource(segments, random_map)
    accumulator = CoreferenceAccumulator(source.layout)
    scan(source, [accumulator])
    (sums,) = accumulator.compute()
    np.testing.assert_array_equal(sums.baselines, np.stack([totals[name] for name in sorted(totals)]))


DESCRIBED = [
    ("she", 0, False, ("s", "f", "3")),
    ("us", 0, False, ("p", "mf", "1")),
    ("US", 0, True, ("s", "mfn", "3")),
    ("Yourself", 0, False, ("s", "mf", "2")),
    ("Mrs. Dean", 1, True, ("s", "f", "3")),
    ("Dr Mary Malone", 2, True, ("s", "f", "3")),
    ("Dr Malone", 1, True, ("s", "mf", "3")),
    ("Malone", 0, True, ("s", "mfn", "3")),
    ("Uncle Tom", 1, True, ("s", "m", "3")),
    ("Robin", 0, True, ("s", "mf", "3")),
    ("Lambeth Palace", 1, True, ("s", "n", "3")),
    ("the Bennets", 1, True, ("p", "mfn", "3")),
    ("Hastings", 0, True, ("sp", "mfn", "3")),
    ("James", 0, True, ("s", "m", "3")),
    ("Jane and Bingley", 2, True, ("p", "mfn", "3")),
    ("my father and mother", 1, False, ("p", "mfn", "3")),
    ("the king of France and Navarre", 1, False, ("s", "m", "3")),
    ("her sisters", 1, False, ("p", "f", "3")),
    ("the ladies", 1, False, ("p", "f", "3")),
    ("two policemen", 1, False, ("p", "m", "3")),
    ("the old countess", 2, False, ("s", "f", "3")),
    ("the cities", 1, False, ("p", "n", "3")),
    ("the people", 1, False, ("p", "mf", "3")),
    ("every sheep", 1, False, ("p", "n", "3")),
    ("this class", 1, False, ("s", "mfn", "3")),
    ("a thingamajig", 1, False, ("s", "mfn", "3")),
    ("thingamajigs", 0, False, ("p", "mfn", "3")),
]


@pytest.mark.parametrize(("text", "head", "named", "expected"), DESCRIBED)
def test_number_gender_and_person(text, head, named, expected):
    assert describe(text.split(), head, named=named) == expected


def test_features_are_bits_and_agree_where_they_meet():
    words, table = read("[they:a:pronoun] , [her sisters:a:nominal] , [her:b:pronoun] , [Malone:b:proper]")
    features = features_of(words, table)
    assert features.tolist() == [[2, 7, 4], [2, 2, 4], [1, 2, 4], [1, 7, 4]]
    expected = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]], dtype=bool)
    np.testing.assert_array_equal(agreement(features, features), expected)


def test_the_lexicon_is_in_order():
    known = lexicon()
    assert len(known.names) > 400
    for number, gender, person in known.pronouns.values():
        assert number
        assert gender
        assert person
        assert set(number) <= set("sp")
        assert set(gender) <= set("mfn")
        assert set(person) <= set("123")
    tables = (known.pronouns, known.titles, known.persons, known.plurals, known.names)
    words = [word for table in (*tables, known.things, known.singular_s) for word in table]
    assert all(word == word.lower() and word.strip() for word in words)
    for table in tables[1:]:
        assert set(table.values()) <= {"m", "f", "mf", "n"}
    # A word told twice would be told by the order of the lists.
    assert not set(known.persons) & set(known.things)
    assert not set(known.plurals) & set(known.persons)
