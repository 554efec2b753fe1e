"""Heads made by hand, with one job and with two, from their attention to their tables."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.clustering.clusters import HeadRows, job_clusters
from headscope.analyses.jobs.descriptions import distinguished
from headscope.analyses.jobs.features import FEATURES, along_principal_directions, features, informative_features
from headscope.analyses.jobs.head_jobs import head_jobs
from headscope.analyses.jobs.job_tables import job_counts
from headscope.analyses.jobs.row_facts import ACTIVE_ROW, BEFORE
from headscope.analyses.jobs.uniform_baseline import SORTS
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from support.hand_made import HandMadeSource, WritingNoise
from support.inputs import made_up_segments, vocabulary

ASKER = 7
"""The token from which the second head of the hand-made ones looks ahead."""


def made(number):
    """Long segments in which every third word is `ASKER`."""
    segments = []
    for segment in made_up_segments(number, seed=2, longest=40, documents=30):
        ids = segment.ids.copy()
        places = np.flatnonzero(ids > 4)[::3]
        ids[places] = ASKER
        segments.append(replace(segment, ids=ids))
    return segments


def hand_made(segment):
    """Three heads: one looks back a token; one so, but ahead two from `ASKER`; one rests on the first token."""
    number = len(segment)
    maps = np.zeros((1, 3, number, number))
    for row in range(number):
        back, ahead = max(row - 1, 0), min(row + 2, number - 1)
        maps[0, 0, row, back] += 1.0
        maps[0, 1, row, ahead if segment.ids[row] == ASKER else back] += 1.0
        maps[0, 2, row, 0] += 1.0
    return maps


SEGMENTS = made(60)


@pytest.fixture(scope="module")
def found():
    source = HandMadeSource(SEGMENTS, hand_made)
    rows = ActiveRowAccumulator(source.layout)
    scan(source, [rows])
    (kept,) = rows.compute()
    return kept, list(head_jobs(kept, seed=0))


def test_a_head_of_one_job_has_one(found):
    _, jobs = found
    (one,) = [job for job in jobs if job.head == 1]
    assert (one.jobs, float(one.share.value), one.description) == (1, 1.0, "looks back one token")
    assert np.isnan(one.agreement)


def test_a_head_of_two_jobs_has_two_with_their_shares_words_and_tokens(found):
    _, jobs = found
    back, ahead = [job for job in jobs if job.head == 2]
    assert (back.description, ahead.description) == ("looks back one token", "looks ahead 2 tokens")
    known, askers, rows = vocabulary(), 0, 0
    for segment in SEGMENTS:
        special = np.isin(known.of(segment.ids), (KeyClass.CLS, KeyClass.SEP))
        for row in np.flatnonzero(~special):
            key = hand_made(segment)[0, 1, row].argmax()
            rows += not special[key]
            askers += segment.ids[row] == ASKER and not special[key]
    assert ahead.n_rows == rows
    assert float(ahead.share.value) == pytest.approx(askers / rows)
    assert float(back.share.value) == pytest.approx(1 - askers / rows)
    assert float(ahead.share.low) < askers / rows < float(ahead.share.high)
    assert [one.token for one in ahead.tokens["row"]] == [ASKER]
    assert ahead.tokens["row"][0].n_rows == askers == len(ahead.rows)
    assert back.agreement == ahead.agreement > 0.99
    assert not set(back.rows) & set(ahead.rows)


def test_heads_are_counted_with_those_that_have_several_jobs(found):
    """The third head is not active, so it is no head of the count; of the control one head has one job."""
    kept, jobs = found
    rows = {head: next(job.n_rows for job in jobs if job.head == head) for head in (1, 2)}
    control = [job for job in jobs if job.head == 1]
    table = job_counts({"text": [(kept, jobs)], "treebank": [(kept, control)]}, [(kept, control)])
    assert table.to_numpy().tolist() == [
        ["text", kept.kind, "trained", 2, 2, 1, rows[1] + rows[2]],
        ["treebank", kept.kind, "trained", 1, 1, 0, rows[1]],
        ["text", kept.kind, "control", 1, 1, 0, rows[1]],
    ]
    untested = [replace(job, q_value=np.nan) for job in control]
    assert job_counts({"text": [(kept, untested)]}, []).to_numpy().tolist() == [
        ["text", kept.kind, "trained", 1, 0, 0, rows[1]]
    ]


def test_an_inactive_head_has_no_jobs(found):
    kept, jobs = found
    assert {job.head for job in jobs} == {1, 2}
    assert kept.active[0, 2] == 0


class Writing(WritingNoise):
    """Heads of which the first writes one of two things, by whether the row's token is `ASKER`; others noise."""

    @staticmethod
    def vectors_of(ids, layer, heads, rows):
        noise = WritingNoise.vectors_of(ids, layer, heads, rows)
        noise.outputs[:, 0, :, 0] += torch.where(ids == ASKER, 9.0, -9.0)[:, rows]
        return noise


