"""Matplotlib figures inlined in a page: colors of the light and dark scheme, unique ids, compact points."""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b
from math import ceil

import matplotlib.figure
import numpy as np
from numpy.typing import NDArray

from headscope.palette import palette
from headscope.present.figures.saving import svg_text
from headscope.present.figures.settling import settle
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.views.markup import Html, el, raw, text

FEWEST = 200
"""Smallest number of points that are replaced."""
_SAME = 0.06  # of a pixel, because matplotlib writes two decimals
_POINT = re.compile(r'<path data-head="([^"]*)" d="([^"]*)"([^>]*)/>')
_PLAIN = re.compile(r"^M [-\d.]+ [-\d.]+\s*(L [-\d.]+ [-\d.]+\s*)+z\s*$")


def stamped(group: str, *, name: str) -> str:
    """Replace the points of a group by uses of a few shapes; paths that are not plain outlines stay.

    A circle of 20 corners takes 400 bytes a point, a use of it 60.

    Args:
        group: `<g ...>` with paths that have `data-head`.
        name: prefix of the shapes' ids.
    """
    if len(_POINT.findall(group)) < FEWEST:
        return group
    shapes: list[NDArray[np.float64]] = []

    def use(match: re.Match[str]) -> str:
        head, outline, rest = match.groups()
        if not _PLAIN.match(outline):
            return match.group()
        corners = np.array(re.findall(r"[-\d.]+", outline), dtype=np.float64).reshape(-1, 2)
        shape = corners - corners[0]
        index = next(
            (n for n, known in enumerate(shapes) if known.shape == shape.shape and np.abs(known - shape).max() < _SAME),
            None,
        )
        if index is None:
            index = len(shapes)
            shapes.append(shape)
        x, y = (f"{value:.1f}" for value in corners[0])
        return f'<use data-head="{head}" xlink:href="#{name}{index}" x="{x}" y="{y}"{rest}/>'

    body = _POINT.sub(use, group)
    defined = "".join(f'<path id="{name}{n}" d="{_outline(known)}"/>' for n, known in enumerate(shapes))
    return body.replace(">", f"><defs>{defined}</defs>", 1) if shapes else group


def _outline(corners: NDArray[np.float64]) -> str:
    return "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in corners) + "z"


PIXELS_PER_POINT = 1.36
"""Ten-point text of a figure is displayed a little smaller than the page's sixteen-pixel text."""
LEAST_PIXELS = 11
"""Smallest text of a figure on any screen; a figure that would need smaller text scrolls in its box."""


def inline(figure: matplotlib.figure.Figure, *, name: str, label: str) -> Html:
    """Return a figure with an inline `<svg>` that scales with its box.

    Args:
        figure: a figure of `headscope.present.figures`.
        name: name that is unique in the page; prefixed to the figure's ids.
        label: description of the figure for screen readers.
    """
    return _figure(svg_text(figure), name=name, label=label)


def placed(
    about: Context, figure: Figure, label: str, *, ending: str = "", class_: str | None = None, href: str | None = None
) -> list[Html]:
    """Draw a figure for the page, all the numbered pages that it has on paper.

    Args:
        about: the run.
        figure: a figure that its analysis declares.
        label: description for screen readers.
        ending: ending of its file name: the kind of attention, the probe.
        class_: class of the elements.
        href: address that a click on it opens.
    """
    drawings = figure.drawings(about)
    page = re.compile(rf"{re.escape(figure.name + ending)}(-\d+)?")
    return [
        _figure(_markup(draw), name=file, label=label, class_=class_, href=href)
        for file, draw in drawings.items()
        if page.fullmatch(file)
    ]


def _markup(draw: Drawing) -> str:
    figure = draw()
    settle(figure)
    return svg_text(figure)


def _figure(markup: str, *, name: str, label: str, class_: str | None = None, href: str | None = None) -> Html:
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', markup)
    if box is None:
        raise ValueError("Expected an SVG with a viewBox from matplotlib, got none; check the version of matplotlib.")
    width, height = float(box.group(1)), float(box.group(2))
    body = markup[markup.index(">", markup.index("<svg")) + 1 : markup.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<style type="text/css">.*?</style>', "", body, flags=re.DOTALL)
    body = _LINKED_POINT.sub(_point, body)
    body = _GROUP.sub(_hoist, body)
    body = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), name), body)
    body = re.sub(r">\s+<", "><", body)
    least = ceil(width * LEAST_PIXELS / min(map(float, _FONT_SIZE.findall(body)), default=LEAST_PIXELS))
    size = f"--natural:{max(round(width * PIXELS_PER_POINT), least)}px;--least:{least}px"
    picture = raw(
        f'<svg class="figure" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{text(label)}" '
        f'stroke-linejoin="round">{body.strip()}</svg>'
    )
    content = picture if href is None else el("a", picture, href=href)
    return el("figure", content, class_=class_, style=size)


_FONT_SIZE = re.compile(r"font(?:-size)?: (?:[a-z]+ |\d+ )*([\d.]+)px")
_LINKED_POINT = re.compile(r'<a xlink:href="#\w+-(\d+-\d+)"[^>]*>\s*<(path|use)([^>]*)/>\s*</a>')
_GROUP = re.compile(r'<g id="(heads--[^">]*)"[^>]*>.*?</g>(?=\s*<)', re.DOTALL)
_STYLE = re.compile(r' style="([^"]*)"')


def _point(match: re.Match[str]) -> str:
    """Return a linked point as one element with `data-head`: the page's script opens the card, without a tab stop."""
    return f'<{match.group(2)} data-head="{match.group(1)}"{match.group(3)}/>'


def _hoist(match: re.Match[str]) -> str:
    """Move the style shared by all points to their group: most of a big model's page consists of points."""
    name = blake2b(match.group(1).encode(), digest_size=2).hexdigest()
    group = stamped(match.group(), name=f"p{name}-")
    styles = [style.split("; ") for style in _STYLE.findall(group) if "fill" in style]
    shared = [said for said in styles[0] if all(said in style for style in styles)] if styles else []
    if not shared:
        return group

    def unshared(style_match: re.Match[str]) -> str:
        if "fill" not in style_match.group(1):
            return style_match.group()
        left = "; ".join(said for said in style_match.group(1).split("; ") if said not in shared)
        return f' style="{left}"' if left else ""

    return _STYLE.sub(unshared, group).replace(">", f' style="{"; ".join(shared)}">', 1)


def _tag(tag: str, name: str) -> str:
    """Rewrite one tag with the page's colors, the page's fonts and unique ids."""
    tag = re.sub(r'\bid="([^"]*)"', lambda match: f'id="{name}-{match.group(1)}"', tag)
    tag = re.sub(r"url\(#([^)]*)\)", lambda match: f"url(#{name}-{match.group(1)})", tag)
    if tag.startswith("<use"):
        tag = tag.replace('xlink:href="#', f'xlink:href="#{name}-')
    tag = re.sub(r"font-family: [^;\"]*;? ?", "", tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda match: _variables().get(match.group(), match.group()), tag)


@cache
def _variables() -> dict[str, str]:
    """Map the colors of the light scheme, which matplotlib drew with, to the page's variables."""
    colors = palette()
    known = {shade.light: f"var(--{name})" for name, shade in colors.page.items()}
    for name, role in colors.roles.items():
        known |= {role.line.light: f"var(--line-{name})", role.fill.light: f"var(--fill-{name})"}
    return known
