"""Fair ratios on a noisy machine: the contestants take turns, round by round, in one process."""

import statistics
import time
from collections.abc import Callable


def alternate(contestants: dict[str, Callable[[], object]], *, rounds: int = 5) -> dict[str, list[float]]:
    """Time each contestant once a round, after one warm-up round; in seconds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds + 1):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            if number:
                times[name].append(time.perf_counter() - began)
    return times


def median_ratio(times: dict[str, list[float]], name: str, base: str) -> float:
    """Return the median over rounds of the ratio of two contestants' times in the same round."""
    return statistics.median(a / b for a, b in zip(times[name], times[base]))
