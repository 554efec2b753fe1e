"""Targets of the fuzzer: a part of headscope, its first inputs, and the function to call."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from fuzz.sample import Sample

Check: TypeAlias = Callable[[Path], None]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A part of headscope that reads files from outside.

    Attributes:
        name: name of the target in its findings.
        seeds: returns valid inputs, made in an empty folder, by the project's own writers where they exist.
        prepare: returns, once per process and in an empty folder, the check of an input's folder. The check raises
            headscope's errors, and AssertionError for a wrong result.
        forged: returns an input with matching hashes, as an attacker would write it, so that the code after the hash
            check is reached as well. It is applied to every other input.
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
# Shares of the time, 1 for other targets: more for slow targets and for those that are easiest to attack.
SHARES = {"maps": 2.0, "models": 2.0, "report": 2.0, "resume": 2.0, "explorer": 2.0, "hub-names": 0.3}
NAMES = tuple(name for names in _TARGETS.values() for name in names)


def target_named(name: str) -> Target:
    """Return a target, importing only its own module, since some need torch.

    Raises:
        KeyError: no target has this name.
    """
    for module, names in _TARGETS.items():
        if name in names:
            (found,) = [one for one in import_module(f"fuzz.targets.{module}").TARGETS if one.name == name]
            return found
    raise KeyError(f"no target {name!r}; there are {', '.join(NAMES)}")
