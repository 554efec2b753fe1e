"""Rows that stand for every strength: drawn by a hash, whatever the order; against a plain loop over all rows."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.distribution.compute import SHOWN, decile_rows
from headscope.analyses.distribution.examples import (
    AFTER,
    BEFORE,
    MOST_KEPT,
    NO_KEY,
    PADDING,
    ROW,
    STRENGTHS,
    ExampleAccumulator,
)
from headscope.analyses.distribution.sums import DistributionAccumulator
from headscope.analyses.distribution.tables import BINS, MEASURES, NAMES
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from support.hand_made import HandMadeSource, beside_a_sink, random_map, random_sink
from support.hashes import plain_hash
from support.inputs import made_up_segments, vocabulary

SEGMENTS = made_up_segments(60, seed=3, longest=30, documents=25)


def scanned(source, *, seed=0):
    examples, counted = ExampleAccumulator(source.layout, seed=seed), DistributionAccumulator(source.layout)
    scan(source, [examples, counted])
    return examples.compute()[0], counted.compute()[0]


def test_what_is_kept_is_what_a_plain_loop_keeps():
    known = vocabulary()
    found, _ = scanned(HandMadeSource(SEGMENTS, random_map, batch_size=7, height=9), seed=5)
    expected = defaultdict(list)
    for segment in SEGMENTS:
        maps, classes = random_map(segment), known.of(segment.ids)
        for (layer, head, row), _ in np.ndenumerate(maps[..., 0]):
            if classes[row] in (KeyClass.CLS, KeyClass.SEP):
                continue
            line = maps[layer, head, row]
            written = float(sum(line * (head + 1 + segment.ids % 7)))  # of the hand-made source
            (place,) = np.flatnonzero(np.histogram([written], MEASURES["output_norm"].edges)[0])
            around = [
                int(segment.ids[at]) if 0 <= at < len(segment) else PADDING
                for at in range(row - BEFORE, row + AFTER + 1)
            ]
            key = int(line.argmax())
            told = (
                plain_hash(segment.document, segment.index, row, "encoder", layer, head, seed=5),
                (segment.document, segment.index),
                *(row, key, int(segment.ids[key]), around, round(written, 4), round(float(line[key]), 5)),
            )
            expected[layer, head, int(place)].append(told)
    expected = {place: sorted(rows)[:MOST_KEPT] for place, rows in expected.items()}
    own = defaultdict(list)
    assert set(found.strength) == {STRENGTHS.index("output_norm")}
    for row, *place in zip(found.rows, found.layer, found.head, found.bins, strict=True):
        own[tuple(map(int, place))].append(
            (
                int(row["hash"]),
                found.segments[row["segment"]],
                *(int(row[name]) for name in ("row", "key", "key_id")),
                row["ids"].tolist(),
                *(round(float(row["value"]), 4), round(float(row["weight"]), 5)),
            )
        )
    assert own.keys() == expected.keys()
    for place, rows in own.items():
        for one, other in zip(rows, expected[place], strict=True):
            assert one[:-2] == other[:-2]
            assert one[-2:] == pytest.approx(other[-2:], abs=2e-4)
    assert max(map(len, own.values())) == MOST_KEPT


def test_another_seed_keeps_other_rows():
    hashes = [set(scanned(HandMadeSource(SEGMENTS, random_map), seed=seed)[0].rows["hash"]) for seed in (0, 1)]
    assert not hashes[0] & hashes[1]


def test_a_decile_shows_rows_of_its_own():
    found, counted = scanned(HandMadeSource(SEGMENTS, random_map))
    chosen = list(decile_rows(found, counted))
    values = {(layer, head): [] for layer in (1, 2) for head in (1, 2, 3)}
    known = vocabulary()
    for segment in SEGMENTS:
        asked = ~np.isin(known.of(segment.ids), (KeyClass.CLS, KeyClass.SEP))
        for (layer, head), own in values.items():
            own += (random_map(segment)[layer - 1, head - 1] @ (head + segment.ids % 7))[asked].tolist()
    inside = 0
    for one in chosen:
        assert 1 <= one.rank <= SHOWN
        cuts = np.quantile(values[one.layer, one.head], np.arange(11) / 10)
        value = found.rows[one.at]["value"]
        # Cuts are known to a bin, an eighth of their size.
        assert cuts[one.decile - 1] / 1.13 <= value <= cuts[one.decile] * 1.13
        inside += cuts[one.decile - 1] <= value <= cuts[one.decile]
    assert inside > 0.6 * len(chosen)
    assert {(one.layer, one.head, one.decile) for one in chosen} == {
        (*head, decile) for head in values for decile in range(1, 11)
    }


def test_rows_of_one_value_stand_for_every_decile():
    def on_itself(segment):
        return np.eye(len(segment))[None, None]

    same = [
        replace(segment, ids=np.where(segment.word_ids < 0, segment.ids, 7))
        for segment in SEGMENTS
        if (segment.word_ids >= 0).any()
    ]
    found, counted = scanned(HandMadeSource(same, on_itself))
    chosen = list(decile_rows(found, counted))
    assert [one.decile for one in chosen] == [decile for decile in range(1, 11) for _ in range(SHOWN)]


def test_what_is_not_known_to_be_written_is_drawn_by_its_content():
    source = HandMadeSource(SEGMENTS, random_map)
    run = source.run
    source.run = lambda consumer, needs: run(consumer, needs - {"written"})
    found, counted = scanned(source)
    assert set(found.strength) == {STRENGTHS.index("non_sink")}
    assert counted.counts[..., NAMES.index("output_norm"), :].sum() == 0
    assert len(list(decile_rows(found, counted))) > 100


def test_a_learned_sink_is_a_key_without_a_token():
    found, _ = scanned(HandMadeSource(SEGMENTS, beside_a_sink, sink=random_sink))
    by_name = {(segment.document, segment.index): segment for segment in SEGMENTS}
    seen = set()
    for row, layer, head in zip(found.rows, found.layer, found.head, strict=True):
        segment = by_name[found.segments[row["segment"]]]
        line, sink = (beside_a_sink(segment)[layer, head, row["row"]], random_sink(segment)[layer, head, row["row"]])
        expected = NO_KEY if sink > line.max() else int(line.argmax())
        assert row["key"] == expected
        assert row["weight"] == pytest.approx(max(sink, line.max()), rel=1e-6)
        seen.add(expected == NO_KEY)
    assert seen == {True, False}


def test_the_memory_of_a_head_is_bounded():
    assert ROW.itemsize <= 112
    # A head's rows at most: 4 of each of 128 bins of one measure.
    assert MOST_KEPT * BINS * ROW.itemsize < 60_000
