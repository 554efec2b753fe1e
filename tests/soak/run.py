"""`make soak`: kill every command that writes, at random and around each rename, and compare its results.

    python tests/soak/run.py --kills 100 --seed 0

A folder is killed and resumed until the work finishes. Then its tables, sums, weights, maps and pages are compared
byte by byte with those of an undisturbed run, and no other file may exist. The exit status is 1 if any differs.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
sys.path.insert(0, str(Path(__file__).parents[1]))

from soak import killing
from soak.remembered import remembered
from soak.tasks import Task, answers, left_behind, tasks


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100, help="random kills in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="this task alone; may be repeated")
    parser.add_argument("--no-renames", action="store_true", help="leave out the kills about each rename")
    given = parser.parse_args()
    import torch

    from headscope.encoding import shards

    torch.set_num_threads(1)
    shards.SHARD_TOKENS = 150  # so that even a short text has many shards
    began, wrong = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="soak-") as made:
        base = Path(made)
        listed = [task for task in tasks(base) if not given.only or task.name in given.only]
        share = shares(listed, given.kills)
        for number, task in enumerate(listed):
            # The first work here imports the heavy packages, which forked processes inherit.
            with remembered(stages=False):
                task.work(base / "drawn" / task.name)
                soak = _Soak(task, base / f"{number}")
                soak.at_random(share[task.name], seed=given.seed + number)
            if not given.no_renames:
                with remembered(stages=True):
                    task.work(base / "remembered" / task.name)
                    soak.about_renames()
            wrong += soak.wrong
            print(soak.line(), flush=True)
        if not given.only or "cluster" in given.only:
            wrong += _cluster(base, given.kills, given.seed)
    print(f"{'all identical, nothing left' if not wrong else f'{wrong} WRONG'}; {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def shares(listed: list[Task], kills: int) -> dict[str, int]:
    """Divide the random kills: half of them go to the first task, which has all the stages."""
    rest = kills // (2 * max(1, len(listed) - 1))
    return {task.name: kills - rest * (len(listed) - 1) if not place else rest for place, task in enumerate(listed)}


def _cluster(base: Path, kills: int, seed: int) -> int:
    """Kill the driver of a Ray cluster, for one in twenty of all kills; return the number of wrong results."""
    if find_spec("ray") is None:
        print("cluster         left out: Ray is not installed")
        return 0
    from soak.cluster import ClusterSoak

    soak = ClusterSoak(base)
    soak.driver_killed(max(1, kills // 20), seed=seed)
    soak.workers_without_model()
    print(soak.line(), flush=True)
    return soak.wrong


class _Soak:
    """One task that is killed repeatedly."""

    def __init__(self, task: Task, base: Path) -> None:
        self.task, self.base = task, base
        self.random = self.renames = self.runs = self.wrong = 0
        base.mkdir()
        whole = base / "whole"
        self.seconds = killing.timed(lambda: task.work(whole))
        self.expected = answers(whole)

    def at_random(self, kills: int, *, seed: int) -> None:
        """Kill at random moments, `kills` times, resuming each run until it finishes."""
        draw = killing.random_times(seed, self.seconds)
        out = self.base / "random"
        while self.random < kills:
            while self.random < kills and not killing.run(lambda: self.task.work(out), seconds=draw()):
                self.random += 1
            self._finish(out, f"after random kills ({self.random})")

    def about_renames(self) -> None:
        """Kill before and after each rename, then resume."""
        out = self.base / "renames"
        number = killing.renames_of(lambda: self.task.work(out), self.base / "log")
        # Cached stages count no inputs, and the manifest records this.
        self.expected = answers(out)
        shutil.rmtree(out)
        for place in range(1, number + 1):
            for after in (False, True):
                trap = killing.kill_at_rename(place, after=after)
                if not killing.run(lambda: self.task.work(out), before=trap):
                    self.renames += 1
                self._finish(out, f"killed {'after' if after else 'before'} rename {place} of {number}")

    def _finish(self, out: Path, where: str) -> None:
        killing.run(lambda: self.task.work(out))
        self.runs += 1
        found, left = answers(out), left_behind(out)
        names = found.keys() | self.expected.keys()
        differs = sorted(name for name in names if found.get(name) != self.expected.get(name))
        if differs or left:
            self.wrong += 1
            print(f"{self.task.name}, {where}: differs {differs}, left {left}", file=sys.stderr, flush=True)
        shutil.rmtree(out)

    def line(self) -> str:
        """Return a summary line."""
        return (
            f"{self.task.name:15} {self.random:4} random kills, {self.renames:4} about renames, "
            f"{self.runs:4} folders compared, {self.wrong} wrong; {self.seconds:.1f} s undisturbed"
        )


if __name__ == "__main__":
    sys.exit(main())
