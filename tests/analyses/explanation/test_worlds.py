"""The simulation of explained shares runs, and its true share follows from the fits."""

import numpy as np

from support.benchmarks import benchmark


def test_intervals_of_simulated_heads_hold_the_true_share(monkeypatch):
    worlds = benchmark("explanation_worlds")
    monkeypatch.setattr(worlds, "UNREAD", 200)
    held, share, _ = worlds.coverage(("alike", 30, 2))
    assert held.runs == 2 * worlds.HEADS
    assert held.value >= 0.5
    assert 0.8 < share.value < 0.95


def test_the_share_of_documents_that_were_not_read_is_that_of_the_fit():
    worlds = benchmark("explanation_worlds")
    rng = np.random.default_rng(0)
    sample, _ = worlds.explained_heads(worlds.documents_of("alike", 30, rng))
    unread = worlds.Unread(worlds.documents_of("alike", 20, rng), sample.columns)
    nothing = unread.share(np.zeros((sample.columns.width, worlds.HEADS)))
    np.testing.assert_allclose(nothing, 0, atol=1e-6)  # equal weights are uniform attention
