"""Made-up sources of each head's scores: from layer 2 on, the first two heads below draw each head's attention."""

import numpy as np

from headscope.analyses.why.tables import PAIRS, PULLS, SOURCES
from support.measured import with_parts
from support.stand_ins import table_of

HEAD_SHARE, MLP_SHARE = 0.6, 0.2


def source_of(part, kind=None, layer=None, head=None, *, prefix="source_"):
    """Return the columns that name a source."""
    return {f"{prefix}part": part, f"{prefix}kind": kind, f"{prefix}layer": layer, f"{prefix}head": head}


def with_why(inputs, *, established=True, intervals=True, moved=0.3, heads=True, share=HEAD_SHARE):
    """Return the run with tables of the sources of each head's scores.

    Args:
        inputs: the run.
        established: verdict on every single source; None for a run without controls.
        intervals: whether shares have intervals.
        moved: attention moved by replacing the first source of a side, ten times that of the second; None without
            replacements.
        heads: whether earlier heads are sources.
        share: share of the first source head in the first head; it falls from head to head.
    """
    pulls, sources, pairs = [], [], []
    for part in inputs.manifest["kinds"]:
        kind, number = part["kind"], part["heads"]
        for layer in range(1, part["layers"] + 1):
            for head in range(1, number + 1):
                names = {"kind": kind, "layer": layer, "head": head}
                own = share * (1 - 0.5 * (head - 1) / number)
                first, second = (1, min(2, number))
                for keys in ("all", "non_sink"):
                    pulls.append(
                        {**names, "keys": keys, "random": 0.2, "n_inputs": 200, **ends("pull", 4.0, intervals)}
                    )
                    for side, below in (("key", first), ("query", second)):
                        every = [(source_of("token"), 1 - MLP_SHARE - (own if layer > 1 and heads else 0), established)]
                        if layer > 1:
                            every.append((source_of("mlp", kind, layer - 1), MLP_SHARE, established))
                        if layer > 1 and heads:
                            every.append((source_of("head", kind, layer - 1, below), own, established))
                        every.append((source_of("others"), 0.01, None))
                        every.sort(key=lambda each: -each[1])
                        for rank, (source, size, verdict) in enumerate(every):
                            row = {**names, "keys": keys, "side": side, **source, **ends("share", size, intervals)}
                            row |= {"random": 0.05, "established": verdict, "n_inputs": 200}
                            if moved is not None and rank < 2 and keys == "non_sink":
                                row |= ends("moved", moved if rank == 0 else 0.1 * moved, intervals, prefix="moved_")
                                row |= {"n_replaced": 40, "moved_less": rank > 0 if intervals else None}
                            sources.append(row)
                if layer > 1 and heads:
                    pair = source_of("head", kind, layer - 1, second, prefix="query_")
                    pair |= source_of("head", kind, layer - 1, first, prefix="key_")
                    pairs.append({**names, **pair, **ends("share", 0.8 * own, True), "n_inputs": 200})
    tables = {"pulls": table_of(PULLS, pulls), "sources": table_of(SOURCES, sources)}
    return with_parts(inputs, **tables, source_pairs=table_of(PAIRS, pairs))


def ends(name, value, known, *, prefix=""):
    """Return a number with an interval of a tenth to each side."""
    low, high = (0.9 * value, 1.1 * value) if known else (np.nan, np.nan)
    return {name: value, f"{prefix}ci_low": low, f"{prefix}ci_high": high}
