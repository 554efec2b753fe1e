"""The sample of active rows, against a plain loop over all rows."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.analyses.distribution.row_tokens import PADDING
from headscope.analyses.jobs.active_rows import ActiveRowAccumulator, rows_for
from headscope.analyses.jobs.row_facts import ACTIVE_ROW, AFTER, BEFORE, OUTPUT, shortened
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.row_hashes import row_hashes, segment_key
from support.hand_made import HandMadeSource, beside_a_sink, random_map, random_sink
from support.inputs import made_up_segments, vocabulary
from support.plain_vectors import plain_vectors
from support.tiny_models import tiny_model

MOST = 40
PUNCTUATION = (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)


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
    found = scanned(HandMadeSource(SEGMENTS, maps, batch_size=7, height=9, side="left", **how), seed=5, most=MOST)
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
                int(ids[near]) if 0 <= near < len(ids) else PADDING for near in range(row - BEFORE, row + AFTER + 1)
            ]
            seen = [j for j in range(len(ids)) if not special[j]]
            even = [
                sum(ids[j] == ids[row] and j != row for j in seen),
                sum(0 < j < row and ids[j - 1] == ids[row] for j in seen),
                *(sum(classes[j] == c for j in seen) for c in PUNCTUATION),
            ]
            shares = [float(np.float32(n / len(seen))) for n in even]
            own = (row, int(classes[row]), bool(starts[row]), around, shares)
            expected[layer * 3 + head].append((int(hashed), (segment.document, segment.index), *told, *own))
    assert found.n_rows == asked
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
                row["uniform"].tolist(),
            )
            for row in found.rows[found.rows["cell"] == place]
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
    assert (1 << 18) * ACTIVE_ROW.itemsize < 56 << 20


def test_what_a_row_writes_is_kept_with_it():
    found = scanned(HandMadeSource(SEGMENTS, random_map, batch_size=7, height=9, side="left"), most=MOST)
    ids = {(segment.document, segment.index): segment.ids for segment in SEGMENTS}
    for row in found.rows[:: len(found.rows) // 50]:
        layer, head = divmod(int(row["cell"]), 3)
        own = torch.as_tensor(ids[found.segments[row["segment"]]])[None]
        written = HandMadeSource.vectors_of(own, layer, 3, slice(0, own.shape[1])).outputs[0, head, row["row"]]
        np.testing.assert_allclose(row["output"][:3], written, rtol=1e-6)
        assert not row["output"][3:].any()


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_it_is_the_output_of_the_models_own_attention(family):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    segments = made_up_segments(7, seed=5, longest=14)
    source = ModelSource(model, examine(model, known), known, [segments[:4], segments[4:]])
    found = scanned(source, most=10)
    assert len(found.rows) > 50
    plain = plain_vectors(model, known, segments)
    heads = source.layout[0].heads
    place = {(segment.document, segment.index): at for at, segment in enumerate(segments)}
    for row in found.rows:
        layer, head = divmod(int(row["cell"]), heads)
        written = plain[place[found.segments[row["segment"]]]][layer]["output"][head, row["row"]]
        np.testing.assert_allclose(row["output"][: len(written)], written, atol=1e-5)


def test_where_nothing_is_known_of_outputs_they_are_nan():
    source = HandMadeSource(SEGMENTS[:9], random_map)
    run = source.run
    source.run = lambda consumer, needs: run(consumer, needs - {"vectors"})
    assert np.isnan(scanned(source, most=MOST).rows["output"]).all()


def test_outputs_of_wide_heads_are_shortened_along_directions_at_right_angles():
    directions = shortened(torch.eye(64))
    torch.testing.assert_close(directions.T @ directions, torch.eye(OUTPUT))
    assert torch.equal(directions, shortened(torch.eye(64)))
    narrow = torch.rand(5, 20)
    assert torch.equal(shortened(narrow), torch.cat([narrow, torch.zeros(5, OUTPUT - 20)], dim=1))
