"""The cost of a scan of long inputs: all statistics / bare model with sdpa, by family and number of tokens."""

import argparse
import json
import os
import platform
import resource
import statistics
from collections.abc import Callable
from pathlib import Path

import torch
import transformers
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    BloomConfig,
    BloomModel,
    LlamaConfig,
    LlamaModel,
    MistralConfig,
    MistralModel,
    T5Config,
    T5Model,
)

from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.models.forward_inputs import model_inputs, no_cache
from rounds import alternate
from scan_overhead import made_up

LONGEST = 32768
WINDOW = 512  # width of the sliding window


def _bert(layers: int) -> nn.Module:
    config = BertConfig(num_hidden_layers=layers, max_position_embeddings=LONGEST)
    return BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa")


def _causal(layers: int) -> dict[str, int]:
    return {
        "vocab_size": 30522,
        "hidden_size": 512,
        "intermediate_size": 1408,
        "num_hidden_layers": layers,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "max_position_embeddings": LONGEST,
    }


def _llama(layers: int) -> nn.Module:
    return LlamaModel._from_config(LlamaConfig(**_causal(layers)), attn_implementation="sdpa")


def _mistral(layers: int) -> nn.Module:
    config = MistralConfig(**_causal(layers), sliding_window=WINDOW)
    return MistralModel._from_config(config, attn_implementation="sdpa")


def _bloom(layers: int) -> nn.Module:
    return BloomModel(BloomConfig(vocab_size=30522, hidden_size=512, n_layer=layers, n_head=8))


def _t5(layers: int) -> nn.Module:
    config = T5Config(vocab_size=30522, num_layers=layers)
    return T5Model._from_config(config, attn_implementation="sdpa")


# By shape: its builder and, by number of tokens, the target ratio, if any.
SHAPES: dict[str, tuple[Callable[[int], nn.Module], dict[int, float | None]]] = {
    "BERT-like": (_bert, {512: 1.15, 1024: 1.4, 2048: 1.6, 4096: 2.0}),
    "Llama-like": (_llama, {512: None, 2048: 1.5, 4096: 2.0, 8192: 2.2}),
    "Mistral-like": (_mistral, {512: None, 2048: 1.5, 4096: 2.0, 8192: 2.2}),
    "BLOOM-like": (_bloom, {512: None, 1024: None, 2048: None}),
    "T5-like": (_t5, {512: 1.6, 1024: None}),
}


def compare(shape: str, length: int, *, layers: int, tokens: int, rounds: int) -> dict[str, object]:
    """Time one shape at one length, alternating scan and bare model; return the ratio and its settings."""
    build, targets = SHAPES[shape]
    torch.manual_seed(0)
    model = build(layers).eval()
    segments, vocabulary = made_up(max(1, tokens // length), length)
    anatomy = examine(model, vocabulary)
    size = max(1, 2048 // length)
    batches = [segments[start : start + size] for start in range(0, len(segments), size)]
    ready = [model_inputs(each, anatomy, vocabulary)[1] for each in batches]

    def bare() -> None:
        with torch.inference_mode():
            for each in ready:
                model(**each, **no_cache(anatomy))

    def look() -> None:
        scan(ModelSource(model, anatomy, vocabulary, batches), [StatsAccumulator(anatomy.layout)])

    times = alternate({"bare": bare, "scan": look}, rounds=rounds)
    ratios = [a / b for a, b in zip(times["scan"], times["bare"])]
    return {
        "shape": shape,
        "path": anatomy.path,
        "tokens": length,
        "segments": len(segments),
        "batch": size,
        "layers": layers,
        "bare_seconds": min(times["bare"]),
        "scan_seconds": min(times["scan"]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "target": targets.get(length),
    }


def machine() -> dict[str, object]:
    """Return a description of the machine."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "dtype": "float32",
    }


def markdown(results: list[dict[str, object]], where: dict[str, object]) -> str:
    """Return the ratios as a table, one row per shape and one column per length; targets in brackets."""
    lengths = sorted({int(str(each["tokens"])) for each in results})
    lines = [
        f"scan / bare sdpa on {where['processor']}, {where['threads']} threads of {where['cores']} cores, "
        f"torch {where['torch']}, {where['dtype']} (target)",
        "",
        "| | " + " | ".join(f"{length:,}" for length in lengths) + " tokens |",
        "|---" * (len(lengths) + 1) + "|",
    ]
    for shape in dict.fromkeys(str(each["shape"]) for each in results):
        cells = []
        own = {each["tokens"]: each for each in results if each["shape"] == shape}
        for length in lengths:
            found = own.get(length)
            target = "" if found is None or found["target"] is None else f" ({found['target']})"
            cells.append("-" if found is None else f"{found['ratio']:.2f}{target}")
        path = next(each["path"] for each in own.values())
        lines.append(f"| {shape}, {path} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", help="those of each shape when not given")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=4096, help="a round, in as many segments as it takes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where to write all of it as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = []
    for shape in options.shapes:
        for length in options.lengths or SHAPES[shape][1]:
            one = compare(shape, length, layers=options.layers, tokens=options.tokens, rounds=options.rounds)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            print(
                f"{shape} ({one['path']}), {length} tokens: bare {one['bare_seconds']:.2f} s, "
                f"scan / bare = {one['ratio']:.2f} (peak of the process so far {peak:,} MiB)",
                flush=True,
            )
            found.append(one)
    print("\n" + markdown(found, machine()))
    told = json.dumps({"machine": machine(), "results": found}, indent=1)
    if options.json is None:
        print("\n" + told)
    else:
        options.json.write_text(told + "\n", encoding="utf-8")
