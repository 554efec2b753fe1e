"""The colors of layers, the first dark and the last bright, and the ink that can be read on them."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex

from headscope.palette import palette

_ON = ("#000000", "#fefefe")  # not the page's own colors: viridis is the same in both schemes


def layer_color(layer: int, layers: int) -> str:
    """Return a layer's color, the first dark and the last bright (`palette().layers`), as `#rrggbb`."""
    share = (layer - 1) / (layers - 1) if layers > 1 else 0.0
    return str(to_hex(mpl.colormaps[palette().layers](share)))


def on_layer(color: str) -> str:
    """Return the color of text on a layer's color: of dark and light the one with more contrast."""
    return max(_ON, key=lambda ink: contrast(ink, color))


def contrast(color: str, other: str) -> float:
    """Return the contrast of two `#rrggbb` colors as WCAG 2 defines it, 1 to 21."""
    low, high = sorted((_luminance(color), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    parts = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
