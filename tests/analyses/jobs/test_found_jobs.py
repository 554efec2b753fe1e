"""Heads made by hand, with one job and with two, from their attention to their tables."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.found_jobs import found_jobs
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from support.hand_made import HandMadeSource
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
    return kept, list(found_jobs(kept, seed=0))


def test_a_head_of_one_job_has_one(found):
    _, jobs = found
    (one,) = [job for job in jobs if job.head == 1]
    assert (one.jobs, float(one.share.value), one.says) == (1, 1.0, "looks back one token")
    assert np.isnan(one.agreement)


def test_a_head_of_two_jobs_has_two_with_their_shares_words_and_tokens(found):
    _, jobs = found
    back, ahead = [job for job in jobs if job.head == 2]
    assert (back.says, ahead.says) == ("looks back one token", "looks ahead 2 tokens")
    known, askers, rows = vocabulary(), 0, 0
    for segment in SEGMENTS:
        special = np.isin(known.of(segment.ids), (KeyClass.CLS, KeyClass.SEP))
        for row in np.flatnonzero(~special):
            key = hand_made(segment)[0, 1, row].argmax()
            rows += not special[key]
            askers += segment.ids[row] == ASKER and not special[key]
    assert ahead.sampled == rows
    assert float(ahead.share.value) == pytest.approx(askers / rows)
    assert float(back.share.value) == pytest.approx(1 - askers / rows)
    assert float(ahead.share.low) < askers / rows < float(ahead.share.high)
    assert [one.token for one in ahead.tokens["row"]] == [ASKER]
    assert ahead.tokens["row"][0].count == askers == len(ahead.rows)
    assert back.agreement == ahead.agreement > 0.99
    assert not set(back.rows) & set(ahead.rows)


def test_a_head_that_rests_has_no_jobs(found):
    kept, jobs = found
    assert {job.head for job in jobs} == {1, 2}
    assert kept.active[0, 2] == 0


def test_where_ids_are_no_tokens_none_tells_a_job(found):
    kept, _ = found
    jobs = list(found_jobs(kept, seed=0, same_ids=False))
    assert len(jobs) == 3
    assert all(job.tokens == {} for job in jobs)


def test_no_rows_no_jobs():
    rows = ActiveRowAccumulator((KindLayout("encoder", 1, 2),))
    (kept,) = rows.compute()
    assert list(found_jobs(kept, seed=0)) == []
