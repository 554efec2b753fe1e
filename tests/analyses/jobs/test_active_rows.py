"""The sample of active rows, against a plain loop over all rows."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.distribution.kept_rows import PADDING
from headscope.analyses.distribution.row_hashes import row_hashes, segment_key
from headscope.analyses.jobs.active_rows import (
    ACTIVE_ROW,
    AFTER,
    BEFORE,
    ActiveRowAccumulator,
    rows_for,
)
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from support.hand_made import HandMadeSource, beside_a_sink, random_map, random_sink
from support.inputs import made_up_segments, vocabulary

MOST = 40


def repeated(segment):
    """A segment whose second half says its first once more, so that there are earlier copies."""
    ids, half = segment.ids.copy(), (len(segment) - 2) // 2
    ids[1 + half : 1 + 2 * half] = ids[1 : 1 + half]
    return replace(segment, ids=ids)


SEGMENTS = [repeated(one) for one in made_up_segments(50, seed=9, longest=24, documents=20)]


def scanned(source, **how):
    rows = ActiveRowAccumulator(source.layout, **how)
    scan(source, [rows])
    return rows.compute()[0]


@pytest.mark.parametrize("sink", [False, True])
def test_what_is_kept_is_what_a_plain_loop_keeps(sink):
    known, maps = vocabulary(), beside_a_sink if sink else random_map
    how = {"sink": random_sink} if sink else {}
    found = scanned(
        HandMadeSource(SEGMENTS, maps, batch_size=7, height=9, side="left", **how), seed=5, most=MOST
    )
    expected, asked = defaultdict(list), 0
    for segment in SEGMENTS:
        weights, classes, ids = maps(segment), known.of(segment.ids), segment.ids
        special = np.isin(classes, (KeyClass.CLS, KeyClass.SEP))
        words = segment.word_ids
        starts = [words[at] >= 0 and (at == 0 or words[at - 1] != words[at]) for at in range(len(segment))]
        key = np.array([segment_key(segment.document, segment.index, seed=5)])
        asked += int((~special).sum())
        for (layer, head, row), _ in np.ndenumerate(weights[..., 0]):
            line = weights[layer, head, row]
            if special[row] or line[~special].sum() <= 0.5:
                continue
            hashed = row_hashes(key, np.array([[row]]), kind="encoder", layer=layer, heads=3)[0, head, 0]
            at = int(np.where(special, -1.0, line).argmax())
            copy = 0 < at < row and ids[at - 1] == ids[row]
            told = (at, int(ids[at]), int(classes[at]), bool(starts[at]), bool(copy))
            around = [
                int(ids[near]) if 0 <= near < len(ids) else PADDING
                for near in range(row - BEFORE, row + AFTER + 1)
            ]
            own = (row, int(classes[row]), bool(starts[row]), around)
            expected[layer * 3 + head].append((int(hashed), (segment.document, segment.index), *told, *own))
    assert found.asked == asked
    assert found.active.reshape(-1).tolist() == [len(expected[place]) for place in range(6)]
    copies = 0
    for place in range(6):
        rows = [
            (
                int(row["hash"]),
                found.segments[row["segment"]],
                *(int(row[name]) for name in ("key", "key_id", "key_class")),
                *(bool(row[name]) for name in ("key_starts", "after_copy")),
                *(int(row["row"]), int(row["row_class"]), bool(row["row_starts"]), row["ids"].tolist()),
            )
            for row in found.rows[found.rows["place"] == place]
        ]
        assert rows == sorted(expected[place])[:MOST]
        assert len(rows) == MOST
        copies += sum(row[6] for row in rows)
    assert copies


def test_heads_share_a_budget_of_rows():
    def layout(heads):
        return [KindLayout("encoder", layers=heads // 8, heads=8)]

    assert [rows_for(layout(heads)) for heads in (8, 128, 256, 1024)] == [2048, 2048, 1024, 256]
    assert max(heads * rows_for(layout(heads)) for heads in (8, 72, 144, 1024, 2048)) <= 1 << 18
    assert (1 << 18) * ACTIVE_ROW.itemsize < 21 << 20
