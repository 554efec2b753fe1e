"""`benchmarks/gpu.py` where there is no GPU: what it would time runs, with a tiny model."""

import argparse

import pytest
import torch
from transformers import LlamaConfig, LlamaModel

from headscope.analyses.stats.sums import NormStatsAccumulator
from headscope.errors import MemoryShortError
from support.benchmarks import benchmark

CPU = torch.device("cpu")


def tiny():
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "vocab_size": 30522}
    config = LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    return LlamaModel._from_config(config, attn_implementation="sdpa").eval()


def test_every_way_is_timed():
    gpu = benchmark("gpu")
    result = gpu.compare("tiny", tiny(), 16, [NormStatsAccumulator], tokens=64, batch_tokens=32, rounds=2, device=CPU)
    assert set(result["ratio to bare"]) == {"scan", "output_attentions"}
    assert all(ratio > 0 for ratio in result["ratio to bare"].values())
    assert set(result["tokens a second"]) == {"bare", "scan", "output_attentions"}
    assert result["batch"] == 2


def test_what_has_no_memory_has_no_times():
    gpu = benchmark("gpu")

    def short():
        raise MemoryShortError("no memory", inputs=1)

    times = gpu.timed({"bare": lambda: None, "weights": short}, rounds=3, device=CPU)
    assert set(times) == {"bare"}
    assert len(times["bare"]) == 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_it_says_so(capsys):
    assert benchmark("gpu").main(argparse.Namespace()) == 0
    assert capsys.readouterr().out == (
        "no CUDA device here: nothing was measured; run this where torch.cuda.is_available() is true\n"
    )
