"""The colors and shapes of roles, and the colors of figures and pages: `data/palette.json`, which JavaScript shares.

A role has a `fill` (a cell), a `line` (a stroke or a point on the page's paper, at least 3:1 against it), the color
`on` its fill and a `shape`, so that no role is distinguished by color alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

SCHEMES = ("light", "dark")
_SHADES = ("fill", "line", "on")


@dataclass(frozen=True)
class Shade:
    """One color in both schemes, as `#rrggbb`."""

    light: str
    dark: str


@dataclass(frozen=True)
class RoleStyle:
    """The style of a role: its label in words, its colors, and its shape as an SVG path in a 10 x 10 box, y down."""

    label: str
    fill: Shade
    line: Shade
    on: Shade
    shape: str


@dataclass(frozen=True)
class Palette:
    """The page's colors (ink, soft, line, paper, card, tick), the roles, and the name of the layers' color map."""

    page: Mapping[str, Shade]
    roles: Mapping[str, RoleStyle]
    layers: str


@cache
def palette() -> Palette:
    """Read the palette; cached."""
    text = resources.files("headscope").joinpath("data/palette.json").read_text(encoding="utf-8")
    raw = json.loads(text)
    page = {name: Shade(**pair) for name, pair in raw["page"].items()}
    roles = {
        name: RoleStyle(**entry | {part: Shade(**entry[part]) for part in _SHADES})
        for name, entry in raw["roles"].items()
    }
    return Palette(page=MappingProxyType(page), roles=MappingProxyType(roles), layers=raw["layers"])


def css_variables(scheme: str) -> str:
    """Return the palette of one scheme (`light` or `dark`) as CSS declarations: `--ink:#1c1e21;--fill-previous:...`."""
    colors = palette()
    parts = [f"--{name}:{getattr(shade, scheme)}" for name, shade in colors.page.items()]
    for name, role in colors.roles.items():
        parts += [f"--{part}-{name}:{getattr(getattr(role, part), scheme)}" for part in _SHADES]
    return ";".join(parts)
