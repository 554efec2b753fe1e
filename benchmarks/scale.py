"""The cost of a long text on one, eight and sixty-four GPUs: rates measured here, and a table for a given GPU rate.

Measured on one core, in seconds of processor time: reading, packing, the statistics' overhead over the model's forward
pass, the size of a shard's sums and the time to merge them. The speed of a GPU is not measured: pass it with `--rate`
(`headscope report` on a few thousand lines prints it), and the price of a GPU hour with `--price`.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

GPUS = (1, 8, 64)


@dataclass(frozen=True)
class Rates:
    """The measured rates: seconds of one core per token, bytes and seconds per shard.

    Attributes:
        tokens_of_byte: number of tokens per byte of the text.
        read: seconds per token to read and hash the text.
        pack: seconds per token to build inputs.
        forward: seconds per token of the model's own forward pass on this core.
        statistics: seconds per token that the scan takes beyond that.
        state: bytes of the sums of one shard.
        join: seconds to read and merge one shard's sums.
        shard: number of tokens of one shard.
    """

    tokens_of_byte: float
    read: float
    pack: float
    forward: float
    statistics: float
    state: int
    join: float
    shard: int


def timed(work: Callable[[], int], rounds: int = 3) -> float:
    """Return the smallest processor time per unit of work, in seconds; `work` returns the number of units it did."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        done = work()
        best = min(best, (time.process_time() - began) / done)
    return best


def measured(text: Path, *, pack_tokens: int, scan_tokens: int, model: str | None) -> Rates:
    """Measure the rates on a text, repeated as often as needed."""
    import torch

    from headscope.analyses.stats.sums import StatsAccumulator
    from headscope.attention.scan import scan
    from headscope.encoding.shards import SHARD_TOKENS, ShardedBatches
    from headscope.scans.declarations.run_options import RunOptions
    from headscope.scans.examples.top_examples import TopExampleAccumulator
    from headscope.scans.prepare.prepared_run import prepare_model_run
    from headscope.scans.stage_sums import ShardSums

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder) / "long.txt"
        own = text.read_text(encoding="utf-8").strip() + "\n\n"
        long.write_text(own * max(1, 5 * pack_tokens // len(own)), encoding="utf-8")
        run = prepare_model_run(RunOptions(model=model, text=(str(long),), stages=("stats",), batch_size=16))
        segments = list(run.segments())
        tokens = sum(map(len, segments))

        def pack() -> int:
            return sum(map(len, run.segments()))

        def read() -> int:
            for _ in run.corpora.text.read():
                pass
            return tokens

        few, held = [], 0
        for segment in segments:
            if held >= scan_tokens:
                break
            few.append(segment)
            held += len(segment)

        def sums() -> ShardSums:
            each = [StatsAccumulator(run.layout), TopExampleAccumulator(run.layout)]
            scan(run.over(few), each)
            return ShardSums(each, None)

        def scanned() -> int:
            sums()
            return held

        def forward() -> int:
            with torch.inference_mode():
                for batch in batches():
                    run.loaded.model(**batch)
            return held

        def batches() -> Iterator[dict[str, torch.Tensor]]:
            for each in ShardedBatches(few, batch_size=16):
                length = max(map(len, each))
                ids = torch.zeros(len(each), length, dtype=torch.int64)
                mask = torch.zeros(len(each), length, dtype=torch.int64)
                for row, segment in enumerate(each):
                    ids[row, : len(segment)] = torch.as_tensor(segment.ids)
                    mask[row, : len(segment)] = 1
                yield {"input_ids": ids, "attention_mask": mask}

        read_seconds = timed(read)
        pack_seconds = timed(pack) - read_seconds
        # Alternating, so that both are measured under the same load.
        bare, whole = [], []
        for _ in range(3):
            bare.append(timed(forward, 1))
            whole.append(timed(scanned, 1))
        like = sums()
        for each in like.accumulators:
            for number in range(2 * each.groups):  # enough documents for the maximum number of groups
                each.sums.add(f"{number:016x}")
        state = like.state()

        def merge() -> int:
            like.merge(like.read(state))
            return 1

        join = timed(merge)
        return Rates(
            tokens_of_byte=tokens / long.stat().st_size,
            read=read_seconds,
            pack=pack_seconds,
            forward=min(bare),
            statistics=min(whole) - min(bare),
            state=sum(array.nbytes for array in state.values()),
            join=join,
            shard=SHARD_TOKENS,
        )


def hours(rates: Rates, *, tokens: float, gpus: int, rate: float, start: float) -> dict[str, float]:
    """Return the hours of one scan: distributed by `--engine ray`, and by `--shard` with `headscope merge`.

    With Ray one process packs while the workers compute: the slower of the two determines the time, plus the last
    shard. With `--shard` each part packs and computes its own documents, and the merge packs all of them for the
    counts.
    """
    shards = tokens / rates.shard
    here = tokens * (rates.read + rates.pack)
    compute = tokens / (gpus * rate)
    ray = start + tokens * rates.read + max(here, compute) + rates.shard / rate + shards * rates.join
    part = start + 2 * tokens * rates.read + tokens / gpus * rates.pack + compute
    merge = tokens * rates.read + here + shards * rates.join
    return {"ray": ray / 3600, "shard": part / 3600, "merge": merge / 3600}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="what to measure on; the demonstration's")
    parser.add_argument("--model", help="hub name or folder; the embedded one")
    parser.add_argument("--tokens", type=float, default=1e8, help="of the text in question")
    parser.add_argument("--rate", type=float, action="append", help="tokens a second of one GPU; may be repeated")
    parser.add_argument("--price", type=float, help="of one GPU for an hour")
    parser.add_argument("--start", type=float, default=60.0, help="seconds to start a worker with its model")
    parser.add_argument("--pack-tokens", type=int, default=200_000, help="tokens to measure packing on")
    parser.add_argument("--scan-tokens", type=int, default=20_000, help="tokens to measure the scan on")
    options = parser.parse_args()
    from headscope.installing import demo_text

    rates = measured(
        options.text or Path(demo_text()),
        pack_tokens=options.pack_tokens,
        scan_tokens=options.scan_tokens,
        model=options.model,
    )
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": os.cpu_count()}
    print(json.dumps({**machine, **asdict(rates)}))
    print(
        f"\nMeasured on one core: reading {1e6 * rates.read:.2f} microseconds a token, packing "
        f"{1e6 * rates.pack:.2f}, the model's forward pass {1e6 * rates.forward:.0f}, statistics "
        f"{1e6 * rates.statistics:.1f} more; {rates.tokens_of_byte:.3f} tokens a byte; sums of a shard of "
        f"{rates.shard:,} tokens {rates.state / 1e6:.1f} MB, merged in {1e3 * rates.join:.0f} ms.\n"
    )
    money = " | GPU hours | price" if options.price else " | GPU hours"
    print(f"| tokens a second of a GPU (given) | GPUs | hours, `--engine ray` | a part + merge{money} |")
    print("|" + "---|" * (6 if options.price else 5))
    for rate in options.rate or (10_000.0, 100_000.0):
        for gpus in GPUS:
            took = hours(rates, tokens=options.tokens, gpus=gpus, rate=rate, start=options.start)
            held = took["ray"] * gpus
            price = f" | {held * options.price:,.2f}" if options.price else ""
            parts = f"{took['shard']:.2f} + {took['merge']:.2f}"
            print(f"| {rate:,.0f} | {gpus} | {took['ray']:.2f} | {parts} | {held:.1f}{price} |")


if __name__ == "__main__":
    main()
