"""Do tests and intervals keep what they promise? Simulated documents whose truth is known, many runs of each world.

False discovery: every head is exactly as good as the best offset; the share of runs that declare anything at q < 0.05
may not be above 5%, for the choice of the best head and for every head by itself. Power: one head is 10 points better;
the share of relations found, beside that of choosing on one half and testing on the other (`halves`). Coverage: the
share of 95% intervals that hold the true value, beside the percentile bootstrap and the bootstrap-t.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from alternatives import bootstrap_t, halves_p, percentile
from headscope.statistics.confidence import difference_interval, ratio_interval
from headscope.statistics.selection import held_out
from headscope.statistics.significance import against_every, false_discovery, selection_p
from worlds import SIZES, answers, contest, level, log_odds, sigmoid, sizes

DOCUMENTS = (10, 30, 100, 256)
HEADS = (144, 1024)
ACCURACIES = (0.5, 0.9, 0.98, 0.99)
RELATIONS = 20
LEVEL, BETTER = 0.05, 0.10
WANTED = (0.93, 0.97)
WANTED_OF_TEN = 0.92


@dataclass(frozen=True)
class Cell:
    """One line: what was checked, in which world, with how many documents, in how many runs, and what came out."""

    check: str
    world: str
    documents: int
    runs: int
    value: float

    @property
    def error(self) -> float:
        """Standard error of the simulation, of what the check should come to."""
        wanted = {"false-discovery": LEVEL, "coverage": 0.95, "coverage-of-choice": 0.95}.get(
            self.check, self.value
        )
        return float(np.sqrt(wanted * (1 - wanted) / self.runs))

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept, two standard errors allowed; None where nothing is promised."""
        if self.check == "false-discovery":
            return self.value <= LEVEL + 2 * self.error
        if self.check == "coverage-of-choice":  # errs on the side of too wide
            return self.value >= WANTED[0] - 2 * self.error
        if self.check != "coverage":
            return None
        low, high = WANTED if self.documents >= 30 else (WANTED_OF_TEN, 1.0)
        return low - 2 * self.error <= self.value <= high + 2 * self.error


