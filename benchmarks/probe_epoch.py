"""One epoch of the attention-and-words probe over a treebank with cached attention, and the share of reading in it.

Reads the treebank given by --treebank (docs/speed.md reports UD English EWT train), else a built-in one. The
attention is cached in --cache, and computed first if it is missing.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from headscope.analyses.probes.map_cache import MapCache
from headscope.analyses.probes.parsers.attention_probes import AttentionWordsProbe
from headscope.analyses.probes.parsers.probe_training import TrainingOptions, hold_out, train
from headscope.analyses.probes.treebanks import ProbeBench
from headscope.installing import demo_treebank
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run

TARGET = 180.0  # seconds


def forget_pages(folder: Path) -> None:
    """Ask the system to drop a folder's files from memory, so that they are read from the disk again."""
    if not hasattr(os, "posix_fadvise"):
        return
    for path in folder.rglob("*.f16"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main(treebank: list[str], cache: Path, *, rounds: int) -> None:
    """Print seconds of an epoch, with the files in memory and not, and of reading the batches alone."""
    given = tuple(treebank) or (str(demo_treebank()),)
    run = prepare_model_run(
        RunOptions(treebank=given, treebank_train=given, stages=("probes",), seeds=1, allow_overlap=True)
    )
    bench = ProbeBench(run, MapCache(cache, gib=50.0), lambda what, done, total: None)
    maps, _ = bench.trained()
    data = bench.data(bench.train, maps)
    held_out = np.stack([hold_out([s.document for s in bench.train.sentences], seed=0)])
    how = TrainingOptions.of(len(data.numbers), weights=1 << 23, seed=0)

    def epoch() -> float:
        probe = AttentionWordsProbe((0,), maps.heads, bench.vectors.vectors, special=True, seeds=(0,))
        once = TrainingOptions(epochs=1, sentences=how.sentences)
        began = time.perf_counter()
        train({"it": probe}, data, held_out, options=once)
        return time.perf_counter() - began

    def reading() -> float:
        began = time.perf_counter()
        for chosen in data.cut(data.numbers, most=how.sentences, weights=how.weights, seed=(0, 0)):
            data.batch(chosen)
        return time.perf_counter() - began

    seconds: dict[str, list[float]] = {"epoch": [], "epoch, cold": [], "reading": [], "reading, cold": []}
    for _ in range(rounds):
        for name, measured in (("epoch", epoch), ("reading", reading)):
            forget_pages(cache)
            seconds[f"{name}, cold"].append(measured())
            seconds[name].append(measured())
    best = {name: min(each) for name, each in seconds.items()}
    print(
        f"{len(data.numbers):,} sentences, {maps.bytes / 2**30:.2f} GiB of attention, "
        f"{torch.get_num_threads()} threads: "
        f"one epoch {best['epoch']:.1f} s with the files in memory, {best['epoch, cold']:.1f} s without "
        f"(target {TARGET:.0f} s); reading the batches alone {best['reading']:.1f} s and {best['reading, cold']:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--treebank", action="append", default=[])
    parser.add_argument("--cache", type=Path, default=None, help="folder for attention; a temporary one if not given")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        main(options.treebank, options.cache or Path(folder), rounds=options.rounds)
