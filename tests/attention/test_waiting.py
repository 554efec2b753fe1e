"""A scan asks an accelerator for answers a few times a batch, whatever the number of layers, heads and tiles."""

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.analyses.coref.sums import CoreferenceAccumulator
from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.importance.compute import ImportanceAccumulator
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import ArcTable
from headscope.attention.fused import single_pass as fused
from headscope.attention.fused.blocks import BlockSize, reach_of
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.models.losses import NextToken
from headscope.running.stages import stages_of, text_scan
from headscope.scans.examples.top_examples import TopExampleAccumulator
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.sums import row_selection
from support.coreference import with_mentions
from support.inputs import made_up_segments, vocabulary
from support.small_runs import sharded_options
from support.transfers import counted_transfers
from support.trees import with_tree

ARCS = ArcTable(("nsubj", "poss", "obj", "root", "punct", "other"))
RNG = np.random.default_rng(3)
PLAIN = made_up_segments(12, seed=2, longest=24, documents=6)
SEGMENTS = [with_tree(with_mentions(each, RNG), RNG) for each in PLAIN]
BATCHES = [SEGMENTS[:4], SEGMENTS[4:8], SEGMENTS[8:]]
WHOLE, CUT = 1 << 26, 4 * 3 * 24 * 5

# Name -> accumulators over a layout.
SCANS = {
    "statistics": lambda layout: [StatsAccumulator(layout), TopExampleAccumulator(layout)],
    "syntax": lambda layout: [DependencyAccumulator(layout, ARCS)],
    "coreference": lambda layout: [CoreferenceAccumulator(layout)],
    "distances": lambda layout: [DivergenceAccumulator(layout)],
    "distances of a sample": lambda layout: [DivergenceAccumulator(layout, limit=2000)],
}


def model_of(family, layers):
    shape = {"hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 24, "vocab_size": 99}
    made = {"bert": (tf.BertConfig, tf.BertModel), "llama": (tf.LlamaConfig, tf.LlamaForCausalLM)}
    config, model = made[family]
    torch.manual_seed(0)
    own = config(num_hidden_layers=layers, max_position_embeddings=80, **shape)
    return model._from_config(own, attn_implementation="sdpa").eval()


def count(family, accumulators_of, *, layers, tile_limit=WHOLE, gradient=False, batches=BATCHES):
    """How often a pass over batches, of three unless told otherwise, would wait or copy, by place."""
    model, vocab = model_of(family, layers), vocabulary(has_cls=family == "bert")
    anatomy = examine(model, vocab)
    if gradient:
        source = GradientSource(model, anatomy, vocab, batches, NextToken())
    else:
        source = ModelSource(model, anatomy, vocab, batches, tile_limit=tile_limit)
    accumulators = accumulators_of(anatomy.layout)
    with counted_transfers() as counted:
        scan(source, accumulators)
    return counted


@pytest.fixture
def as_on_a_device(monkeypatch):
    """What an accelerator runs, where a processor would be asked for answers that cost it nothing."""
    monkeypatch.setattr(row_selection, "waits", lambda device: True)


@pytest.mark.parametrize("family", ["bert", "llama"])
@pytest.mark.parametrize("name", SCANS)
def test_a_pass_waits_once_a_batch(as_on_a_device, family, name):
    """As often with six layers as with two, and in many tiles as in one."""
    accumulators = SCANS[name]
    few = count(family, accumulators, layers=2)
    assert few.counts, "nothing was counted: the stand-in is broken"
    assert count(family, accumulators, layers=6).counts == few.counts
    cut = count(family, accumulators, layers=6, tile_limit=CUT)
    assert cut.total <= few.total, sorted(cut.counts.items())
    assert few.total <= len(BATCHES), sorted(few.counts.items())


def default_accumulators(run):
    """Return those of all stages that a report measures over its text: the pass that they share."""
    scans = [text_scan(stage, run) for stage in stages_of(run)]
    return [each for one in scans if one is not None for each in one.accumulators]


def test_the_default_report_waits_once_a_batch(as_on_a_device, tmp_path):
    """All its stages together but explanations, which sample rows; projections are found once for all layers."""
    run = prepare(sharded_options(tmp_path, repeats=8, max_length=32, skip=("explanation",)))
    kept = default_accumulators(run)
    names = {type(each).__name__.removesuffix("Accumulator") for each in kept}
    assert names == {
        "NormStats", "TopExample", "Norm", "NormBehavior", "Distribution", "Example", "Divergence"
    }  # fmt: skip
    run.source().run(Ignored(), frozenset({"written"}))  # finds the projections
    batches = []
    with counted_transfers() as counted:
        scan(run.source(), kept, progress=batches.append)
    assert len(batches) > 3
    places = {place.rpartition(":")[0]: number for place, number in counted.counts.items()}
    assert places == {"fetch attention/scan.py": len(batches)}


class Ignored:
    """A consumer that takes nothing."""

    def begin(self, batch):
        """Start a batch."""

    def update(self, tile):
        """Take a tile."""

    def end(self, batch):
        """Close the batch."""


def test_what_a_device_selects_gives_the_same_tables(tmp_path, monkeypatch):
    run = prepare(sharded_options(tmp_path, repeats=8, max_length=32))
    states = []
    for waits in (False, True):
        monkeypatch.setattr(row_selection, "waits", lambda device, waits=waits: waits)
        kept = default_accumulators(run)
        scan(run.source(), kept)
        states.append({name: array for each in kept for name, array in each.state().items()})
    assert states[0].keys() == states[1].keys()
    for name, array in states[0].items():
        np.testing.assert_array_equal(states[1][name], array, err_msg=name)


def test_a_gradient_waits_a_few_times_a_batch():
    """The first batch of a pass also looks whether each layer multiplies values by its weights, and no more."""
    more = []
    for layers in (2, 6):
        first, all_three = (
            count("llama", lambda layout: [ImportanceAccumulator(layout)], layers=layers, gradient=True, batches=own)
            for own in (BATCHES[:1], BATCHES)
        )
        more.append(all_three.counts - first.counts)
    assert more[0] == more[1]
    assert 0 < more[0].total() <= 16 * (len(BATCHES) - 1), sorted(more[0].items())


def test_a_long_input_is_asked_about_once_a_batch(monkeypatch):
    """What each row sees is read off the mask once, however many blocks and layers there are."""
    monkeypatch.setattr(fused, "CPU_BLOCK", BlockSize(scores=200, few=1, low=4))
    name = "statistics"
    two, six = (count("llama", SCANS[name], layers=layers) for layers in (2, 6))
    assert any("blocks.py" in place for place in two.counts), "no block was cut"
    assert six.counts == two.counts
    assert two.total <= 4 * len(BATCHES), sorted(two.counts.items())


def test_the_stand_in_counts():
    """Else the tests above would pass whatever is done."""
    mask = torch.zeros(1, 1, 3, 3)
    with counted_transfers() as counted, torch.inference_mode():
        reach_of(mask, 3)
    assert {place.split()[0] for place in counted.counts} == {"cpu"}
    assert counted.total == 3
    with counted_transfers() as counted:
        mask.cpu().tolist()  # not asked for by the package
    assert not counted.counts
