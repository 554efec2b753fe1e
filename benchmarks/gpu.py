"""What looking costs on a GPU: scan with all statistics / bare model with sdpa, tokens a second, memory, distances.

Shapes of BERT-base and of a Llama of a thousand million weights, with random weights, from 128 to 8,192 tokens; and the
distances between all heads of a model of 32 layers with 32 heads at 128 tokens. Targets: scan / bare at most 1.2,
distances at most 3x the bare model. Without a GPU it says so.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import nn
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel

from headscope.analyses.distances.accumulator import DivergenceAccumulator
from headscope.analyses.stats.accumulator import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.models.forward_inputs import model_inputs, no_cache
from scan_overhead import made_up

LENGTHS = (128, 512, 1024, 2048, 4096, 8192)
VOCABULARY = 30522
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def _bert(_: int) -> nn.Module:
    config = BertConfig(max_position_embeddings=LENGTHS[-1])
    return BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa")


def _llama(_: int) -> nn.Module:
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
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


SHAPES: dict[str, Callable[[int], nn.Module]] = {"BERT-base": _bert, "Llama-1B": _llama}


def timed(
    contestants: dict[str, Callable[[], object]], *, rounds: int, device: torch.device
) -> dict[str, list[float]]:
    """Time each contestant once a round, after two rounds that do not count; the device is waited for."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 2):
        for name, run in contestants.items():
            torch.cuda.synchronize(device)
            began = time.perf_counter()
            run()
            torch.cuda.synchronize(device)
            if number > 1:
                times[name].append(time.perf_counter() - began)
    return times


def peak(run: Callable[[], object], device: torch.device) -> float:
    """Return how much memory of the device something takes beyond what is taken before it, in MiB."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run()
    return (torch.cuda.max_memory_allocated(device) - before) / 2**20


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
    """Time a model bare and looked at, on so many tokens in inputs of one length."""
    segments, vocabulary = made_up(max(1, tokens // length), length)
    anatomy = examine(model, vocabulary)
    size = max(1, batch_tokens // length)
    batches = [segments[start : start + size] for start in range(0, len(segments), size)]
    ready = [
        {key: each.to(device) for key, each in model_inputs(own, anatomy, vocabulary)[1].items()}
        for own in batches
    ]

    def bare() -> None:
        with torch.inference_mode():
            for each in ready:
                model(**each, **no_cache(anatomy))

    def look() -> None:
        made = [accumulator(anatomy.layout) for accumulator in accumulators]
        scan(ModelSource(model, anatomy, vocabulary, batches), made)

    times = timed({"bare": bare, "scan": look}, rounds=rounds, device=device)
    read = length * len(segments)
    return {
        "shape": name,
        "path": anatomy.path,
        "what": "+".join(each.__name__.removesuffix("Accumulator").lower() for each in accumulators),
        "tokens": length,
        "batch": size,
        "ratio": statistics.median(a / b for a, b in zip(times["scan"], times["bare"], strict=True)),
        "bare tokens a second": read / min(times["bare"]),
        "scan tokens a second": read / min(times["scan"]),
        "bare MiB": peak(bare, device),
        "scan MiB": peak(look, device),
    }


def main(options: argparse.Namespace) -> int:
    """Print a line of JSON for each shape and length."""
    if not torch.cuda.is_available():
        print("no CUDA device here: nothing was measured; run this where torch.cuda.is_available() is true")
        return 0
    device, dtype = torch.device("cuda"), DTYPES[options.dtype]
    how = {
        "tokens": options.tokens,
        "batch_tokens": options.batch_tokens,
        "rounds": options.rounds,
        "device": device,
    }
    where = {
        "device": torch.cuda.get_device_name(device),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "dtype": options.dtype,
        "fp32 products": torch.get_float32_matmul_precision(),
    }
    print(json.dumps(where), flush=True)
    found = []
    for name in options.shapes:
        torch.manual_seed(0)
        model = SHAPES[name](0).eval().to(device, dtype)
        for length in options.lengths:
            found.append(compare(name, model, length, [StatsAccumulator], **how))
            print(json.dumps(found[-1]), flush=True)
        del model
    torch.manual_seed(0)
    many = _many_heads(options.width).eval().to(device, dtype)
    few = {**how, "tokens": min(options.tokens, 4096)}
    found.append(compare("32 x 32 heads", many, 128, [DivergenceAccumulator], **few))
    print(json.dumps(found[-1]), flush=True)
    if options.json is not None:
        options.json.write_text(
            json.dumps({"machine": where, "results": found}, indent=1) + "\n", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(LENGTHS))
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--tokens", type=int, default=65536, help="a round")
    parser.add_argument("--batch-tokens", type=int, default=16384)
    parser.add_argument("--width", type=int, default=1024, help="of the model with 1,024 heads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="where to write all of it as JSON")
    sys.exit(main(parser.parse_args()))
