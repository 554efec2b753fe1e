"""A scan by flex attention gives the tables of one by blocks of scores; what it is not tried on, and why it loses."""

import copy

import numpy as np
import pytest
import torch

from headscope.analyses.behaviors.sums.accumulator import BehaviorAccumulator
from headscope.analyses.norms.sums import NormAccumulator
from headscope.analyses.stats.norm_accumulator import NormStatsAccumulator
from headscope.attention.flex import gate as gates
from headscope.attention.flex.gate import FlexGate
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.examples.top_examples import TopExampleAccumulator
from support.flex_on_cpu import flex_on_cpu
from support.inputs import made_up_segments, vocabulary
from support.tiny_models import VOCABULARY, shared_tiny_model

SEGMENTS = made_up_segments(9, seed=2, longest=24, documents=5)
BATCHES = [SEGMENTS[:4], SEGMENTS[4:8], SEGMENTS[8:]]
WON = (
    "row statistics of inputs of 1 tokens and more are computed by flex attention (1,000.0 ms, and 2,000.0 ms by "
    "blocks of scores, a layer)"
)


class Times:
    """Says that flex attention takes so long, and then that blocks of scores do."""

    def __init__(self, flex, blocks):
        self.seconds = [flex, blocks]

    def __call__(self, compute, device):
        self.seconds.append(self.seconds.pop(0))
        return compute(), self.seconds[-1]


def gate(*, flex=1.0, blocks=2.0, long=1):
    return FlexGate(devices=("cpu",), long=long, timer=Times(flex, blocks))


def scanned(family, chooser, *, dtype=torch.float64, accumulators=None, padding_side="right"):
    """What the accumulators of statistics and norms hold after a scan."""
    model, vocab = copy.deepcopy(shared_tiny_model(family)).to(dtype), vocabulary()
    anatomy = examine(model, vocab)
    assert anatomy.path == "fused"
    source = ModelSource(model, anatomy, vocab, BATCHES, flex=chooser, padding_side=padding_side)
    kept = [
        each(anatomy.layout) for each in accumulators or (NormStatsAccumulator, NormAccumulator, TopExampleAccumulator)
    ]
    with flex_on_cpu():
        scan(source, kept)
    return {name: array for each in kept for name, array in each.state().items()}


def assert_same(by_flex, by_blocks, *, atol):
    assert by_flex.keys() == by_blocks.keys()
    for name, array in by_blocks.items():
        if array.dtype.kind == "f":
            np.testing.assert_allclose(by_flex[name], array, rtol=atol, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(by_flex[name], array, err_msg=name)


# Grouped heads, windows, two sides and padding, and cross attention between texts of two lengths.
@pytest.mark.parametrize("family", ["bert", "gpt2", "llama", "mistral", "modernbert", "bart"])
def test_a_scan_by_flex_attention_gives_the_tables_of_blocks(family):
    chooser = gate()
    by_flex = scanned(family, chooser)
    assert chooser.note == WON
    assert_same(by_flex, scanned(family, FlexGate()), atol=1e-12)


def test_inputs_that_are_padded_on_the_left():
    """Rows of padding see nothing; blocks of scores spread their weight, and neither counts."""
    chooser, on_left = gate(), {"padding_side": "left", "dtype": torch.float32}
    by_flex = scanned("llama", chooser, **on_left)
    assert chooser.note == WON
    assert_same(by_flex, scanned("llama", FlexGate(), **on_left), atol=1e-5)


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-5), (torch.bfloat16, 5e-2)], ids=str)
def test_the_model_may_compute_in_less(dtype, atol):
    """In bfloat16 the outputs are rounded, and what is rounded otherwise goes through all later layers."""
    chooser = gate()
    accumulators = (NormStatsAccumulator, NormAccumulator)
    by_flex = scanned("llama", chooser, dtype=dtype, accumulators=accumulators)
    assert chooser.note == WON
    assert_same(by_flex, scanned("llama", FlexGate(), dtype=dtype, accumulators=accumulators), atol=atol)


def behaviors(layout):
    return BehaviorAccumulator(layout, np.zeros(VOCABULARY, dtype=np.uint8))


def test_a_pass_whose_weights_are_read_is_computed_in_blocks():
    chooser = gate()
    scanned("bert", chooser, accumulators=(NormStatsAccumulator, behaviors))
    assert chooser.note == (
        "row statistics of inputs of 1 tokens and more are computed by blocks of scores, not by flex attention: a "
        "measurement of the same pass reads weights"
    )


def test_layers_whose_bias_is_not_linear_are_computed_in_blocks():
    """T5's cross attention has no bias; its two kinds of self-attention have."""
    chooser = gate()
    by_flex = scanned("t5", chooser)
    assert chooser.note == (
        f"{WON}; in 5 of 8 layers by blocks: the position bias is not linear in the key's position, and the entropy "
        "needs its mean under the weights"
    )
    assert_same(by_flex, scanned("t5", FlexGate()), atol=1e-12)


def test_where_it_is_not_faster_blocks_are_computed():
    chooser = gate(flex=2.0, blocks=1.5)
    by_flex = scanned("bert", chooser)
    assert chooser.note == (
        "row statistics of inputs of 1 tokens and more are computed by blocks of scores, not by flex attention: blocks "
        "of scores are as fast (1,500.0 ms, and 2,000.0 ms a layer)"
    )
    assert_same(by_flex, scanned("bert", FlexGate()), atol=0.0)


def test_where_it_is_wrong_blocks_are_computed(monkeypatch):
    """A thousandth of an entropy is enough to see it."""
    rows_of = gates.flex_rows

    def wrong(*given, **named):
        rows = rows_of(*given, **named)
        rows.statistics[..., 7] += 1e-3
        return rows

    monkeypatch.setattr(gates, "flex_rows", wrong)
    chooser = gate()
    by_flex = scanned("bert", chooser)
    assert "not by flex attention: it is off by 1.0e-03 from blocks of scores, and " in chooser.note
    assert_same(by_flex, scanned("bert", FlexGate()), atol=0.0)


def test_where_it_fails_blocks_are_computed(monkeypatch):
    def fails(*_, **__):
        raise NotImplementedError("no kernel")

    monkeypatch.setattr(gates, "flex_rows", fails)
    chooser = gate()
    by_flex = scanned("bert", chooser)
    assert chooser.note.endswith("not by flex attention: it cannot be computed here (NotImplementedError)")
    assert_same(by_flex, scanned("bert", FlexGate()), atol=0.0)


def test_where_a_later_length_fails_blocks_are_computed(monkeypatch):
    """The first batch is computed by flex attention, the others no longer."""
    rows_of, calls = gates.flex_rows, []

    def fails_later(layer, **named):
        calls.append(layer)
        if layer.query.shape[2] != calls[0].query.shape[2]:
            raise RuntimeError("another length")
        return rows_of(layer, **named)

    monkeypatch.setattr(gates, "flex_rows", fails_later)
    chooser = gate()
    by_flex = scanned("bert", chooser)
    assert chooser.note.endswith("not by flex attention: it cannot be computed here (RuntimeError)")
    assert_same(by_flex, scanned("bert", FlexGate()), atol=1e-12)


def test_it_is_tried_on_long_inputs_of_a_gpu_alone():
    for chooser in (FlexGate(), gate(long=25)):
        scanned("bert", chooser)
        assert chooser.note is None
    assert FlexGate().long == 1024
