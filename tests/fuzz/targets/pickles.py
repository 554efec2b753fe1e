"""Pickles of the paper's code: read without trusting them, and converted into a folder of maps."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import canary
from fuzz.sample import Sample
from fuzz.target import Check, Target
from headscope.maps.pickle_conversion import pickle_to_maps
from headscope.maps.pickles import read_original_pickle, write_original_pickle
from headscope.maps.unpickling import read_plain_pickle

_PLAIN = (type(None), bool, int, float, str)


class _Calls:
    """Pickle as a call."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def _entries() -> list[dict[str, Any]]:
    draw = np.random.default_rng(0)
    return [
        {"attns": draw.dirichlet(np.ones(5), size=(2, 3, 5)).astype(np.float16),
         "tokens": ["[CLS]", "play", "##ing", ".", "[SEP]"], "relns": ["root", "punct"]},
        {"attns": draw.dirichlet(np.ones(3), size=(2, 3, 3)).astype(np.float16),
         "tokens": ["[CLS]", "é日", "[SEP]"], "words": ["é日"], "heads": [0], "score": 0.5, "x": None},
    ]  # fmt: skip


def _seeds(folder: Path) -> list[Sample]:
    kept = [pickle.dumps(_entries(), protocol) for protocol in (1, 2, 3, 4)]
    write_original_pickle(folder / "own.pkl", _entries())
    kept.append((folder / "own.pkl").read_bytes())
    wicked = [
        _Calls(canary.sing, "once"),
        [{"attns": _Calls(canary.sing), "tokens": []}],
        np.array([_Calls(canary.sing)], dtype=object),
        _Calls(os.system, "true"),
        {"a": b"bytes", "b": bytearray(b"x"), "c": np.float64(1.5), "d": np.arange(6).reshape(2, 3)[:, ::2]},
    ]
    kept += [pickle.dumps(each, protocol) for each in wicked for protocol in (2, 4)]
    return [{"maps.pkl": content} for content in kept]


def _read(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        waiting = [read_plain_pickle(path)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                assert all(isinstance(key, str) for key in value)
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
            elif isinstance(value, np.ndarray):
                assert value.dtype.kind in "biuf", f"an array of {value.dtype}"
            else:
                assert type(value) in _PLAIN, f"a {type(value)}"

    return run


def _to_maps(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        read_original_pickle(path)
        pickle_to_maps(path, folder / "maps", replace=True)

    return run


TARGETS = [
    Target(name="pickles", seeds=_seeds, prepare=_read),
    Target(name="pickle-to-maps", seeds=_seeds, prepare=_to_maps),
]
