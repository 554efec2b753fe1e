"""Saved maps: opened, read by segment and as a stream, and written as a pickle for the paper's code."""

import json
from hashlib import blake2b
from pathlib import Path

import numpy as np

from fuzz.sample import Sample, read_sample
from fuzz.target import Check, Target
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.scan import scan
from headscope.maps.index import MapEntry, MapsIndex, Tokens, maps_folder
from headscope.maps.maps_source import MapsSource
from headscope.maps.pickle_conversion import maps_to_pickle
from headscope.models.anatomy import KindLayout
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare

_SIDE = Tokens(
    tokens=["[CLS]", "the", "cat", "##s", "sat", "[SEP]"],
    ids=[0, 7, 8, 9, 10, 2],
    classes=[1, 0, 0, 0, 0, 2],
    word_ids=[-1, 0, 1, 1, 2, -1],
)


def _save(folder: Path, layout: tuple[KindLayout, ...], *, store: str, word_level: str | None) -> Sample:
    index = MapsIndex(
        model={"name": "tiny", "revision": None, "weights": "x", "family": "bert"},
        special={"cls": "[CLS]", "sep": "[SEP]"},
        layout=layout,
        store=store,
        word_level=word_level,
        signature={"id": "x", "corpus": {"name": "x", "hash": "y"}, "options": {}},
    )
    draw = np.random.default_rng(1)
    size = len(_SIDE) - (word_level is not None)
    with maps_folder(folder, index, shard_bytes=1000) as writer:
        for number in range(3):
            entry = MapEntry(
                document=f"d{number}",
                index=0,
                input=_SIDE,
                decoder=_SIDE if len(layout) > 1 else None,
                token_types=[0] * len(_SIDE),
                words=["the", "cats", "sat"] if number else [],
                fields={"heads": [2, 0, 2], "relns": ["det", "root", "x"]} if number else {},
            )
            weights = {
                part.kind: draw.dirichlet(np.ones(size), size=(part.layers, part.heads, size)) for part in layout
            }
            seen = {part.kind: np.tri(size, size, number, dtype=bool) for part in layout}
            for part in layout:
                weights[part.kind] = weights[part.kind] * seen[part.kind]
                weights[part.kind] /= weights[part.kind].sum(-1, keepdims=True)
            visible = {part.kind: np.stack([seen[part.kind]] * part.layers) for part in layout}
            writer.add(entry, weights, visible)
    return read_sample(folder)


def _seeds(folder: Path) -> list[Sample]:
    several = tuple(KindLayout(kind, 1, 2) for kind in ("encoder", "decoder", "cross"))
    return [
        _save(folder / "a", (KindLayout("encoder", 2, 2),), store="float32", word_level=None),
        _save(folder / "b", (KindLayout("decoder", 2, 1),), store="float16", word_level="mean"),
        _save(folder / "c", several, store="float16", word_level=None),
    ]


def _forged(sample: Sample) -> Sample:
    """Update the shards' sizes and hashes in the index, if the index is readable."""
    try:
        index = json.loads(sample["index.json"])
        for shard in index["shards"]:
            content = sample[shard["file"]]
            shard.update(bytes=len(content), hash=blake2b(content, digest_size=16).hexdigest())
        return {**sample, "index.json": json.dumps(index).encode()}
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return sample


def _read(folder: Path) -> Check:
    def run(given: Path) -> None:
        source = MapsSource(given)
        for entry in source.index.entries:
            source.maps(entry)
        stats = StatsAccumulator(source.layout)
        scan(source, [stats])
        stats.compute()

    return run


def _prepared(folder: Path) -> Check:
    def run(given: Path) -> None:
        prepare(RunOptions(maps=given, stages=("stats",)))

    return run


def _to_pickle(folder: Path) -> Check:
    def run(given: Path) -> None:
        maps_to_pickle(given, folder / "maps.pkl", replace=True)

    return run


TARGETS = [
    Target(name="maps", seeds=_seeds, prepare=_read, forged=_forged),
    Target(name="maps-run", seeds=_seeds, prepare=_prepared, forged=_forged),
    Target(name="maps-to-pickle", seeds=_seeds, prepare=_to_pickle, forged=_forged),
]
