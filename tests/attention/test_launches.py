"""What the pass of a default report asks of a device: launches, counted by a stand-in, and bytes until a batch ends.

The bounds are what was measured: who raises one knows that each launch costs a GPU's host some microseconds a layer.
"""

import pytest
import torch

from headscope.analyses.distances import sums
from support.benchmarks import benchmark

LAYERS = (2, 4)
SHAPE = {"hidden_size": 48, "num_attention_heads": 3, "intermediate_size": 48}


@pytest.fixture(scope="module")
def tool():
    return benchmark("launches")


@pytest.fixture(scope="module")
def cost_of(tool, tmp_path_factory):
    """What a layer asks for, of a model of a shape."""

    def cost(**changes):
        folder = tmp_path_factory.mktemp("text")
        with pytest.MonkeyPatch.context() as patch:
            # The stand-in counts on a CPU, whose blocks are smaller than those of the device that it stands in for.
            patch.setattr(sums, "_CPU_BLOCK", sums._ACCELERATOR_BLOCK)
            shape = {**SHAPE, **changes}
            both = [tool.default_cost(tool.bert_run(folder, layers=layers, **shape)) for layers in LAYERS]
        return tool.layer_cost(*both, layers=LAYERS)

    return cost


@pytest.fixture(scope="module")
def plain(cost_of):
    return cost_of()


@pytest.mark.slow
def test_a_layer_launches_few_kernels(plain):
    assert 10 <= plain.model <= 20
    assert 100 < plain.statistics.total() <= 345, plain.statistics.most_common()
    assert 0 < plain.once <= 434


@pytest.mark.slow
def test_as_many_whatever_the_numbers_of_inputs_and_heads(plain, cost_of):
    assert cost_of(batch_size=16).statistics == plain.statistics
    assert cost_of(num_attention_heads=6).statistics == plain.statistics


@pytest.mark.slow
def test_what_waits_for_the_end_of_a_batch_grows_with_inputs_and_heads_alone(plain, cost_of):
    """Sums of each head and input, about 5 KiB, and rows of samples, of which each head has as many."""
    assert plain.waiting / (8 * 3) < 20 * 1024
    double = cost_of(num_attention_heads=6)
    assert double.waiting < 2.1 * plain.waiting


def test_views_launch_nothing(tool):
    tensor = torch.ones(3, 4)
    with tool.Launches() as launches:
        tensor.T.reshape(4, 3)[1:].expand(2, 3, 3)
        torch.empty(2)
    assert not launches.counts.total()
    with tool.Launches() as launches:
        tensor + 1
        tensor.mul_(2)
    assert launches.counts == {tool.MODEL: 2}
