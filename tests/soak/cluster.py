"""Tests of a Ray cluster in `make soak`: the driver is killed and restarted, and workers lack the model.

    python tests/soak/cluster.py BASE OUT

is one driver: it writes the run of BASE's text and model to OUT, with two workers that compute the shards.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from headscope.encoding import shards
from headscope.errors import ModelError
from headscope.running.ray_connection import ClusterOptions
from headscope.running.ray_engine import RayEngine
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from soak.tasks import answers, left_behind

SHARD_TOKENS = 150


def options(base: Path) -> RunOptions:
    return RunOptions(
        model=str(base / "tiny"),
        text=(str(base / "text.txt"),),
        packing="single",
        max_length=32,
        stages=("stats", "norms", "distances", "map"),
        batch_size=4,
        shard_minutes=0,
    )


def drive(base: Path, out: Path, *, without_model: bool = False) -> None:
    """Write the run with two workers.

    Raises:
        ModelError: the workers found no model: its folder was moved away after the driver had loaded it.
    """
    shards.SHARD_TOKENS = SHARD_TOKENS
    with RayEngine(ClusterOptions(workers=2)) as engine:
        run = prepare_model_run(options(base))
        engine.serve(run)
        if without_model:
            (base / "tiny").rename(base / "away")
        try:
            write_run(run, out, executor=engine)
        finally:
            if without_model:
                (base / "away").rename(base / "tiny")


class ClusterSoak:
    """Kills and losses, each compared with the results of a single process."""

    def __init__(self, base: Path) -> None:
        self.base, self.wrong, self.kills = base, 0, 0
        shards.SHARD_TOKENS = SHARD_TOKENS
        write_run(prepare_model_run(options(base)), base / "alone")
        self.expected = answers(base / "alone")

    def driver_killed(self, kills: int, *, seed: int) -> None:
        """Kill only the driver, at random moments; restart it until it finishes."""
        generator, out = random.Random(seed), self.base / "driven"
        began = time.monotonic()
        self._driver(out).wait()
        whole = time.monotonic() - began
        self._compare(out, "of a driver that was not killed")
        while self.kills < kills:
            driver = self._driver(out)
            try:
                driver.wait(timeout=generator.uniform(0.3, 1.0) * whole)
            except subprocess.TimeoutExpired:
                os.kill(driver.pid, signal.SIGKILL)
                driver.wait()
                self.kills += 1
        self._driver(out).wait()
        self._compare(out, f"of a driver that was killed {self.kills} times")

    def workers_without_model(self) -> None:
        """Check that workers without the model report its folder, and that the run resumes once the model is back."""
        out = self.base / "lost"
        try:
            drive(self.base, out, without_model=True)
        except ModelError as refused:
            if not str(refused).startswith(f"no model folder at {self.base / 'tiny'}"):
                self._say(f"workers without the model said {str(refused)!r}")
        else:
            self._say("workers without the model said nothing")
        drive(self.base, out)
        self._compare(out, "of workers that had no model at first")

    def line(self) -> str:
        """Return a summary line."""
        return f"{'cluster':15} {self.kills:4} kills of the driver, workers without the model, {self.wrong} wrong"

    def _driver(self, out: Path) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, __file__, str(self.base), str(out)])

    def _compare(self, out: Path, of: str) -> None:
        found: dict[str, Any] = answers(out)
        names = found.keys() | self.expected.keys()
        differs = sorted(name for name in names if found.get(name) != self.expected.get(name))
        if differs or left_behind(out):
            self._say(f"the answer {of}: differs {differs}, left {left_behind(out)}")
        shutil.rmtree(out)

    def _say(self, what: str) -> None:
        self.wrong += 1
        print(f"cluster: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    drive(Path(sys.argv[1]), Path(sys.argv[2]))
