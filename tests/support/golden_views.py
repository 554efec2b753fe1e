"""Payloads on file for tests of the page's scripts, with the numbers that the scripts must read from them.

Rewrite them with `PYTHONPATH=tests python -m support.golden_views` after a change of the schema.
"""

import json
from pathlib import Path

import numpy as np

from headscope.views.markup import json_text
from headscope.views.view_payload import payload
from support.views import hand_made_view, pair_view, read_maps, read_neuron, three_kinds_view

FOLDER = Path(__file__).parents[1] / "views" / "golden"
VIEWS = {
    "by-hand": (hand_made_view, False),
    "pair": (pair_view, True),
    "pair-uncompressed": (pair_view, False),
    "three-kinds": (three_kinds_view, True),
}


def golden(name):
    """Return a payload and the numbers that a page reads from it, kind by kind: weights [layer][head][query][key] and
    score parts.
    """
    make, compress = VIEWS[name]
    told = payload(make(), compress=compress)
    return {"payload": told, "read": [read(kind) for kind in told["kinds"]]}


def read(kind):
    layers = [] if kind["neuron"] is None else range(len(kind["layers"]))
    names = ("queries", "keys", "bias", "visible")
    return {
        "weights": rounded(read_maps(kind)),
        "neuron": [dict(zip(names, map(rounded, read_neuron(kind, layer)))) for layer in layers],
    }


def rounded(values):
    return None if values is None else json.loads(json.dumps(np.round(values.astype(float), 7).tolist()))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in VIEWS:
        (FOLDER / f"{each}.json").write_text(json_text(golden(each)) + "\n", encoding="utf-8")