def of_heads(task: tuple[str, str, int, int, float, int]) -> Cell:
    """Run a contest of heads with offsets many times.

    Args:
        task: the test (`selection`, `each head` or `halves`), sizes of documents, documents, heads, how much one head
            is better, runs.
    """
    test, world, documents, heads, better, runs = task
    found = []
    for run in range(runs):
        rng = np.random.default_rng([run, documents, heads])
        made = contest(world, documents=documents, heads=heads, relations=RELATIONS, better=better, rng=rng)
        tables = made.heads, made.offsets, made.asked
        if test == "each head":
            q = false_discovery(against_every(*tables))
        else:
            q = false_discovery((selection_p if test == "selection" else halves_p)(*tables, seed=run))
        # In the world with a better head, how often it is found; else whether anything is.
        own = q[heads // 2] if test == "each head" else q
        found.append((own < LEVEL).mean() if better else (q < LEVEL).any())
    check = "false-discovery" if not better else "power" if test != "halves" else "power-of-halves"
    return Cell(check, f"{test}, {heads} heads, {world}", documents, runs, float(np.mean(found)))


def of_intervals(task: tuple[str, float, int, int, bool]) -> list[Cell]:
    """Draw accuracies many times and count how often intervals hold the truth.

    Args:
        task: sizes of documents, the true accuracy, documents, runs, whether to try the alternatives too.
    """
    world, accuracy, documents, runs, beside = task
    drawn = answers(world, level(world, accuracy), documents, runs, np.random.default_rng([documents, 5]))
    ours = ratio_interval(drawn.right, drawn.asked, scale="share")
    name = f"accuracy {accuracy}, {world}"
    cells = [Cell("coverage", name, documents, runs, _held(ours.low, ours.high, accuracy))]
    if beside:
        for method, other in (("percentile-bootstrap", percentile), ("bootstrap-t", bootstrap_t)):
            cells.append(
                Cell(f"coverage-of-{method}", name, documents, runs,
                     _held(*other(drawn.right, drawn.asked), accuracy))
            )  # fmt: skip
    return cells


def of_differences(task: tuple[str, float, float, int, int]) -> list[Cell]:
    """Draw two systems that answer the same questions, and count how often the interval of their difference holds it.

    Args:
        task: sizes of documents, accuracies of the two (at a document of the middle), documents, runs.
    """
    world, left, right, documents, runs = task
    rng = np.random.default_rng([documents, 6])

    def both(shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        asked = sizes(world, shape, rng)
        own = log_odds(world, asked, rng)
        odds = [np.log(share / (1 - share)) + own for share in (left, right)]
        odds[1] = odds[1] + rng.normal(0, 0.3, shape)
        one, two = sigmoid(odds[0]), sigmoid(odds[1])
        # Half of what they get right they get right together.
        only = [0.5 * np.maximum(a - b, 0) + 0.5 * a * (1 - b) for a, b in ((one, two), (two, one))]
        return asked, *only

    asked, *only = both((200_000,))
    truth = float((asked * (only[0] - only[1])).sum() / asked.sum())
    asked, *only = both((documents, runs))
    first = rng.binomial(asked, only[0])
    second = rng.binomial(asked - first, np.minimum(1.0, only[1] / (1 - only[0])))
    found = difference_interval(first, asked, second, asked, answers=True)
    name = f"difference of {left} and {right}, {world}"
    return [Cell("coverage", name, documents, runs, _held(found.low, found.high, truth))]


def of_selection(task: tuple[str, int, int]) -> list[Cell]:
    """How often intervals of a choice hold what the choice is worth, and those of the head that is named its own.

    What a choice is worth is the mean over all runs: 0.4 where all heads are equal, less than the best head's where
    halves may miss it.

    Args:
        task: sizes of documents, documents, runs.
    """
    world, documents, runs = task
    cells = []
    for better in (0.0, 0.05, 0.2):
        ends: dict[str, list[NDArray[np.float64]]] = {"own": [], "held_out": []}
        for run in range(max(1, runs // RELATIONS)):
            rng = np.random.default_rng([run, documents, 7])
            made = contest(world, documents=documents, heads=72, relations=RELATIONS, better=better, rng=rng)
            chosen = held_out(made.heads, made.asked, seed=run)
            for name, found in (("own", chosen.own), ("held_out", chosen.held_out)):
                bounds = np.stack([found.low, found.value, found.high])
                ends[name].append(bounds if name == "held_out" else bounds[:, chosen.candidate == 36])
        low, value, high = np.concatenate(ends["held_out"], axis=1)
        name = f"a choice, best head {100 * better:.0f} points better, {world}"
        cells.append(Cell("coverage-of-choice", name, documents, len(value), _held(low, high, value.mean())))
        if better == 0.2:
            low, _, high = np.concatenate(ends["own"], axis=1)
            name, truth = f"named head, 20 points better, {world}", _mean_of(world, 0.4 + better)
            cells.append(Cell("coverage", name, documents, len(low), _held(low, high, truth)))
    return cells


def _mean_of(world: str, share: float) -> float:
    """What share of questions is right where a document of the middle has so many right."""
    rng = np.random.default_rng(1)
    number = sizes(world, (400_000,), rng)
    odds = np.log(share / (1 - share)) + log_odds(world, number, rng)
    return float((number * sigmoid(odds)).sum() / number.sum())


def _held(low: NDArray[np.float64], high: NDArray[np.float64], truth: float) -> float:
    return float(((low <= truth) & (truth <= high)).mean())


def plan(*, quick: bool) -> Iterator[tuple[Callable[..., object], tuple[object, ...]]]:
    """Yield what to run: fewer and smaller cells in a `quick` round."""
    worlds = SIZES[:2]
    for heads in HEADS[: 1 if quick else 2]:
        for documents in DOCUMENTS[: 3 if quick else 4]:
            budget = 4e6 if heads < 1000 else 2e6
            most = 40 if quick else int(np.clip(budget / (heads * documents), 10, 400))
            few = max(10, most // 4)
            for world in worlds[1:] if quick else worlds:
                yield of_heads, ("selection", world, documents, heads, 0.0, most)
                yield of_heads, ("each head", world, documents, heads, 0.0, few)
                for test in ("selection", "halves"):
                    yield of_heads, (test, world, documents, heads, BETTER, few)
    runs = 1000 if quick else 2000
    for documents in DOCUMENTS[: 3 if quick else 4]:
        for world in SIZES:
            for accuracy in ACCURACIES:
                yield of_intervals, (world, accuracy, documents, runs, not quick)
            yield of_differences, (world, 0.5, 0.4, documents, runs)
            yield of_differences, (world, 0.99, 0.98, documents, runs)
            if not quick:
                yield of_selection, (world, documents, runs)


def run(*, quick: bool, workers: int) -> Iterator[Cell]:
    """Run the plan, cells in its order."""
    tasks = list(plan(quick=quick))
    with ProcessPoolExecutor(workers) as pool:
        for future in [pool.submit(function, task) for function, task in tasks]:
            found = future.result()
            yield from found if isinstance(found, list) else [found]


def show(cell: Cell) -> str:
    """Return a line of the table."""
    kept = {True: "", False: "  NOT KEPT", None: ""}[cell.kept]
    return f"{cell.check:32} {cell.world:46} {cell.documents:4} documents {cell.runs:5} runs {cell.value:7.3f}{kept}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and smaller cells, half a minute")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each cell")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    began, missed = time.perf_counter(), 0
    for made in run(quick=options.quick, workers=options.workers):
        print(json.dumps(asdict(made)) if options.json else show(made), flush=True)
        missed += made.kept is False
    print(f"{missed} promises not kept; {time.perf_counter() - began:.0f} s", file=sys.stderr)
    raise SystemExit(1 if missed else 0)
