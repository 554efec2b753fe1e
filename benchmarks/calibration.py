"""Level of tests and coverage of intervals, on simulated documents with known truth and many runs of each world.

False discovery: every head is exactly as good as the best offset; the share of runs with any discovery at q < 0.05 may
not exceed 5%, for the choice of the best head and for every head by itself. Power: one head is 10 points better; the
share of relations found is reported, and the share found by choosing on one half and testing on the other (`halves`).
Both are run with a difficulty of documents that all heads share, and with separate document effects for each head
(`effects`). Coverage: the share of 95% intervals that contain the true value, compared with the percentile bootstrap
and the bootstrap-t; for accuracies, differences, positive values, shares of attention (`value_worlds`) and deciles
(`decile_worlds`).
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from alternatives import bootstrap_t, halves_p, percentile
from cells import FEWEST_RUNS, LEVEL, Cell, covered, print_cells
from decile_worlds import of_deciles
from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from headscope.statistics.inference.selection import held_out
from headscope.statistics.inference.significance import against_every, false_discovery, selection_p
from value_worlds import of_layers, of_positive, of_shares
from worlds import SIZES, STEEP, answers, contest, level, log_odds, sigmoid, sizes

DOCUMENTS = (10, 30, 100, 256)
MANY_DOCUMENTS = (512, 1024)
HEADS = (144, 1024)
ACCURACIES = (0.02, 0.5, 0.9, 0.98, 0.99)
SHARES = (0.01, 0.1, 0.3)
EFFECTS = (0.0, 0.5, 1.0)
RELATIONS, RELATIONS_OF_EQUALS = 20, 5
RUNS_OF_POWER, RUNS_OF_DECILES = 10, 2000
BETTER = 0.10


def of_heads(task: tuple[str, str, int, int, float, float, int]) -> list[Cell]:
    """Simulate a contest of heads with offsets many times.

    Args:
        task: the test (`selection`, `each head` or `halves`), distribution of document sizes, documents, heads,
            advantage of one head, size of the document effects that heads do not share, runs.
    """
    test, world, documents, heads, better, effects, runs = task
    found = []
    for run in range(runs):
        rng = np.random.default_rng([run, documents, heads])
        made = contest(
            world,
            documents=documents,
            heads=heads,
            relations=RELATIONS if better else RELATIONS_OF_EQUALS,
            better=better,
            rng=rng,
            effects=effects,
        )
        tables = made.heads, made.offsets, made.asked
        if test == "each head":
            q = false_discovery(against_every(*tables))
        else:
            q = false_discovery((selection_p if test == "selection" else halves_p)(*tables, seed=run))
        # With a better head, the share of relations in which it is found; otherwise True if anything is found.
        own = q[heads // 2] if test == "each head" else q
        found.append((own < LEVEL).mean() if better else (q < LEVEL).any())
    check = "false-discovery" if not better else "power" if test != "halves" else "power-of-halves"
    name = f"{test}, {heads} heads, effects {effects}, {world}"
    return [Cell(check, name, documents, runs, float(np.mean(found)))]


def of_intervals(task: tuple[str, float, int, int, bool]) -> list[Cell]:
    """Draw accuracies many times and compute the coverage of their intervals.

    Args:
        task: distribution of document sizes, true accuracy, documents, runs, True to try the alternatives too.
    """
    world, accuracy, documents, runs, beside = task
    drawn = answers(world, level(world, accuracy), documents, runs, np.random.default_rng([documents, 5]))
    ours = ratio_interval(drawn.right, drawn.asked, scale="share")
    name = f"accuracy {accuracy}, {world}"
    # The number of right answers is small and discrete, and Wilson's interval is conservative.
    check = "coverage-at-least" if accuracy < 0.05 else "coverage"
    cells = [Cell(check, name, documents, runs, covered(ours.low, ours.high, accuracy))]
    if beside:
        for method, other in (("percentile-bootstrap", percentile), ("bootstrap-t", bootstrap_t)):
            cells.append(
                Cell(f"coverage-of-{method}", name, documents, runs,
                     covered(*other(drawn.right, drawn.asked), accuracy))
            )  # fmt: skip
    return cells


def of_differences(task: tuple[str, float, float, int, int]) -> list[Cell]:
    """Draw two systems that answer the same questions, and compute the coverage of the interval of their difference.

    Args:
        task: distribution of document sizes, accuracies of the two (for a median document), documents, runs.
    """
    world, left, right, documents, runs = task
    rng = np.random.default_rng([documents, 6])

    def both(shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        asked = sizes(world, shape, rng)
        own = log_odds(world, asked, rng)
        odds = [np.log(share / (1 - share)) + own for share in (left, right)]
        odds[1] = odds[1] + rng.normal(0, 0.3, shape)
        one, two = sigmoid(odds[0]), sigmoid(odds[1])
        # Half of the right answers coincide.
        only = [0.5 * np.maximum(a - b, 0) + 0.5 * a * (1 - b) for a, b in ((one, two), (two, one))]
        return asked, *only

    asked, *only = both((200_000,))
    truth = float((asked * (only[0] - only[1])).sum() / asked.sum())
    asked, *only = both((documents, runs))
    first = rng.binomial(asked, only[0])
    second = rng.binomial(asked - first, np.minimum(1.0, only[1] / (1 - only[0])))
    found = difference_interval(first, asked, second, asked, answers=True)
    name = f"difference of {left} and {right}, {world}"
    return [Cell("coverage", name, documents, runs, covered(found.low, found.high, truth))]


def of_selection(task: tuple[str, int, int]) -> list[Cell]:
    """Compute the coverage of intervals of a choice's value, and of intervals of the named head's own accuracy.

    The value of a choice is the mean over all runs: 0.4 if all heads are equal, less than the best head's if halves may
    miss it.

    Args:
        task: distribution of document sizes, documents, runs.
    """
    world, documents, runs = task
    cells = []
    for better in (0.0, 0.05, 0.2):
        ends: dict[str, list[NDArray[np.float64]]] = {"own": [], "held_out": []}
        for run in range(max(1, runs // RELATIONS)):
            rng = np.random.default_rng([run, documents, 7])
            made = contest(world, documents=documents, heads=72, relations=RELATIONS, better=better, rng=rng)
            chosen = held_out(made.heads, made.asked, seed=run)
            for name, found in (("own", chosen.all_documents), ("held_out", chosen.held_out)):
                bounds = np.stack([found.low, found.value, found.high])
                ends[name].append(bounds if name == "held_out" else bounds[:, chosen.candidate == 36])
        low, value, high = np.concatenate(ends["held_out"], axis=1)
        name = f"a choice, best head {100 * better:.0f} points better, {world}"
        cells.append(Cell("coverage-of-choice", name, documents, len(value), covered(low, high, value.mean())))
        if better == 0.2:
            low, _, high = np.concatenate(ends["own"], axis=1)
            name, truth = f"named head, 20 points better, {world}", _mean_of(world, 0.4 + better)
            cells.append(Cell("coverage", name, documents, len(low), covered(low, high, truth)))
    return cells


def _mean_of(world: str, share: float) -> float:
    """Return the share of right answers over all questions, given the share in a median document."""
    rng = np.random.default_rng(1)
    number = sizes(world, (400_000,), rng)
    odds = np.log(share / (1 - share)) + log_odds(world, number, rng)
    return float((number * sigmoid(odds)).sum() / number.sum())


Task = tuple[Callable[..., object], tuple[object, ...]]


def plan(*, quick: bool) -> Iterator[Task]:
    """Yield the tasks: fewer cells in a `quick` round, with as many runs of each."""
    yield from _tests(quick=quick)
    runs = 2500 if quick else 4000
    for documents in DOCUMENTS[: 2 if quick else 4]:
        for world in SIZES[1:] if quick else SIZES:
            for accuracy in ACCURACIES[::3] if quick else ACCURACIES:
                yield of_intervals, (world, accuracy, documents, runs, not quick)
            yield of_differences, (world, 0.5, 0.4, documents, runs)
            yield of_differences, (world, 0.99, 0.98, documents, runs)
            for effects in EFFECTS[1 : 2 if quick else 3]:
                yield of_positive, (world, effects, documents, runs)
                yield of_layers, (world, effects, documents, runs)
                for share in SHARES:
                    yield of_shares, (world, share, effects, documents, runs)
            if not quick:
                yield of_selection, (world, documents, runs)
                yield of_deciles, (world, documents, RUNS_OF_DECILES)
        yield of_positive, (STEEP, 0.5, documents, runs)
        yield of_shares, (STEEP, 0.1, 0.5, documents, runs)
    if quick:
        yield of_deciles, (SIZES[0], 30, RUNS_OF_DECILES)


def _tests(*, quick: bool) -> Iterator[Task]:
    equal, better = (0.0, BETTER)
    for world in SIZES[1:2] if quick else SIZES[:2]:
        for documents in DOCUMENTS[1:2] if quick else DOCUMENTS:
            for effects in EFFECTS[::2]:
                yield of_heads, ("selection", world, documents, 144, equal, effects, FEWEST_RUNS)
            yield of_heads, ("each head", world, documents, 144, equal, 0.0, FEWEST_RUNS)
            if not quick:
                yield of_heads, ("selection", world, documents, 1024, equal, 0.0, FEWEST_RUNS)
        for documents in (100,) if quick else DOCUMENTS + MANY_DOCUMENTS:
            for effects in EFFECTS:
                yield of_heads, ("selection", world, documents, 144, better, effects, RUNS_OF_POWER)
            if not quick and documents in DOCUMENTS:
                yield of_heads, ("halves", world, documents, 144, better, 0.0, RUNS_OF_POWER)
                yield of_heads, ("selection", world, documents, 1024, better, 0.0, RUNS_OF_POWER)


if __name__ == "__main__":
    raise SystemExit(print_cells(plan, description=__doc__))
