"""The obvious alternative: `output_attentions=True`, then the definitions written plainly in numpy.

Each side runs in its own process, so that its peak memory is separate; the results are compared with a plain float64
computation over weights that were computed in float64.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

STATISTICS = ("previous", "next", "current", "cls", "sep", "period_comma", "entropy", "max_weight")


def segments_of(text: Path, number: int):
    """Return the loaded model, the tokenizer's wrapper and the first inputs of a text."""
    from headscope.corpora.reading import read_corpus
    from headscope.encoding.encoder import Encoder
    from headscope.encoding.line_packing import Packer
    from headscope.models.load_model import load_model

    loaded = load_model()
    encoder = Encoder(loaded.tokenizer)
    packer = Packer(encoder)
    return loaded, encoder, list(packer.pack(read_corpus([str(text)]), max_inputs=number))


def plain(text: Path, number: int, *, double: bool = False) -> dict[str, np.ndarray]:
    """Compute the definitions in numpy over whole maps, one segment at a time."""
    import torch

    loaded, encoder, segments = segments_of(text, number)
    model = loaded.model
    model.set_attn_implementation("eager")
    if double:
        model = model.double()
    began = time.perf_counter()
    totals = dict.fromkeys(STATISTICS, 0.0)
    for start in range(0, len(segments), 16):
        group = segments[start : start + 16]
        width = max(map(len, group))
        ids = torch.zeros(len(group), width, dtype=torch.long)
        mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
        for row, one in enumerate(group):
            ids[row, : len(one)] = torch.from_numpy(one.ids)
            types[row, : len(one)] = torch.from_numpy(one.token_types)
            mask[row, : len(one)] = 1
        with torch.no_grad():
            out = model(input_ids=ids, attention_mask=mask, token_type_ids=types, output_attentions=True)
        maps = np.stack([layer.numpy() for layer in out.attentions], axis=1)
        for one, own in zip(group, maps):
            n = len(one)
            weights = own[:, :, :n, :n]
            classes = encoder.vocabulary.of(one.ids)
            totals["previous"] += np.trace(weights, -1, 2, 3) / n
            totals["next"] += np.trace(weights, 1, 2, 3) / n
            totals["current"] += np.trace(weights, 0, 2, 3) / n
            for value, name in ((1, "cls"), (2, "sep"), (3, "period_comma")):
                totals[name] += weights[..., classes == value].sum(-1).mean(-1)
            totals["entropy"] += -(weights * np.log(np.where(weights > 0, weights, 1))).sum(-1).mean(-1)
            totals["max_weight"] += weights.max(-1).mean(-1)
    print(json.dumps({"seconds": time.perf_counter() - began}), file=sys.stderr)
    return {name: total / len(segments) for name, total in totals.items()}


def ours(text: Path, number: int) -> dict[str, np.ndarray]:
    """Compute the statistics with headscope's scan."""
    from headscope.analyses.stats.sums import StatsAccumulator
    from headscope.attention.model.examination import examine
    from headscope.attention.model.model_source import ModelSource
    from headscope.attention.scan import scan
    from headscope.encoding.batching import length_buckets
    from headscope.statistics.statistic_catalog import NAMES

    loaded, encoder, segments = segments_of(text, number)
    anatomy = examine(loaded.model, encoder.vocabulary)
    sums = StatsAccumulator(anatomy.layout)
    began = time.perf_counter()
    batches = length_buckets(segments, batch_size=16)
    scan(ModelSource(loaded.model, anatomy, encoder.vocabulary, batches), [sums])
    print(json.dumps({"seconds": time.perf_counter() - began}), file=sys.stderr)
    values = sums.compute()[0].heads.value
    return {name: values[..., NAMES.index(name)] for name in STATISTICS}


def run_apart(side: str, text: Path, number: int) -> tuple[dict[str, np.ndarray], float, float]:
    """Run one side in its own process; return its results, its seconds and its peak memory in MiB."""
    command = [sys.executable, __file__, "--side", side, "--text", str(text), "--segments", str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    content = json.loads(done.stdout.splitlines()[-1])
    seconds = json.loads(done.stderr.splitlines()[-1])["seconds"]
    return {name: np.array(v) for name, v in content["values"].items()}, seconds, content["peak"]


if __name__ == "__main__":
    from headscope.installing import demo_text

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=Path, default=demo_text())
    parser.add_argument("--segments", type=int, default=200)
    parser.add_argument("--side", choices=("ours", "plain", "exact"))
    options = parser.parse_args()
    if options.side:
        number = options.segments
        values = (
            ours(options.text, number)
            if options.side == "ours"
            else plain(options.text, number, double=options.side == "exact")
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"values": {k: np.asarray(v).tolist() for k, v in values.items()}, "peak": peak}))
        raise SystemExit
    exact, _, _ = run_apart("exact", options.text, options.segments)
    print(f"embedded model, {options.segments} segments of {options.text.name} at most, batches of 16")
    print(f"{'':34}{'seconds':>9}{'peak MiB':>10}{'largest error to float64':>26}")
    for side, name in (("plain", "output_attentions + numpy, float32"), ("ours", "headscope scan, float32")):
        rounds = [run_apart(side, options.text, options.segments) for _ in range(3)]
        found, _, _ = rounds[0]
        seconds, peak = sorted(r[1] for r in rounds)[1], max(r[2] for r in rounds)
        error = max(float(np.abs(found[statistic] - exact[statistic]).max()) for statistic in STATISTICS)
        print(f"{name:34}{seconds:9.2f}{peak:10.0f}{error:26.1e}", flush=True)
