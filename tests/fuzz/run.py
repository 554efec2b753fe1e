"""`make fuzz`: a bounded search for inputs that are neither read nor refused with a message.

Each target runs in its own process, two at a time: an input that kills the process is a finding as well. Findings
are written to `tests/fuzz/findings`, each a zip of the input's files and a text with its outcome; `--replay` tries
one again.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
if str(HERE.parent) not in sys.path:  # as in the tests
    sys.path[0] = str(HERE.parent)

from fuzz.hunt import Finding, Tally, hunt  # noqa: E402
from fuzz.judging import CLOCK, judge, limit_memory  # noqa: E402
from fuzz.sample import named, pack, read_sample, unpack, write_sample  # noqa: E402
from fuzz.target import NAMES, SHARES, Target, target_named  # noqa: E402

Told: TypeAlias = tuple[str, dict[str, int], float]  # target, counts, seconds
FINDINGS = HERE / "findings"
_START = 120.0  # seconds that a target may take to prepare
_FEWEST = 10  # inputs of a target, however slow the machine
_OFTEN = 1.0  # seconds between two progress lines


def main() -> int:
    """Return 1 if there were findings."""
    asked = argparse.ArgumentParser(description="Fuzz what headscope reads.")
    asked.add_argument("--minutes", type=float, default=10.0, help="for all targets together")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--target", action="append", choices=NAMES, help="one target; all when left out")
    asked.add_argument("--inputs", type=int, help="inputs a target, in place of minutes")
    asked.add_argument("--jobs", type=int, default=max(1, min(2, os.cpu_count() or 1)), help="targets at a time")
    asked.add_argument("--replay", type=Path, help="a finding to try again")
    asked.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    asked.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.replay:
        return replay(options.replay)
    chosen = options.target or NAMES
    if options.worker:
        return work(target_named(chosen[0]), options.worker, options)
    began = time.monotonic()
    tallies = hunt_all(chosen, began + options.minutes * 60, options)
    return tell(tallies, time.monotonic() - began, options.seed)


def hunt_all(names: Sequence[str], end: float, options: argparse.Namespace) -> list[Told]:
    """Fuzz targets, a few at a time, each for its share of the remaining time at its start."""
    left = {name: SHARES.get(name, 1.0) for name in names}

    def one(name: str) -> Told:
        seconds = (end - time.monotonic()) * options.jobs * left[name] / sum(left.values())
        try:
            return supervise(name, seconds, options)
        finally:
            del left[name]

    with ThreadPoolExecutor(options.jobs) as pool:
        # The longest targets start first; otherwise the last one would run alone.
        return list(pool.map(one, sorted(left, key=lambda name: -left[name])))


def work(target: Target, scratch: Path, options: argparse.Namespace) -> int:
    """Hunt in this process; write a line of JSON to standard output for each finding and each second."""
    wire, sys.stdout = sys.stdout, sys.stderr
    began = said = time.monotonic()

    def ready() -> None:
        limit_memory()
        _say(wire, {"ready": True})

    def alive(tally: Tally) -> None:
        nonlocal said
        if time.monotonic() - said > _OFTEN:
            said = time.monotonic()
            _say(wire, asdict(tally))

    def enough(tally: Tally) -> bool:
        if options.inputs:
            return tally.inputs >= options.inputs
        return tally.inputs >= _FEWEST and time.monotonic() - began >= options.seconds

    def found(finding: Finding) -> None:
        path = keep(target.name, finding)
        _say(wire, {"found": str(path), "place": finding.place})

    told = hunt(target, scratch, seed=options.seed, enough=enough, found=found, ready=ready, alive=alive)
    _say(wire, asdict(told))
    return 0


def _say(wire: object, told: dict[str, object]) -> None:
    print(json.dumps(told), file=wire, flush=True)  # type: ignore[call-overload]


def supervise(name: str, seconds: float, options: argparse.Namespace) -> Told:
    """Hunt in a separate process, restarted if it ends early; return counts and seconds."""
    total = {"inputs": 0, "taken": 0, "refused": 0, "findings": 0}
    spent, seed, end = 0.0, options.seed, time.monotonic() + seconds
    while seed == options.seed or (time.monotonic() < end and seed < options.seed + 20):
        with tempfile.TemporaryDirectory(prefix="headscope-fuzz-", dir=_scratch()) as folder:
            code, last, worked = _hear(name, end - time.monotonic(), seed, Path(folder), options)
            for key in total:
                total[key] += last.get(key, 0)
            if code == 1:
                raise RuntimeError(f"{name}: the fuzzer itself failed; its traceback stands above")
            if code:
                sample = read_sample(Path(folder) / "input") if worked else {}
                keep(name, Finding(place=f"the process ended with {code}", why=f"exit code {code}", sample=sample))
                total["findings"] += 1
        spent += worked
        if not code or not worked:  # it finished, or cannot start
            break
        seed += 1
    return name, total, spent


def _hear(
    name: str, seconds: float, seed: int, folder: Path, options: argparse.Namespace
) -> tuple[int, dict[str, int], float]:
    """Run a worker to its end, or until it gives no sign of life.

    Returns:
        Its exit code, its last counts, and the seconds for which it tried inputs.
    """
    command = [sys.executable, str(HERE / "run.py"), "--target", name, "--worker", str(folder)]
    command += ["--seconds", str(seconds), "--seed", str(seed)]
    command += ["--inputs", str(options.inputs)] if options.inputs else []
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    last: dict[str, int] = {}
    begun = 0.0
    with (
        (folder / "errors").open("wb") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONFAULTHANDLER": "1", **quiet},
        ) as process,
    ):
        assert process.stdout is not None
        alarm = _alarm(process, _START)
        for line in process.stdout:
            alarm.cancel()
            alarm = _alarm(process, 2 * CLOCK)
            if not line.endswith("}\n"):  # cut off when the process ended
                continue
            try:
                told = json.loads(line)
            except ValueError:  # output of a C library
                continue
            begun = begun or time.monotonic()
            if "found" in told:
                print(f"{name}: {told['place']}: {told['found']}", file=sys.stderr, flush=True)
            elif "inputs" in told:
                last = told
        alarm.cancel()
        code = process.wait()
    if code:
        print(f"{name}: ended with {code}", file=sys.stderr)
        print((folder / "errors").read_text(errors="replace")[-3000:], file=sys.stderr)
    return code, last, time.monotonic() - begun if begun else 0.0


def _alarm(process: "subprocess.Popen[str]", seconds: float) -> threading.Timer:
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    return timer


def _scratch() -> str | None:
    """Return a folder in memory if there is one, since every input is written."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def keep(name: str, finding: Finding) -> Path:
    """Write a finding, and a text with its outcome and the command that tries it again."""
    FINDINGS.mkdir(exist_ok=True)
    path = FINDINGS / f"{name}-{named(finding.sample)}.zip"
    path.write_bytes(pack(finding.sample))
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    again = f"python tests/fuzz/run.py --replay {shown}"
    path.with_suffix(".txt").write_text(f"{again}\n\n{finding.place}\n\n{finding.why}\n", errors="backslashreplace")
    return shown


