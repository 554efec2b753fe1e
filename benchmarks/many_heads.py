"""A report on a model of 1,024 heads: time of each stage, size of its files, and size of its pages.

A tiny model of 32 layers with 32 heads and random weights reads lines of text and a treebank, if given. In addition, in
one process and alternating: the bare forward pass over a segment of 128 tokens, a scan that reads statistics, and one
that reads distances between all heads. Targets: distances at most 3x the forward pass, their state under 20 MB, report,
atlas and its data under 5 MB.
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, LlamaConfig, LlamaModel

import headscope as hs
from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.installing import demo_text
from headscope.models.forward_inputs import model_inputs, no_cache
from headscope.models.load_model import load_model
from rounds import alternate, median_ratio
from scan_overhead import made_up

LAYERS, HEADS, WIDTH = 32, 32, 256
MEGABYTE = 1e6


def build(family: str, vocabulary: int, *, layers: int, heads: int, width: int) -> torch.nn.Module:
    """Return a model of a family with random weights."""
    torch.manual_seed(0)
    if family == "bert":
        config = BertConfig(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=heads,
        )
        return BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa").eval()
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 4),
    )
    return LlamaModel._from_config(config, attn_implementation="sdpa").eval()


def overhead(family: str, *, layers: int, heads: int, width: int, tokens: int, rounds: int) -> dict[str, float]:
    """Time the bare model, statistics and distances on one segment, alternating; return seconds and ratios."""
    segments, vocabulary = made_up(1, tokens)
    model = build(family, 30522, layers=layers, heads=heads, width=width)
    anatomy = examine(model, vocabulary)
    inputs = model_inputs(segments, anatomy, vocabulary)[1]

    def bare() -> None:
        with torch.inference_mode():
            model(**inputs, **no_cache(anatomy))

    def look(accumulator: type) -> None:
        scan(ModelSource(model, anatomy, vocabulary, [segments]), [accumulator(anatomy.layout)])

    times = alternate(
        {"bare": bare, "statistics": lambda: look(StatsAccumulator), "distances": lambda: look(DivergenceAccumulator)},
        rounds=rounds,
    )
    return {name: min(taken) for name, taken in times.items()} | {
        f"{name} / bare": median_ratio(times, name, "bare") for name in ("statistics", "distances")
    }


def sizes(folder: Path, *, most: int = 12) -> dict[str, float]:
    """Return the sizes of a run's largest files, in MB, and of its pages together."""
    files = {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    pages = sum(size for name, size in files.items() if name == "report.html" or name.startswith("atlas/"))
    largest = sorted(files, key=files.__getitem__, reverse=True)[:most]
    return {name: files[name] / MEGABYTE for name in largest} | {"report and atlas": pages / MEGABYTE}


def whole_report(
    family: str, out: Path, *, lines: int, treebank: Path | None, max_inputs: int | None, size: dict[str, int]
) -> dict[str, object]:
    """Write a report on such a model, and return its times and sizes."""
    text = demo_text().read_text(encoding="utf-8").split("\n")
    asked = {"treebank": str(treebank)} if treebank is not None else {}
    tokenizer = load_model().tokenizer
    model = build(family, len(tokenizer), **size)
    began = time.perf_counter()
    study = hs.report(
        model=model,
        tokenizer=tokenizer,
        text=[line for line in text if line.strip()][:lines],
        packing="single",
        controls=0,
        max_inputs=max_inputs,
        out=out,
        **asked,
    )
    return {
        "seconds": time.perf_counter() - began,
        "stages": {name: stage["seconds"] for name, stage in study.manifest["stages"].items()},
        "MB": sizes(out),
        "peak MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--families", nargs="+", choices=("bert", "llama"), default=["bert", "llama"])
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--heads", type=int, default=HEADS, help="in a layer")
    parser.add_argument("--width", type=int, default=WIDTH, help="of the model")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--lines", type=int, default=300, help="of the report's text; 0: no report")
    parser.add_argument("--max-inputs", type=int, help="documents of each corpus")
    parser.add_argument("--treebank", type=Path, help="of the report, as en_ewt-ud-dev.conllu")
    parser.add_argument("--out", type=Path, help="where reports are left; nowhere when not given")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    size = {"layers": options.layers, "heads": options.heads, "width": options.width}
    for family in options.families:
        found: dict[str, object] = {"family": family, **size, "threads": options.threads}
        if options.rounds:
            found["seconds"] = overhead(family, **size, tokens=options.tokens, rounds=options.rounds)
        if options.lines:
            with tempfile.TemporaryDirectory() as name:
                folder = (options.out or Path(name)) / family
                folder.parent.mkdir(parents=True, exist_ok=True)
                found["report"] = whole_report(
                    family,
                    folder,
                    lines=options.lines,
                    treebank=options.treebank,
                    max_inputs=options.max_inputs,
                    size=size,
                )
        print(json.dumps(found, indent=1), flush=True)
