"""The same numbers on a GPU as on the processor; skipped, saying so, where there is none."""

import copy

import numpy as np
import pytest
import torch

from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import ArcTable
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from support.inputs import made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model
from support.trees import with_tree

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device; there is none here")

ARCS = ArcTable(("nsubj", "poss", "obj", "root", "punct", "other"))
RNG = np.random.default_rng(3)
SEGMENTS = [with_tree(each, RNG) for each in made_up_segments(16, seed=2, longest=40, documents=8)]


def states(family, device):
    """What accumulators hold after a scan there."""
    model = copy.deepcopy(shared_tiny_model(family)).to(device)
    vocab = vocabulary()
    anatomy = examine(model, vocab)
    kept = [
        StatsAccumulator(anatomy.layout),
        DependencyAccumulator(anatomy.layout, ARCS),
        DivergenceAccumulator(anatomy.layout),
    ]
    scan(ModelSource(model, anatomy, vocab, [SEGMENTS[:8], SEGMENTS[8:]], tile_limit=4000), kept)
    return [one.state() for one in kept]


@pytest.mark.parametrize("family", ["bert", "llama", "mistral", "t5", "bloom"])
def test_the_numbers_are_those_of_the_processor(family):
    for there, here in zip(states(family, "cuda"), states(family, "cpu"), strict=True):
        assert there.keys() == here.keys()
        for name, array in here.items():
            if array.dtype.kind == "f":
                np.testing.assert_allclose(there[name], array, rtol=1e-3, atol=1e-3, err_msg=name)
            elif "n_hits" in name or "other" in name:  # two weights may be the same but for rounding
                assert np.abs(there[name].astype(int) - array).sum() <= 0.002 * array.sum() + 1, name
            else:
                np.testing.assert_array_equal(there[name], array, err_msg=name)


def test_nothing_waits_for_the_device_in_a_layer():
    """torch itself says where the host waits: as often with one layer's tiles as with many."""
    model = copy.deepcopy(shared_tiny_model("bert")).to("cuda")
    anatomy = examine(model, vocabulary())

    def waits(tile_limit):
        import warnings

        torch.cuda.set_sync_debug_mode("warn")
        try:
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                source = ModelSource(model, anatomy, vocabulary(), [SEGMENTS], tile_limit=tile_limit)
                scan(source, [StatsAccumulator(anatomy.layout)])
        finally:
            torch.cuda.set_sync_debug_mode("default")
        return sum("synchroniz" in str(one.message) for one in told)

    assert waits(2000) <= waits(1 << 26) < 30
