"""The cost of a scan on a GPU: scan / bare model with sdpa, memory beyond the model, and output_attentions.

Shapes are BERT-base and Llamas of one and eight billion weights, with random weights, from 128 to 32,768 tokens; and
the distances between all heads of a model of 32 layers with 32 heads at 128 tokens. Aims: scan / bare at most 1.2 up to
8,192 tokens and 1.6 at 32,768, memory at most that of the bare model and 1 GiB, distances at most 3x the bare model.
Without a GPU the script says so and stops. `launches.py` counts the launches of a batch of a default report, also on a
CPU.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel

from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.errors import MemoryShortError
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.temporary_changes import eager_evaluation
from launches import bert_layer
from scan_overhead import made_up

LENGTHS = (128, 512, 1024, 2048, 4096, 8192, 16384, 32768)
VOCABULARY = 30522
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
MEASURES = {"statistics": [StatsAccumulator], "with norms": [NormStatsAccumulator]}


def _bert(_: int) -> nn.Module:
    config = BertConfig(max_position_embeddings=LENGTHS[-1])
    return BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa")


def _llama(_: int, *, width: int, layers: int) -> nn.Module:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=width * 4 if width < 4096 else 14336,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        max_position_embeddings=LENGTHS[-1],
    )
    return LlamaModel._from_config(config, attn_implementation="sdpa")


def _many_heads(width: int) -> nn.Module:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    )
    return LlamaModel._from_config(config, attn_implementation="sdpa")


SHAPES: dict[str, Callable[[int], nn.Module]] = {
    "BERT-base": _bert,
    "Llama-1B": partial(_llama, width=2048, layers=16),
    "Llama-8B": partial(_llama, width=4096, layers=32),
}


def _settled(device: torch.device) -> float:
    """Return the time after the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def timed(contestants: dict[str, Callable[[], object]], *, rounds: int, device: torch.device) -> dict[str, list[float]]:
    """Time each contestant once a round, after two warm-up rounds; one that runs out of memory has no times."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 2):
        for name, run in contestants.items():
            if name not in times:
                continue
            began = _settled(device)
            try:
                run()
            except (torch.OutOfMemoryError, MemoryShortError):
                del times[name]
                continue
            if number > 1:
                times[name].append(_settled(device) - began)
    return times


def peak(run: Callable[[], object], device: torch.device) -> float | None:
    """Return the peak device memory of a call beyond the memory in use before it, in MiB; None on a CPU."""
    if device.type != "cuda":
        return None
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run()
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


def contestants(
    model: nn.Module, length: int, accumulators: Sequence[type], *, tokens: int, batch_tokens: int
) -> dict[str, Callable[[], object]]:
    """Return runs of a model bare, scanned, and returning its weights, on `tokens` tokens."""
    segments, vocabulary = made_up(max(1, tokens // length), length)
    anatomy, device = examine(model, vocabulary), next(model.parameters()).device
    size = max(1, batch_tokens // length)
    batches = [segments[start : start + size] for start in range(0, len(segments), size)]
    ready = [
        {key: each.to(device) for key, each in model_inputs(batch, anatomy, vocabulary)[1].items()} for batch in batches
    ]

    def bare(**more: Any) -> None:
        with torch.inference_mode():
            for each in ready:
                model(**each, **no_cache(anatomy), **more)

    def weights() -> None:
        with eager_evaluation(model):
            bare(output_attentions=True)

    def look() -> None:
        scan(ModelSource(model, anatomy, vocabulary, batches), [each(anatomy.layout) for each in accumulators])

    return {"bare": bare, "scan": look, "output_attentions": weights}


def compare(
    name: str,
    model: nn.Module,
    length: int,
    accumulators: Sequence[type],
    *,
    tokens: int,
    batch_tokens: int,
    rounds: int,
    device: torch.device,
) -> dict[str, object]:
    """Time a model bare and scanned, on `tokens` tokens in inputs of one length; None for runs out of memory."""
    runs = contestants(model, length, accumulators, tokens=tokens, batch_tokens=batch_tokens)
    times = timed(runs, rounds=rounds, device=device)
    number = length * max(1, tokens // length)
    ratios = {
        way: statistics.median(a / b for a, b in zip(times[way], times["bare"], strict=True)) if way in times else None
        for way in runs
        if way != "bare"
    }
    return {
        "shape": name,
        "what": "+".join(each.__name__.removesuffix("Accumulator").lower() for each in accumulators),
        "tokens": length,
        "batch": max(1, batch_tokens // length),
        "ratio to bare": ratios,
        "tokens a second": {way: number / min(seconds) for way, seconds in times.items()},
        "MiB": {way: peak(run, device) for way, run in runs.items() if way in times},
    }


def main(options: argparse.Namespace) -> int:
    """Print a line of JSON for each shape and length."""
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was measured; run this where torch.cuda.is_available() is true")
        return 0
    device, dtype = torch.device("cuda"), DTYPES[options.dtype]
    how = {"tokens": options.tokens, "batch_tokens": options.batch_tokens, "rounds": options.rounds, "device": device}
    where = {
        "device": torch.cuda.get_device_name(device),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "dtype": options.dtype,
        "fp32 products": torch.get_float32_matmul_precision(),
    }
    layer = bert_layer(device="cuda")
    where["launches a layer and batch"] = {"model": layer.model, "statistics": layer.statistics.total()}
    print(json.dumps(where), flush=True)
    found = []
    for name in options.shapes:
        torch.manual_seed(0)
        with torch.device(device):  # eight billion weights are not built on the host
            torch.set_default_dtype(dtype)
            model = SHAPES[name](0).eval()
            torch.set_default_dtype(torch.float32)
        for length in options.lengths:
            for accumulators in MEASURES.values():
                found.append(compare(name, model, length, accumulators, **how))
                print(json.dumps(found[-1]), flush=True)
        del model
    torch.manual_seed(0)
    many = _many_heads(options.width).eval().to(device, dtype)
    few = {**how, "tokens": min(options.tokens, 4096)}
    found.append(compare("32 x 32 heads", many, 128, [DivergenceAccumulator], **few))
    print(json.dumps(found[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": where, "results": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--tokens", type=int, default=65536, help="a round")
    parser.add_argument("--batch-tokens", type=int, default=16384)
    parser.add_argument("--width", type=int, default=1024, help="of the model with 1,024 heads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write all of it as JSON")
    sys.exit(main(parser.parse_args()))
