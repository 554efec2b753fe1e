"""Memory does not grow with the square of a long input."""

import subprocess
import sys

import pytest
import torch

from headscope.attention.row_statistics import visibility_of
from headscope.encoding.batching import collate
from support.inputs import made_up_segments, vocabulary

# A layer's weights are 8 x 2,048 x 2,048 x 4 bytes = 128 MiB; the model's own mask is 16 MiB.
_PEAK = """
import resource, sys
import numpy as np, torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.attention.model.examination import examine

torch.set_num_threads(1)
sizes = dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=8, vocab_size=99)
sizes["max_position_embeddings"] = 2048
model = {"bert": lambda: BertModel(BertConfig(**sizes)), "llama": lambda: LlamaModel(LlamaConfig(**sizes))}[
    sys.argv[1]
]().eval()
vocabulary = Vocabulary(
    classes=np.zeros(99, dtype=np.uint8), has_cls=False, cls_name="first token", sep_name=None, pad_id=0
)
anatomy = examine(model, vocabulary)
assert anatomy.path == "fused", anatomy.path

def peak(length):
    ids = np.arange(length) % 97 + 1
    segment = Segment(document="d", index=0, ids=ids, token_types=ids * 0, word_ids=ids * 0)
    accumulator = StatsAccumulator(anatomy.layout)
    scan(ModelSource(model, anatomy, vocabulary, [[segment]]), [accumulator])
    assert len(accumulator.sums) == 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

short = peak(256)
print(peak(2048) - short)
"""


@pytest.mark.long
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_row_statistics_of_a_long_input_take_less_room_than_half_a_layers_weights(family):
    done = subprocess.run([sys.executable, "-c", _PEAK, family], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 << 10


@pytest.mark.parametrize("masked", ["mask", "causal", "nothing"])
@pytest.mark.parametrize("rows", [slice(0, 20), slice(7, 18)])
def test_what_rows_see_is_counted_in_blocks(masked, rows, monkeypatch):
    info = collate(made_up_segments(3, seed=5, longest=20), vocabulary()).info
    width = info.valid.shape[1]
    rows = slice(rows.start, min(rows.stop, width))
    at = torch.arange(width)
    behind = (at[None] <= at[:, None]).expand(3, 1, -1, -1)
    mask = torch.zeros(behind.shape).masked_fill(~behind, torch.finfo(torch.float32).min)

    def made():
        return visibility_of(
            mask if masked == "mask" else None,
            queries=info,
            keys=info,
            rows=rows,
            square=True,
            causal=masked == "causal",
        )

    whole = made()
    monkeypatch.setattr("headscope.attention.row_statistics._BLOCK", 4 * info.valid.numel())
    assert len(made()._blocks()) > 2
    expected = info.valid[:, None, :].expand(-1, width, -1)
    if masked != "nothing":
        expected = expected & behind[:, 0]
    assert torch.equal(made().visible, expected[:, rows])
    assert torch.equal(made().counts, expected[:, rows].sum(-1))
    assert torch.equal(made().uniform, whole.uniform)
