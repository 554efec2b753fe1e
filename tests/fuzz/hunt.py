"""A search for failing inputs of one target; inputs that reach new code are kept and mutated further."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.ingredients import ingredients
from fuzz.judging import Verdict, judge
from fuzz.mutation import mutate
from fuzz.sample import Sample, write_sample
from fuzz.target import Target

MOST_KEPT, MOST_BYTES = 400, 64 << 20  # inputs that are mutated further
MOST_TRIES, MOST_SECONDS = 120, 5.0  # limits of minimizing one finding
_SEEDS_FIRST = 0.15  # share of mutations that start from a seed, however many other inputs are kept


@dataclass(kw_only=True)
class Tally:
    """The progress of a hunt."""

    inputs: int = 0
    taken: int = 0
    refused: int = 0
    findings: int = 0


@dataclass(kw_only=True)
class Finding:
    """An input with a forbidden outcome.

    Attributes:
        place: text that distinguishes it from other findings of its target.
        why: a traceback, or the problem.
        sample: the minimized input.
    """

    place: str
    why: str
    sample: Sample = field(repr=False)


def hunt(
    target: Target,
    scratch: Path,
    *,
    seed: int,
    enough: Callable[[Tally], bool],
    found: Callable[[Finding], None],
    ready: Callable[[], None] = lambda: None,
    alive: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Try inputs until there are enough; report every finding once.

    The same seed gives the same inputs in the same order, whatever the machine's speed.

    Args:
        target: the target.
        scratch: a folder to work in; the current input is in `input`.
        seed: seed of the inputs.
        enough: returns True to stop; called after each input.
        found: called with each new finding.
        ready: called after the preparation, before the first input.
        alive: called before each input, also while a finding is minimized.
    """
    (scratch / "seeds").mkdir(parents=True, exist_ok=True)
    (scratch / "work").mkdir(exist_ok=True)
    seeds = target.seeds(scratch / "seeds")
    check = target.prepare(scratch / "work")
    use = ingredients(seed)
    rng = random.Random(f"{seed} {target.name}")
    kept = [(sample, sample) for sample in seeds]
    known: set[str] = set()
    tally, held = Tally(), 0
    ready()

    def judged(sample: Sample) -> Verdict:
        alive(tally)
        return judge(check, write_sample(sample, scratch / "input"))

    while not enough(tally):
        if tally.inputs < len(seeds):
            origin = sample = seeds[tally.inputs]
        else:
            here = kept[: len(seeds)] if rng.random() < _SEEDS_FIRST else kept
            before, origin = rng.choice(here)
            sample = mutate(before, rng, use, [each for each, _ in rng.choices(kept, k=2)])
            if target.forged is not None and rng.random() < 0.5:
                sample = target.forged(sample)
        verdict = judged(sample)
        tally.inputs += 1
        if verdict.kind == "taken":
            tally.taken += 1
        elif verdict.kind == "refused":
            tally.refused += 1
        new = f"{verdict.kind} {verdict.place}"
        if new in known:
            continue
        known.add(new)
        if verdict.kind == "finding":
            tally.findings += 1
            small = smaller(sample, origin, verdict, judged)
            found(Finding(place=verdict.place, why=verdict.why, sample=small))
        elif len(kept) < MOST_KEPT and held < MOST_BYTES:
            kept.append((sample, origin))
            held += sum(map(len, sample.values()))
    return tally


def smaller(sample: Sample, origin: Sample, verdict: Verdict, judged: Callable[[Sample], Verdict]) -> Sample:
    """Return a shorter sample with the same verdict, closer to its origin.

    Slow findings are left as they are.
    """
    if "TooSlow" in verdict.place or "MemoryError" in verdict.place:
        return sample
    tries, end = 0, time.monotonic() + MOST_SECONDS

    def more() -> bool:
        return tries < MOST_TRIES and time.monotonic() < end

    def still(candidate: Sample) -> bool:
        nonlocal tries
        tries += 1
        again = judged(candidate)
        return (again.kind, again.place) == (verdict.kind, verdict.place)

    for name in sorted(sample.keys() | origin.keys()):
        if sample.get(name) == origin.get(name) or not more():
            continue
        candidate = {key: value for key, value in {**sample, name: origin.get(name)}.items() if value is not None}
        if candidate and still(candidate):
            sample = candidate
    for name in sorted(sample):
        if sample[name] == origin.get(name) and len(sample) > 1:
            continue
        size = len(sample[name]) // 2
        while size and more():
            at = 0
            while at < len(sample[name]) and more():
                content = sample[name]
                candidate = {**sample, name: content[:at] + content[at + size :]}
                if still(candidate):
                    sample = candidate
                else:
                    at += size
            size //= 2
    return sample