def anywhere(segment):
    """Two heads whose rows look at a token each, drawn from all."""
    number = len(segment)
    rng = np.random.default_rng([*segment.document.encode(), segment.index])
    drawn = rng.integers(1, number - 1, number) if number > 2 else np.zeros(number, dtype=int)
    maps = np.zeros((1, 2, number, number))
    maps[0, :, np.arange(number), drawn] = 1.0
    return maps


def test_what_is_written_alone_tells_two_jobs():
    source = Writing(SEGMENTS, anywhere)
    rows = ActiveRowAccumulator(source.layout)
    scan(source, [rows])
    (kept,) = rows.compute()
    one, another, alone = head_jobs(kept, seed=0)
    assert [(job.head, job.jobs) for job in (one, another, alone)] == [(1, 2), (1, 2), (2, 1)]
    assert one.description == "looks about 6 tokens away, on either side, and writes one thing"
    assert another.description == "looks about 7 tokens away, on either side, and writes another"
    assert alone.description == "looks about 6 tokens away, on either side"
    assert {int(token) for token in kept.rows[another.rows]["ids"][:, BEFORE]} == {ASKER}
    assert ASKER not in kept.rows[one.rows]["ids"][:, BEFORE]


def test_jobs_that_look_alike_are_said_to_write_different_things():
    says = ["looks about 6 tokens away", "looks about 20 tokens away", "looks about 7 tokens away", "looks ahead"]
    first, second, third, fourth = distinguished(says)
    assert (first, third) == (f"{says[0]}, and writes one thing", f"{says[2]}, and writes another")
    assert [second, fourth] == [says[1], says[3]]
    assert distinguished(["looks ahead"] * 2) == [
        "looks ahead, and writes one thing",
        "looks ahead, and writes another",
    ]


def test_a_head_that_looks_anywhere_has_one_job():
    """Of keys drawn from all some are copies and commas, and some lie ahead."""
    source = HandMadeSource(SEGMENTS, anywhere)
    rows = ActiveRowAccumulator(source.layout)
    scan(source, [rows])
    (kept,) = rows.compute()
    own = kept.rows[kept.rows["cell"] == 0]
    found = features(own, square=True, same_ids=True)
    used = dict(zip(FEATURES, informative_features(found, own).tolist()))
    assert (used["offset"], used["side"], used["same id"], used["key period or comma"]) == (True, *[False] * 3)
    documents = own["segment"].astype(np.int64)
    (clusters,) = job_clusters(
        [HeadRows(features=found, used=informative_features(found, own), documents=documents)], seed=0
    )
    assert not clusters.labels.any()


@pytest.mark.parametrize(
    ("before", "behind", "expected"),
    [
        ([1] * 50, [1] * 40, True),
        ([1] * 50, [2] * 30 + [40] * 9, True),
        (range(1, 60), range(1, 50), False),
        ([1] * 9 + [2] * 5 + [3] * 3 + [7] * 2, [1] * 9 + [2] * 5 + [3] * 3, False),
        ([1] * 50, [], True),
    ],
)
def test_a_gap_between_the_sides(before, behind, expected):
    before, behind = (np.array(list(tokens), dtype=float) for tokens in (before, behind))
    rows = np.zeros(len(before) + len(behind), dtype=ACTIVE_ROW)
    found = np.zeros((len(rows), len(FEATURES)))
    found[:, FEATURES.index("offset")] = np.log2(1 + np.concatenate([before, behind]))
    found[:, FEATURES.index("side")] = np.repeat([1, -1], [len(before), len(behind)])
    assert informative_features(found, rows)[FEATURES.index("side")] == expected


@pytest.mark.parametrize(("even", "expected"), [(0.14, True), (0.16, False)])
def test_a_sort_of_keys_is_looked_for_where_it_is_twice_as_often_as_among_all(even, expected):
    rows = np.zeros(100, dtype=ACTIVE_ROW)
    rows["uniform"][:, SORTS.index("same id")] = even
    found = np.zeros((100, len(FEATURES)))
    found[:30, FEATURES.index("same id")] = 1
    assert informative_features(found, rows)[FEATURES.index("same id")] == expected


def test_principal_directions_are_those_of_scikit_learn():
    vectors = np.random.default_rng(0).normal(size=(300, 12)) @ np.diag(np.arange(1.0, 13.0)) + 5
    found = along_principal_directions(vectors)
    expected = PCA(8).fit_transform(vectors)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)
    # Three numbers have three directions, what is the same everywhere none, nor what is not known.
    assert along_principal_directions(np.pad(vectors[:, :3], ((0, 0), (0, 9)))).shape == (300, 3)
    assert along_principal_directions(np.full((300, 12), 0.1)).shape == (300, 0)
    assert along_principal_directions(np.full((300, 12), np.nan)).shape == (300, 0)


def test_where_ids_are_no_tokens_none_tells_a_job(found):
    kept, _ = found
    jobs = list(head_jobs(kept, seed=0, same_ids=False))
    assert len(jobs) == 3
    assert all(job.tokens == {} for job in jobs)


def test_no_rows_no_jobs():
    rows = ActiveRowAccumulator((KindLayout("encoder", 1, 2),))
    (kept,) = rows.compute()
    assert list(head_jobs(kept, seed=0)) == []
