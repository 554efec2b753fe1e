"""Made-up counts of section 4.2 in the form in which a scan leaves them."""

import numpy as np

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import OFFSETS, ArcTable, DependencyOptions
from headscope.models.anatomy import KindLayout
from headscope.statistics.tables.frames import DISTANCES

LAYOUT = (KindLayout("encoder", 2, 3), KindLayout("decoder", 1, 2))
TABLE = ArcTable(("obj", "nsubj", "acl", "case", "root", "punct", "other"))


def filled(documents, *, seed=0, most=3, layout=LAYOUT, table=TABLE, options=None, rare=("acl",)):
    """Return an accumulator with random counts and its arrays, `{name: [document, ...]}`.

    Documents have few arcs per cell, so that there are ties and gaps; relations named in `rare` have even fewer.
    There are as many attending words as arcs, or fewer where the words are head words: several arcs may share one.
    """
    rng = np.random.default_rng(seed)
    width = len((options or DependencyOptions()).directions)
    counts = rng.integers(0, most, size=(documents, table.cells))
    for relation in rare:
        place = table.relations.index(relation) * len(DISTANCES)
        counts[:, place + 1 : place + len(DISTANCES)] = 0
    root = table.relations.index("root") * len(DISTANCES)
    counts[:, root + 1 : root + len(DISTANCES)] = 0
    arrays = {"n_arcs": counts, "n_offsets": rng.binomial(counts[..., None], 0.15, (*counts.shape, len(OFFSETS)))}
    for part in layout:
        own = rng.uniform(0.05, 0.4, size=(1, len(table.relations), part.layers, part.heads, width))
        level = np.repeat(own, len(DISTANCES), axis=1)
        hits = rng.binomial(counts[..., None, None, None], level)
        hits[:, root : root + len(DISTANCES)] = 0
        arrays[f"n_hits.{part.kind}"] = hits
        per_relation = counts.reshape(documents, -1, len(DISTANCES)).sum(2)
        heads = [rng.binomial(per_relation, 0.7) for _ in range(width - 1)]
        attending = np.stack([per_relation, *heads], axis=2).reshape(documents, -1)
        arrays[f"n_attending.{part.kind}"] = attending
        shape = (*attending.shape, part.layers, part.heads, 2)
        arrays[f"noop.{part.kind}"] = attending[..., None, None, None] * rng.uniform(0, 0.4, size=shape)
    return holding(arrays, layout=layout, table=table, options=options), arrays


def holding(arrays, *, layout=LAYOUT, table=TABLE, options=None):
    """Return an accumulator with these counts."""
    accumulator = DependencyAccumulator(layout, table, options)
    for store in (accumulator.sums, accumulator.stores["special"]):
        own = {name: array for name, array in arrays.items() if name in store.shapes}
        for document in range(len(arrays["n_arcs"])):
            store.add(f"d{document:03d}", **{name: array[document] for name, array in own.items()})
    return accumulator
