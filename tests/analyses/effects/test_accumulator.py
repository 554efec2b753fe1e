"""Sums of effects: against plain loops over documents, their intervals and tests."""

import numpy as np
import pytest
import torch
from scipy import stats

from headscope.analyses.effects.compute import effects_table
from headscope.analyses.effects.sums import EffectsAccumulator
from headscope.attention.scan import scan
from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import p_either_side
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments

SEGMENTS = made_up_segments(36, seed=4, longest=14, documents=18)


def filled(segments=SEGMENTS, **how):
    source = HandMadeSource(segments, random_map, **how)
    sums = EffectsAccumulator(source.layout)
    scan(source, [sums])
    return sums


def by_document(layer, head):
    """Sums of effects and estimates of one head, and the number of inputs, of each document, by a loop."""
    sums = {}
    for segment in SEGMENTS:
        effects = HandMadeSource.effects_of(torch.from_numpy(random_map(segment)[layer : layer + 1]))
        own = sums.setdefault(segment.document, np.zeros(5))
        own += [
            *effects.heads[0, head, 0, :2].tolist(),
            float(effects.attribution[0, head, 0]),
            abs(float(effects.gate[0, head])),
            1,
        ]
    return np.array([sums[name] for name in sorted(sums)]).T


@pytest.mark.parametrize("how", [{}, {"height": 3}, {"batch_size": 36, "side": "left"}])
def test_values_and_intervals_are_those_of_plain_loops(how):
    (result,) = filled(**how).compute()
    assert (result.n_inputs, result.n_documents) == (36, 18)
    for layer in range(2):
        for head in range(3):
            added, divergence, attribution, gate, number = by_document(layer, head)
            for interval, sums, scale in (
                (result.intervals["loss"], added, "real"),
                (result.intervals["kl"], divergence, "positive"),
                (result.intervals["attribution"], attribution, "real"),
                (result.intervals["gate"], gate, "positive"),
            ):
                expected = ratio_interval(sums, number, scale=scale)
                for name in ("value", "low", "high"):
                    np.testing.assert_allclose(
                        getattr(interval, name)[layer, head], getattr(expected, name), rtol=1e-10
                    )


def test_with_an_input_a_document_the_test_is_of_their_effects():
    segments = made_up_segments(20, seed=8, longest=12)
    (result,) = filled(segments).compute()
    maps = [torch.from_numpy(random_map(segment)) for segment in segments]
    values = np.stack([
        [HandMadeSource.effects_of(each[layer : layer + 1]).heads[0, :, 0, 0].numpy() for layer in range(2)]
        for each in maps
    ])  # fmt: skip
    np.testing.assert_allclose(result.p["loss"], p_either_side(ratio(values, np.ones((20, 1, 1)))), rtol=1e-9)
    np.testing.assert_allclose(result.spread, values.std(axis=0, ddof=1), rtol=1e-9)


def test_the_false_discovery_rate_is_over_all_heads():
    results = filled().compute()
    table = effects_table(results, "mean")
    loss = table[table["measure"] == "loss"]
    expected = stats.false_discovery_control(results[0].p["loss"].reshape(-1), method="bh")
    np.testing.assert_allclose(loss["q_value"], expected, rtol=1e-12)
    assert table[table["measure"] == "kl"]["q_value"].isna().all()
    assert loss[["layer", "head"]].values.tolist() == [[layer, head] for layer in (1, 2) for head in (1, 2, 3)]


def test_few_documents_have_no_intervals_and_no_test():
    table = effects_table(filled(made_up_segments(9, seed=1)).compute(), "zero")
    assert table[["ci_low", "ci_high", "q_value"]].isna().all(axis=None)
    assert table["value"].notna().all()
