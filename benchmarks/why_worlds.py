"""How often a source of attention scores is established where there is none.

    python benchmarks/why_worlds.py            # both parts, about two minutes
    python benchmarks/why_worlds.py --runs 100 --seeds 4

Two null worlds. In the first the share of every source of a head equals the threshold exactly, in documents of equal or
heavy-tailed size with correlated noise: the test over documents may establish any source in 5% of runs. In the second
a model with random weights is compared with the random weights of another seed, as in a run.
"""

import argparse
from functools import partial
from itertools import permutations

import numpy as np

import headscope as hs
from headscope.analyses.why.compute import PullText
from headscope.analyses.why.pulls import KEYS, NON_SINK, sources_of
from headscope.analyses.why.rows import established, random_shares
from headscope.analyses.why.sums import PullAccumulator, PullSums
from headscope.analyses.why.tables import ABOVE_RANDOM, LEAST_ABOVE, LEAST_PULL
from headscope.attention.scan import scan
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare

SOURCES = 40
DOCUMENTS = (10, 20, 50, 200)


def simulated(documents, *, heavy, generator, above=0.0):
    """Return the sums of one head whose shares all equal the threshold of established sources, plus `above`."""
    random = 0.01
    share = random + max(ABOVE_RANDOM * random, LEAST_ABOVE) + above
    sizes = generator.pareto(1.5, documents) + 0.2 if heavy else np.ones(documents)
    pulls = sizes * generator.gamma(20, 0.05, documents)
    together = generator.normal(0, 0.3, (documents, 1, 1))
    noise = share * (together + generator.normal(0, 0.5, (documents, 2, SOURCES)))
    accounts = np.zeros((documents, 1, 1, len(KEYS), 2, SOURCES + 1))
    accounts[..., :SOURCES] = (pulls[:, None, None] * (share + noise))[:, None, None, None]
    accounts[..., SOURCES] = pulls[:, None, None, None, None] - accounts[..., :SOURCES].sum(-1)
    sums = PullSums(accounts, np.ones((documents, 1, len(KEYS)), dtype=np.int32))
    threshold = np.full((1, len(KEYS), 2, SOURCES + 1), random)
    threshold[..., SOURCES] = 10.0
    return sums, threshold


def verdicts(sums, random, layer=0, head=0, keys=0):
    """Return True for each source of a head that is established, `[SIDES, source]`."""
    return np.equal(established(sums, random, layer, head, keys), True).astype(bool)


def in_simulation(runs):
    """Print the share of runs with any established source, and the share of sources found 5 points above."""
    print(f"share of {runs} runs that establish any of {2 * SOURCES} sources at the threshold; found 5 points above it")
    for heavy in (False, True):
        for documents in DOCUMENTS:
            generator = np.random.default_rng([documents, heavy])
            world = partial(simulated, documents, heavy=heavy, generator=generator)
            false = sum(verdicts(*world()).any() for _ in range(runs))
            found = np.mean([verdicts(*world(above=0.05))[:, :SOURCES].mean() for _ in range(max(1, runs // 10))])
            sizes = "heavy-tailed" if heavy else "equal"
            print(f"  {documents:4d} documents, {sizes:12s} sizes: {100 * false / runs:5.1f}%   {100 * found:5.1f}%")


def with_random_weights(model, seeds, inputs):
    """Print the share of a random model's heads with an established source, against random weights of another seed."""
    run = prepare(RunOptions(model=model, stages=("stats",)))
    segments, sources = run.sample(inputs), sources_of(run.layout)
    keys = KEYS.index(NON_SINK)
    (kind,) = (part.kind for part in run.layout)
    of_seed = []
    for seed in range(seeds):
        accumulator = PullAccumulator(run.layout)
        scan(PullText(run, lambda: segments, control=seed).source(), [accumulator])
        of_seed.append(accumulator.compute()[kind])
    thresholds = [random_shares(sums, sources) for sums in of_seed]
    pairs = list(permutations(range(seeds), 2))
    heads = any_established = 0
    for one, other in pairs:
        sums, found = of_seed[one], 0
        pulls = sums.totals[..., keys].sum(0) / sums.inputs[..., keys].sum(0)[:, None]
        for layer, head in zip(*np.nonzero(pulls > LEAST_PULL), strict=True):
            heads += 1
            found += int(verdicts(sums, thresholds[other], layer, head, keys).any())
        any_established += found > 0
    print(
        f"{model}: {any_established} of {len(pairs)} pairs of random seeds establish a source "
        f"({heads / len(pairs):.0f} heads with a pull above {LEAST_PULL:g} nats, {inputs} inputs)"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--inputs", type=int, default=16)
    chosen = parser.parse_args()
    print(f"headscope {hs.__version__}")
    in_simulation(chosen.runs)
    for name in ("headscope-decoder", "headscope-minilm"):
        with_random_weights(name, chosen.seeds, chosen.inputs)
