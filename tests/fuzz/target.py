"""What the fuzzer tries: a part of headscope, what it is tried with at first, and how it is asked."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from fuzz.sample import Sample

Check: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A part of headscope that reads what others wrote.

    Attributes:
        name: of its findings.
        seeds: whole inputs, made in an empty folder by the project's own writers where it has them.
        prepare: makes, once a process and in an empty folder, what gives an input's folder to headscope. It raises what
            headscope raises, and AssertionError where a result is wrong.
        forged: returns an input whose hashes fit what it holds, as somebody who means it would give it, so that what
            lies behind the hashes is tried as well. Every other input goes through it.
    """

    name: str
    seeds: Callable[[Path], list[Sample]]
    prepare: Callable[[Path], Check]
    forged: Callable[[Sample], Sample] | None = None


_TARGETS = {
    "corpora": ("text", "features", "json-lines", "gzip", "entities", "conll-2012", "gap"),
    "treebanks": ("conllu", "relation-lines", "treebank-json"),
    "tables": ("word-vectors", "hub-treebank", "hub-text", "hub-names"),
    "pickles": ("pickles", "pickle-to-maps"),
    "maps": ("maps", "maps-run", "maps-to-pickle"),
    "models": ("models", "tokenizers"),
    "runs": ("runs", "atlas", "report", "resume"),
    "pages": ("markup", "view-page", "view-state"),
    "explorer": ("explorer",),
}
# Of the time, where others have 1: what is slow, and what many hands have a way to.
SHARES = {"maps": 2.0, "models": 2.0, "report": 2.0, "resume": 2.0, "explorer": 2.0, "hub-names": 0.3}
NAMES = tuple(name for names in _TARGETS.values() for name in names)


def target_named(name: str) -> Target:
    """Return a target; only its own module is loaded, for some need torch.

    Raises:
        KeyError: there is none of this name.
    """
    for module, names in _TARGETS.items():
        if name in names:
            (found,) = [one for one in import_module(f"fuzz.targets.{module}").TARGETS if one.name == name]
            return found
    raise KeyError(f"no target {name!r}; there are {', '.join(NAMES)}")
