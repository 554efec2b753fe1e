"""What an analysis adds to a study: which heads find what, and what was read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class StudyParts:
    """What an analysis adds to a study; loaded with it, so it comes with nothing heavy.

    Attributes:
        chosen: its table of heads chosen for what it looks for, as `statistics.roles.finds` reads it; empty where it
            looks for nothing.
        named: what a row's head finds.
        summary: what it read, from the manifest, in a few words each.
    """

    chosen: str = ""
    named: Callable[[Row], str] = lambda _: ""
    summary: Callable[[Mapping[str, Any]], Sequence[str]] = lambda _: ()
