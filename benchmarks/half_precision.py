"""The cost of a scan in half precision: scan / bare sdpa, with and without norms, and memory beyond the model.

Each precision and length runs in its own process and is measured in processor time of one thread, so that other load
matters little. Processors with bfloat16 tiles (AMX) run the bare model several times as fast as in float32, but not the
scan, which computes in float32: `--without-amx` measures the ratio on other processors.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Largest ratio of a scan to the bare model, by number of tokens: with weights only, and with norms.
AIMS = {128: (1.25, 1.3), 1024: (1.35, 1.6), 4096: (1.6, 1.9)}
CASES = ("bare", "scan", "scan with norms")


def contestants(dtype: str, length: int, *, layers: int, tokens: int) -> dict[str, Callable[[], object]]:
    """Return runs of a model of BERT-base's width, bare and scanned, over `tokens` tokens."""
    import torch
    from transformers import BertConfig, BertModel

    from headscope.analyses.norms.compute import NormAccumulator
    from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
    from headscope.attention.model.examination import examine
    from headscope.attention.model.model_source import ModelSource
    from headscope.attention.scan import scan
    from headscope.models.forward_inputs import model_inputs
    from scan_overhead import Nobody, made_up

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=layers, max_position_embeddings=max(length, 512))
    model = BertModel._from_config(config, add_pooling_layer=False, attn_implementation="sdpa")
    model = model.eval().to(getattr(torch, dtype))
    segments, vocabulary = made_up(max(1, tokens // length), length)
    anatomy = examine(model, vocabulary)
    assert anatomy.path == "fused", anatomy.path_note
    size = max(1, 2048 // length)
    batches = [segments[start : start + size] for start in range(0, len(segments), size)]
    ready = [model_inputs(each, anatomy, vocabulary)[1] for each in batches]
    source = ModelSource(model, anatomy, vocabulary, batches)

    def bare() -> None:
        with torch.inference_mode():
            for each in ready:
                model(**each)

    def look() -> None:
        scan(source, [StatsAccumulator(anatomy.layout)])

    def look_at_norms() -> None:
        scan(source, [NormStatsAccumulator(anatomy.layout), NormAccumulator(anatomy.layout)])

    # The output projections are found once per model, as in a run.
    short = ModelSource(model, anatomy, vocabulary, [made_up(1, 16)[0]])
    short.run(Nobody(), {"statistics", "written"})
    source._projections = short._projections
    return dict(zip(CASES, (bare, look, look_at_norms), strict=True))


def timed(dtype: str, length: int, *, layers: int, tokens: int, rounds: int) -> dict[str, float]:
    """Return the median ratio of each case to the bare model, and the bare model's seconds."""
    runs = contestants(dtype, length, layers=layers, tokens=tokens)
    times: dict[str, list[float]] = {case: [] for case in runs}
    for number in range(rounds + 1):  # the first is a warm-up
        for case, run in runs.items():
            began = time.process_time()
            run()
            if number:
                times[case].append(time.process_time() - began)
    ratios = {
        case: statistics.median(a / b for a, b in zip(times[case], times["bare"], strict=True)) for case in CASES[1:]
    }
    return {"bare seconds": min(times["bare"]), **ratios}


def peak(dtype: str, length: int, case: str, *, layers: int) -> dict[str, float]:
    """Return the peak memory of one input's pass above the memory of the loaded model, in MiB (Linux)."""
    run = contestants(dtype, length, layers=layers, tokens=length)[case]
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # resets the peak
    before = _status("VmRSS")
    run()
    return {"mib": (_status("VmHWM") - before) / 1024}


def _status(name: str) -> int:
    """Return a number in kB from the kernel's status of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def elsewhere(*arguments: object, amx: bool) -> dict[str, float]:
    """Run a part of this file in its own process; return its last line of output."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not amx:
        environment["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(options: argparse.Namespace) -> None:
    """Print a line for each precision and length."""
    shape = ["--layers", options.layers]
    for length in options.lengths:
        for dtype in options.dtypes:
            part = ["--lengths", length, "--dtypes", dtype, *shape]
            how = {"amx": not options.without_amx}
            ratios = elsewhere(*part, "--tokens", options.tokens, "--rounds", options.rounds, "--part", "time", **how)
            memory = [elsewhere(*part, "--part", case, **how)["mib"] for case in CASES]
            aims = AIMS.get(length, (None, None)) if dtype != "float32" else (None, None)
            texts = [
                f"{case} / bare = {ratios[case]:.2f}" + ("" if aim is None else f" (aim {aim})")
                for case, aim in zip(CASES[1:], aims, strict=True)
            ]
            print(
                f"{dtype}, {length:,} tokens: bare {ratios['bare seconds']:.3f} s, {', '.join(texts)}; beyond the "
                f"model {memory[0]:,.0f}, {memory[1]:,.0f}, {memory[2]:,.0f} MiB (bare, scan, with norms)",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=list(AIMS))
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=4096, help="a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--without-amx", action="store_true", help="as on processors without bfloat16 tiles")
    parser.add_argument("--part", choices=("time", *CASES), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part is None:
        main(given)
    elif given.part == "time":
        print(
            json.dumps(
                timed(given.dtypes[0], given.lengths[0], layers=given.layers, tokens=given.tokens, rounds=given.rounds)
            )
        )
    else:
        print(json.dumps(peak(given.dtypes[0], given.lengths[0], given.part, layers=given.layers)))