def replay(path: Path) -> int:
    """Try one finding again and print its outcome."""
    target = target_named(path.stem.rpartition("-")[0])
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "work").mkdir()
        check = target.prepare(Path(folder) / "work")
        limit_memory()
        verdict = judge(check, write_sample(unpack(path.read_bytes()), Path(folder) / "input"))
    print(verdict.kind, verdict.place)
    print(verdict.why)
    return int(verdict.kind == "finding")


def tell(tallies: list[Told], seconds: float, seed: int) -> int:
    """Print the table; return 1 if there were findings."""
    print(f"{'target':<16}{'inputs':>10}{'a second':>10}{'taken':>10}{'refused':>10}{'findings':>10}")
    rows = [(name, counts, spent) for name, counts, spent in sorted(tallies)]
    total = {key: sum(counts[key] for _, counts, _ in rows) for key in ("inputs", "taken", "refused", "findings")}
    for name, counts, spent in [*rows, ("all", total, seconds)]:
        rate = counts["inputs"] / max(spent, 1e-9)
        print(
            f"{name:<16}{counts['inputs']:>10,}{rate:>10,.0f}{counts['taken']:>10,}{counts['refused']:>10,}"
            f"{counts['findings']:>10,}"
        )
    print(f"seed {seed}, {seconds / 60:.1f} minutes")
    if total["findings"]:
        print(f"findings lie in {FINDINGS}")
    return int(total["findings"] > 0)


if __name__ == "__main__":
    sys.exit(main())
