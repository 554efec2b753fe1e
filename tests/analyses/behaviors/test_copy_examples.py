"""Examples of copies and of induction: which pairs and inputs, and what is cut out of them, held to plain loops."""

import numpy as np
import pytest

from headscope.analyses.behaviors.copy_examples import CopyExampleCollector, copy_pairs, repeating_inputs
from headscope.attention.scan import scan
from headscope.encoding.segment import NO_WORD, Segment
from support.hand_made import HandMadeSource
from support.inputs import CLS, SEP


def segment(document, inner):
    ids = np.array([CLS, *inner, SEP])
    words = np.array([NO_WORD, *range(len(inner)), NO_WORD])
    return Segment(document=document, index=0, ids=ids, token_types=np.zeros_like(ids), word_ids=words)


def plain_pairs(ids):
    """(row, key) of copies, and of what came after them; special tokens are no rows."""
    copies, behind = set(), set()
    for row in range(len(ids)):
        for key in range(row):
            if ids[row] == ids[key] and ids[row] not in (CLS, SEP):
                copies.add((row, key))
                if key + 1 < row:
                    behind.add((row, key + 1))
    return {"duplicate": copies, "induction": behind}


# One token in 46 to 60 stands often, so that stretches differ in how much they repeat.
LONG = segment("long", np.random.default_rng(3).integers(40, 60, size=90))
SHORT = segment("short", [50, 51, 52, 53, 50, 51, 52, 54, 54])
PLAIN = segment("plain", range(20, 40))


def looking(one):
    """Head 1 looks at what came after the last copy, else at itself; head 2 at the copy, with 0.4; head 3 at key 0."""
    n, pairs = len(one), plain_pairs(one.ids)
    maps = np.zeros((1, 3, n, n))
    for row in range(n):
        behind = [key for at, key in pairs["induction"] if at == row]
        copies = [key for at, key in pairs["duplicate"] if at == row]
        maps[0, 0, row, max(behind, default=row)] = 1
        maps[0, 1, row, row] += 0.6
        maps[0, 1, row, max(copies, default=row)] += 0.4
        maps[0, 2, row, 0] = 1
    return maps


def collected(segments, **how):
    collector = CopyExampleCollector()
    scan(HandMadeSource(segments, looking, kind="decoder", **how), [collector])
    return {(one.excerpt.wanted.head, one.excerpt.wanted.behavior): one for one in collector.examples}


@pytest.mark.parametrize("one", [LONG, SHORT, PLAIN], ids=lambda one: one.document)
def test_pairs_are_those_of_a_plain_loop(one):
    pairs = copy_pairs(one.ids, np.isin(one.ids, (CLS, SEP)))
    assert {name: set(zip(*np.nonzero(on))) for name, on in pairs.items()} == plain_pairs(one.ids)


@pytest.mark.parametrize("how", [{}, {"side": "left"}, {"height": 7}, {"batch_size": 1}])
def test_a_head_is_shown_where_it_does_it(how):
    examples = collected([SHORT, PLAIN], **how)
    # The third looks at the first token alone, and has no example.
    assert {key for key, one in examples.items() if one.value >= 0.25} == {(1, "induction"), (2, "duplicate")}
    induction = examples[1, "induction"]
    assert induction.excerpt.wanted.document == "short"
    np.testing.assert_array_equal(induction.excerpt.queries, SHORT.ids)
    # Rows 5, 6 and 7 are the second 50, 51 and 52; the second 54 stands right behind the first.
    assert induction.arcs == [(5, 2), (6, 3), (7, 4)]
    assert induction.value == pytest.approx(1.0)
    duplicate = examples[2, "duplicate"]
    assert duplicate.arcs == [(5, 1), (6, 2), (7, 3)]
    assert duplicate.value == pytest.approx(0.4)


@pytest.mark.parametrize("how", [{}, {"side": "left", "height": 11}])
def test_of_a_long_input_the_stretch_that_does_most_is_cut_out(how):
    example = collected([LONG, SHORT], **how)[1, "induction"]
    weights, on = looking(LONG)[0, 0], plain_pairs(LONG.ids)["induction"]

    def amount(rows):
        return sum(weights[row, key] for row, key in on if row in rows and key in rows)

    special = {0, len(LONG) - 1}
    best = max(amount({*range(start, start + 30), *special}) for start in range(len(LONG) - 29))
    assert example.excerpt.wanted.document == "long"
    rows = example.excerpt.rows.tolist()
    assert len(rows) <= 32
    assert example.amount == pytest.approx(best)
    inside = {row for row, key in on if row in rows and key in rows}
    assert example.value == pytest.approx(best / len(inside))
    for query, key in example.arcs:
        assert (rows[query], rows[key]) in on
        assert example.excerpt.weights[query, key] == 1


def test_inputs_are_read_that_repeat_pairs_of_tokens():
    twice = segment("twice", [30, 31, 32, 33, 34, 30, 31, 32, 33])
    once = segment("once", [30, 31, 32, 30, 31])
    far = segment("far", [30, 31, *range(100, 140), 30, 31])
    single = segment("single", [30, 31, 30, 33])
    given = [single, far, once, twice]
    assert [one.document for one in repeating_inputs(given, tokens=1000)] == ["twice", "once"]
    assert [one.document for one in repeating_inputs(given, tokens=len(twice) + 1)] == ["twice"]
    assert repeating_inputs([single], tokens=1000) == []
