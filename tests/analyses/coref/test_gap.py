"""GAP: rows worked by hand, long rows, a plain loop on random maps, and the law of accumulators."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.coref.gap import (
    GAP_BASELINES,
    GAP_MEASURES,
    GENDERS,
    GapAccumulator,
    GapCounts,
    GapQuestion,
    gap_segments,
)
from headscope.attention.scan import scan
from headscope.corpora.mentions.gap_rows import GapRow, read_gap
from headscope.encoding.encoder import Encoder
from headscope.statistics.sums.groups import GROUPS
from support.coreference import word_tokenizer
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments
from support.shared_data import data

WORDS = ("Ann", "met", "Sue", "Hill", ",", "then", "she", "left", "for", "the", "sea")


def row(number=0, *, truth=(True, False), gender="feminine", pronoun=6, a=(0, 1), b=(2, 4), words=WORDS):
    return GapRow(
        name=f"r{number}",
        id=f"row{number}",
        words=words,
        pronoun=pronoun,
        gender=gender,
        a=a,
        b=b,
        truth=truth,
        origin="rows.tsv, line 2",
    )


def encoder(**options):
    return Encoder(word_tokenizer(WORDS, **options))


def sums_of(rows, weights, **source):
    segments = list(gap_segments(rows, encoder(), max_length=16))
    made = HandMadeSource(segments, weights, **source)
    accumulator = GapAccumulator(made.layout)
    scan(made, [accumulator])
    (sums,) = accumulator.compute()
    return sums


def looking(*, ann=0.0, sue=0.0, hill=0.0, back=0.0):
    """A map in which the pronoun gives so much to each word, and the rest to [SEP]; Ann gives it `back`."""

    def weights(segment):
        size = len(segment)
        out = np.zeros((size, size))
        out[:, -1] = 1.0
        she = 1 + segment.words.index("she")
        for name, share in (("Ann", ann), ("Sue", sue), ("Hill", hill)):
            out[she, 1 + segment.words.index(name)] = share
        out[she, -1] = 1 - ann - sue - hill
        out[1 + segment.words.index("Ann"), she], out[1 + segment.words.index("Ann"), -1] = back, 1 - back
        return out[None, None]

    return weights


@pytest.mark.parametrize(
    ("shares", "marks"),
    [
        ({"ann": 0.4, "sue": 0.1, "hill": 0.3}, "a"),
        # Only the last word of `Sue Hill` is asked.
        ({"ann": 0.2, "sue": 0.5, "hill": 0.1}, "a"),
        ({"ann": 0.2, "hill": 0.3, "back": 0.9}, "b"),
        ({"ann": 0.2, "hill": 0.2}, "a"),
        ({}, "a"),
    ],
)
def test_which_name_a_head_marks(shares, marks):
    for truth in ((True, False), (False, True), (False, False)):
        sums = sums_of([row(truth=truth)], looking(**shares))
        right = truth["ab".index(marks)]
        assert sums.right[0, 0, 0].tolist() == [right, 0, right]
        assert sums.true.tolist() == [[any(truth), 0, any(truth)]]
        assert sums.rows.tolist() == [[1, 0, 1]]


def test_names_on_the_right_count_for_an_encoder_and_score_nothing_for_a_decoder():
    later = row(words=("then", "she", "met", "Ann", "and", "Sue", "Hill"), pronoun=1, a=(3, 4), b=(5, 7))
    later = replace(later, truth=(False, True))

    def weights(segment, causal):
        out = looking(ann=0.1, hill=0.6)(segment)
        if causal:
            out = np.tril(out)
            out[..., 0] += 1 - out.sum(-1)
        return out

    assert sums_of([later], lambda s: weights(s, False)).right[0, 0, 0].tolist() == [1, 0, 1]
    decoder = sums_of([later], lambda s: weights(s, True), kind="decoder")
    assert decoder.kind == "decoder"
    # Both names score 0: a tie, which a wins.
    assert decoder.right[0, 0, 0].tolist() == [0, 0, 0]


def test_accuracy_and_f1_by_hand():
    """Four rows; a head that always marks a: F1 as GAP counts names, 2 tp / (2 tp + fp + fn)."""
    rows = [
        row(0, truth=(True, False)),
        row(1, truth=(False, True)),
        row(2, truth=(False, False)),
        row(3, truth=(True, False), gender="masculine"),
    ]
    sums = sums_of(rows, looking(ann=0.5))
    accuracy = dict(zip(GENDERS, _value(sums, sums.right[:, 0, 0], "accuracy")))
    assert accuracy == {"all": 2 / 3, "masculine": 1.0, "feminine": 0.5}
    # tp, fp, fn: all 2, 2, 1; masculine 1, 0, 0; feminine 1, 2, 1
    f1 = dict(zip(GENDERS, _value(sums, sums.right[:, 0, 0], "f1")))
    assert f1 == {"all": 4 / 7, "masculine": 1.0, "feminine": 2 / 5}


def _value(sums, right, measure):
    hits, n = sums.ratio(right, measure)
    with np.errstate(invalid="ignore"):
        return (hits.sum(0) / n.sum(0)).tolist()


@pytest.mark.parametrize(
    ("pronoun", "a", "b", "nearest", "first"),
    [
        (6, (0, 1), (2, 4), 1, 0),
        (3, (0, 1), (4, 6), 1, 0),
        (2, (0, 1), (4, 6), 0, 0),
        (3, (1, 2), (5, 6), 0, 0),  # one word between, on either side
        (9, (4, 5), (0, 2), 0, 1),
    ],
)
def test_baselines_by_hand(pronoun, a, b, nearest, first):
    for truth in ((True, False), (False, True), (False, False)):
        question = GapQuestion(pronoun=pronoun, a=a, b=b, truth=truth, gender="feminine")
        expected = [0.5 * any(truth), float(truth[nearest]), float(truth[first])]
        assert question.baselines().tolist() == expected
    assert GAP_BASELINES == ("random", "nearest", "first")


def test_attention_to_a_name_is_attention_to_its_last_word():
    question = GapQuestion(pronoun=9, a=(0, 3), b=(4, 6), truth=(True, False), gender="feminine")
    assert question.last_words == (2, 5)


def test_random_is_the_mean_of_fair_coins():
    rows = [row(i, truth=[(True, False), (False, True), (False, False)][i % 3]) for i in range(9)]
    sums = sums_of(rows, looking())
    assert _value(sums, sums.baselines[:, 0], "accuracy")[0] == 0.5
    rng = np.random.default_rng(0)
    truth = np.array([r.truth for r in rows])
    f1 = []
    for _ in range(4000):
        marked = rng.integers(0, 2, size=len(rows))
        tp = truth[np.arange(len(rows)), marked].sum()
        f1.append(2 * tp / (2 * tp + (len(rows) - tp) + (truth.sum() - tp)))
    assert abs(np.mean(f1) - _value(sums, sums.baselines[:, 0], "f1")[0]) < 0.01


def test_long_rows_lose_their_end_then_their_beginning():
    counts = GapCounts()
    words = ("x1",) * 4 + WORDS + ("x2",) * 5
    long = row(words=words, pronoun=10, a=(4, 5), b=(6, 8))
    tokenizer = Encoder(word_tokenizer(words))

    def made(length):
        return list(gap_segments([long], tokenizer, max_length=length, counts=counts))

    (whole,) = made(22)
    assert (whole.words, whole.shortened) == (words, False)
    (end,) = made(17)
    assert (end.words, end.shortened) == (words[:15], True)
    assert end.fields["gap"].pronoun == 10
    (both,) = made(11)
    assert both.words == words[2:11]
    question = both.fields["gap"]
    assert (question.pronoun, question.a, question.b, question.last_words) == (8, (2, 3), (4, 6), (2, 5))
    (tight,) = made(9)
    assert tight.words == words[4:11]
    assert made(8) == []
    assert counts == GapCounts(rows=5, used=4, shortened=3, lost=Counter({"pronoun and names do not fit": 1}))


def test_a_name_without_pieces_is_lost():
    counts = GapCounts()
    tokenizer = encoder(dropped="Hill")
    assert list(gap_segments([row()], tokenizer, max_length=16, counts=counts)) == []
    assert counts.lost == {"pronoun or name has no piece": 1}


def questions(number, *, seed=0):
    """Made-up segments with random questions; some have none."""
    rng = np.random.default_rng(seed)
    out = []
    for segment in made_up_segments(number, seed=seed, longest=12):
        known = np.unique(segment.word_ids[segment.word_ids >= 0])
        if len(known) > 2:
            pronoun, a, b = rng.permutation(known)[:3].tolist()
            truth = [(True, False), (False, True), (False, False)][int(rng.integers(3))]
            question = GapQuestion(
                pronoun=pronoun,
                a=(max(0, a - 1), a + 1),
                b=(b, b + 1),
                truth=truth,
                gender=GENDERS[1 + int(rng.integers(2))],
            )
            segment = replace(segment, fields={"gap": question})
        out.append(segment)
    return out


SEGMENTS = questions(24)


def plain_loop(segments, maps):
    right = np.zeros((*maps[0].shape[:2], 3))
    true, rows = np.zeros(3), np.zeros(3)
    for segment, weights in zip(segments, maps):
        question = segment.fields.get("gap")
        if question is None:
            continue
        places = [0, GENDERS.index(question.gender)]
        rows[places] += 1
        true[places] += any(question.truth)
        for layer in range(weights.shape[0]):
            for head in range(weights.shape[1]):
                scores = []
                for last in question.last_words:
                    shares = [
                        sum(weights[layer, head, q, k] for k in np.flatnonzero(segment.word_ids == last))
                        for q in np.flatnonzero(segment.word_ids == question.pronoun)
                    ]
                    scores.append(np.mean(shares))
                right[layer, head, places] += question.truth[int(scores[1] > scores[0])]
    return right, true, rows


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_random_maps_agree_with_the_plain_loop(kind):
    def weights(segment):
        return random_map(segment, causal=kind == "decoder")

    right, true, rows = plain_loop(SEGMENTS, [weights(segment) for segment in SEGMENTS])
    assert 0 < true[0] < rows[0] < len(SEGMENTS)
    source = HandMadeSource(SEGMENTS, weights, kind=kind, side="left")
    accumulator = GapAccumulator(source.layout)
    scan(source, [accumulator])
    (sums,) = accumulator.compute()
    np.testing.assert_array_equal(sums.right.sum(0), right)
    np.testing.assert_array_equal(sums.true.sum(0), true)
    np.testing.assert_array_equal(sums.rows.sum(0), rows)


@settings(max_examples=15)
@given(
    order=st.permutations(range(len(SEGMENTS))),
    batch_size=st.integers(1, 16),
    height=st.one_of(st.none(), st.integers(1, 12)),
    side=st.sampled_from(["left", "right"]),
    cut=st.integers(0, len(SEGMENTS)),
)
def test_the_law_with_questions(order, batch_size, height, side, cut):
    whole = HandMadeSource(SEGMENTS, random_map)
    expected = GapAccumulator(whole.layout)
    scan(whole, [expected])
    shuffled = [SEGMENTS[i] for i in order]
    parts = []
    for share in (shuffled[cut:], shuffled[:cut]):
        accumulator = GapAccumulator(whole.layout)
        if share:
            source = HandMadeSource(share, random_map, batch_size=batch_size, height=height, side=side)
            scan(source, [accumulator])
        parts.append(GapAccumulator.from_state(accumulator.state()))
    parts[0].merge(parts[1])
    for found, wanted in zip(parts[0].compute(), expected.compute()):
        for name in ("right", "baselines", "true", "rows"):
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_more_rows_than_groups_and_no_rows():
    segments = questions(GROUPS + 90, seed=5)
    source = HandMadeSource(segments, random_map, batch_size=64)
    accumulator = GapAccumulator(source.layout)
    scan(source, [accumulator])
    assert accumulator.sums.folded or len(accumulator.sums) <= GROUPS
    right, true, rows = plain_loop(segments, [random_map(segment) for segment in segments])
    (sums,) = accumulator.compute()
    np.testing.assert_array_equal(sums.right.sum(0), right)
    np.testing.assert_array_equal(sums.rows.sum(0), rows)
    np.testing.assert_array_equal(sums.true.sum(0), true)
    none = GapAccumulator(source.layout)
    scan(HandMadeSource([replace(s, fields={}) for s in SEGMENTS], random_map), [none])
    assert none.compute()[0].right.shape == (0, 2, 3, 3)


def test_other_pieces_are_refused():
    layout = HandMadeSource(SEGMENTS, random_map).layout
    with pytest.raises(ValueError, match=r"^pooling 'sum' is not known; choose one of mean, first, max$"):
        GapAccumulator(layout, pooling="sum")
    with pytest.raises(ValueError, match=r"pooling first; merge scans of one model only$"):
        GapAccumulator(layout).merge(GapAccumulator(layout, pooling="first"))


def test_baselines_on_the_validation_rows():
    """Counted by hand from offsets of characters, not words."""
    path = data("gap/gap-validation.tsv")
    rows = list(read_gap(path))
    table = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert len(rows) == len(table) == 454
    first = sum((line[6] if int(line[5]) <= int(line[8]) else line[9]) == "TRUE" for line in table)
    true = sum("TRUE" in (line[6], line[9]) for line in table)
    questions = [GapQuestion(pronoun=r.pronoun, a=r.a, b=r.b, truth=r.truth, gender=r.gender) for r in rows]
    totals = np.sum([question.baselines() for question in questions], axis=0)
    assert totals[0] == true / 2 == 196
    assert totals[2] == first
    assert round(float(totals[1]) / true, 3) == 0.559
    assert GAP_MEASURES == ("accuracy", "f1")
