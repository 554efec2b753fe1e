"""Coverage of the interval of the selected head's accuracy, for equal heads, near ties and a clear best head.

A document's difficulty is shared by all heads, and each head has an effect of its own on each document. The head is
selected as in the tables, by halves of the documents. Each line gives the coverage of a 95% interval and the mean error
of its value for one quantity: the selected head's cross-fitted accuracy, the same accuracy next to a selected best
offset, the margin above that offset, and the accuracy on all documents, which these quantities replace.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.inference.confidence import Interval
from headscope.statistics.inference.selection import beside_rival, held_out
from worlds import SIZES, log_odds, sigmoid, sizes

DOCUMENTS = (10, 30, 100)
HEADS = 144
BEST, SECOND = 0.5, 0.35
SKILLS = {
    "equal heads": np.full(HEADS, BEST),
    "near ties": np.concatenate([BEST - 0.01 * np.arange(8), np.full(HEADS - 8, SECOND)]),
    "a clear best": np.concatenate([[BEST], np.full(HEADS - 1, SECOND)]),
}
OFFSETS = {"one best offset": np.array([0.4, *[0.1] * 9]), "equal offsets": np.full(10, 0.4)}
OWN_EFFECT = 0.3
"""Standard deviation, in log odds, of a head's own effect in one document, beyond the effect that all heads share."""
WANTED = 0.92
RUNS_AT_ONCE = 100


@dataclass(frozen=True)
class Cell:
    """One line: the quantity, the world, the coverage of the interval, and the mean error."""

    interval: str
    world: str
    documents: int
    runs: int
    coverage: float
    bias: float
    width: float

    @property
    def kept(self) -> bool | None:
        """Whether the coverage is as promised, within two standard errors; None for quantities without a promise."""
        if self.interval == "all documents":
            return None
        return self.coverage >= WANTED - 2 * float(np.sqrt(WANTED * (1 - WANTED) / self.runs))


@cache
def truth(size: str, skill: float) -> float:
    """Return the true share of questions that a candidate answers right, given its skill in a median document."""
    rng = np.random.default_rng(1)
    number = sizes(size, (400_000,), rng)
    odds = np.log(skill / (1 - skill)) + log_odds(size, number, rng) + OWN_EFFECT * rng.normal(size=number.shape)
    return float((number * sigmoid(odds)).sum() / number.sum())


def cells(heads: str, offsets: str, size: str, documents: int, *, runs: int) -> Iterator[Cell]:
    """Draw a world many times.

    Args:
        heads: a key of `SKILLS`.
        offsets: a key of `OFFSETS`.
        size: distribution of document sizes.
        documents: number of documents.
        runs: number of draws.
    """
    skills = SKILLS[heads], OFFSETS[offsets]
    known = [np.array([truth(size, float(skill)) for skill in each]) for each in skills]
    found: dict[str, list[NDArray[np.float64]]] = {
        name: [] for name in ("cross-fitted", "beside the offset", "margin", "all documents")
    }
    for part in range(runs // RUNS_AT_ONCE):
        rng = np.random.default_rng([part, documents])
        asked = sizes(size, (documents, RUNS_AT_ONCE), rng)
        shared = log_odds(size, asked, rng)[:, None]
        right = [_answers(each, asked, shared, rng) for each in skills]
        chosen, offset = (held_out(each, asked, seed=part) for each in right)
        contest = beside_rival(right[0], chosen, right[1], offset, asked)
        head, rival = known[0][chosen.candidate], known[1][contest.rival]
        found["cross-fitted"].append(_beside(chosen.value, head))
        found["beside the offset"].append(_beside(contest.value, head))
        found["margin"].append(_beside(contest.margin, head - rival))
        found["all documents"].append(_beside(chosen.all_documents, head))
    for name, parts in found.items():
        low, value, high = np.concatenate(parts, axis=1)
        inside = (low <= 0) & (high >= 0)
        yield Cell(
            name, f"{heads}, {offsets}, {size}", documents, inside.size,
            float(inside.mean()), float(value.mean()), float((high - low).mean()),
        )  # fmt: skip


def _answers(
    skills: NDArray[np.float64], asked: NDArray[np.int64], shared: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw right answers, `[document, candidate, run]`."""
    odds = np.log(skills / (1 - skills))[None, :, None] + shared
    odds = odds + OWN_EFFECT * rng.normal(size=odds.shape)
    return rng.binomial(asked[:, None], sigmoid(odds))


def _beside(found: Interval, true: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([found.low - true, found.value - true, found.high - true])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each cell")
    options = parser.parse_args()
    missed = 0
    for heads in SKILLS:
        for offsets in OFFSETS:
            for size in SIZES:
                for documents in DOCUMENTS:
                    for cell in cells(heads, offsets, size, documents, runs=options.runs):
                        missed += cell.kept is False
                        said = (
                            f"{cell.interval:17} {cell.world:44} {cell.documents:4} documents {cell.runs:5} runs "
                            f"{cell.coverage:6.3f}  bias {100 * cell.bias:+5.1f}  width {100 * cell.width:5.1f}"
                            f"{'  NOT KEPT' if cell.kept is False else ''}"
                        )
                        print(json.dumps(asdict(cell)) if options.json else said, flush=True)
    raise SystemExit(1 if missed else 0)
