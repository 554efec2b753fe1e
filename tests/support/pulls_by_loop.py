"""Pulls of heads and the part of each source, by plain loops from the definition, without headscope."""

import numpy as np


def tilts_by_loop(weights, visible, left_out, *, by_mass):
    """Return the factor of each score in a head's pull, `[head, row, key]`, and the number of counted rows.

    Args:
        weights: attention of each head, `[head, row, key]`.
        visible: mask of the keys that each row sees, `[row, key]`.
        left_out: mask of the excluded keys, `[key]`.
        by_mass: True to weight a row by its attention to the counted keys, False to weight all rows equally.
    """
    heads, rows, keys = weights.shape
    factors, number = np.zeros(weights.shape), 0
    for head in range(heads):
        counted = {}
        for row in range(rows):
            seen = [key for key in range(keys) if visible[row, key] and not left_out[key]]
            if len(seen) > 1:
                counted[row] = seen
        masses = {row: sum(float(weights[head, row, key]) for key in seen) for row, seen in counted.items()}
        total = sum(masses.values()) if by_mass else len(counted)
        for row, seen in counted.items():
            share = (masses[row] if by_mass else 1.0) / total if total else 0.0
            for key in seen:
                attention = float(weights[head, row, key]) / masses[row] if masses[row] else 0.0
                factors[head, row, key] = share * (attention - 1 / len(seen))
        number = len(counted)
    return factors, number


def both_tilts(weights, visible, sinks):
    """Return the factors over all and non-sink keys, `[2, head, row, key]`, and True for each if any row counts."""
    none = np.zeros(len(sinks), dtype=bool)
    over_all, rows = tilts_by_loop(weights, visible, none, by_mass=False)
    off, off_rows = tilts_by_loop(weights, visible, np.asarray(sinks), by_mass=True)
    return np.stack([over_all, off]), (rows > 0, off_rows > 0)


def pulls_by_loop(weights, scores, visible, sinks):
    """Return the pull of each head over all keys and non-sink keys, `[head, 2]`, from scores `[head, row, key]`."""
    factors, _ = both_tilts(weights, visible, sinks)
    heads, rows, keys = weights.shape
    pulls = np.zeros((heads, 2))
    for head, row, key in np.ndindex(heads, rows, keys):
        if visible[row, key]:
            pulls[head] += factors[:, head, row, key] * float(scores[head, row, key])
    return pulls


def accounts_by_loop(weights, visible, sinks, queries, keys, scaling, bias=None):
    """Return the part of each source in each head's pull: a dict by side, then source, of `[head, 2]`.

    Args:
        weights: attention of each head, `[head, row, key]`.
        visible: mask of the keys that each row sees, `[row, key]`.
        sinks: mask of the keys that are sinks, `[key]`.
        queries: parts of each head's queries by source, `[head, row, width]`.
        keys: parts of each head's keys by source, `[head, key, width]`.
        scaling: factor of the products.
        bias: bias that is added to scores, `[head, row, key]`, or None.
    """
    factors, _ = both_tilts(weights, visible, sinks)
    accounts = {"query": {}, "key": {}}
    for reader, query in queries.items():
        for writer, key in keys.items():
            pull = scaling * np.einsum("xhij,hiw,hjw->hx", factors, query, key, optimize=True)
            for side, source in (("query", reader), ("key", writer)):
                accounts[side][source] = accounts[side].get(source, 0.0) + pull
    if bias is not None:
        pull = np.einsum("xhij,hij->hx", factors, bias)
        for side in accounts.values():
            side["position_bias", "", -1, -1] = pull
    return accounts
