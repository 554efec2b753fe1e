"""The page's scripts and styles: plain ES modules and style sheets, joined for a page that is a single file.

A page opened from a folder cannot import modules (browsers give `file:` no origin), so the modules are joined in the
order of their imports and the import and export words are taken off. The names a module declares at its top must
therefore be unique over the bundle, which is checked.
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import asdict
from importlib import resources

from headscope.palette import css_variables, palette

_IMPORT = re.compile(r'^import\s+\{[^}]*\}\s+from\s+"(\.{1,2}/[\w./-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|const|class)\b)", re.MULTILINE)
_DECLARED = re.compile(r"^(?:export\s+)?(?:async\s+)?(?:function|const|let|class)\s+(\w+)", re.MULTILINE)


PALETTE_MODULE = "core/palette_data.js"
"""A module that is on no disk: the palette, for the scripts that draw on a canvas or into a file."""


def source(name: str) -> str:
    """Return one file of `views/static`, by its path there, or the palette as a module."""
    if name == PALETTE_MODULE:
        return _palette_module()
    return (
        resources.files("headscope").joinpath("views", "static", *name.split("/")).read_text(encoding="utf-8")
    )


def script(entry: str) -> str:
    """Return `entry` and every module it imports, each once and after what it needs, as one module.

    Raises:
        ValueError: two modules declare the same name at their top, or one uses a form of import or export that
            cannot be joined (only `import {a} from "./b.js";` and `export function|const|class`).
    """
    order: list[str] = []
    _visit(entry, order, ())
    owner: dict[str, str] = {}
    parts = []
    for name in order:
        body = source(name)
        for declared in _DECLARED.findall(body):
            if declared in owner:
                raise ValueError(
                    f"Expected names that are unique over the page's scripts, got {declared!r} in both "
                    f"{owner[declared]} and {name}; rename one of them."
                )
            owner[declared] = name
        body = _EXPORT.sub("", _IMPORT.sub("", body))
        left = re.search(r"^(?:import|export)\b.*$", body, re.MULTILINE)
        if left:
            raise ValueError(
                f'Expected only `import {{a}} from "./b.js";` and `export function, const or class` in {name}, '
                f"got {left.group()!r}; write it in one of these forms."
            )
        parts.append(f"// {name}\n{body.strip()}\n")
    joined = "\n".join(parts)
    if "</script" in joined.lower() or "<!--" in joined:
        raise ValueError(
            f"Expected scripts without `</script` and `<!--`, got one in {entry}; split the string."
        )
    return joined


def style(*names: str, scheme: str | None = None) -> str:
    """Return the palette as CSS variables for light and dark, or for one of them, then the style sheets."""
    if scheme:
        variables = f":root{{color-scheme:{scheme};{css_variables(scheme)}}}\n"
    else:
        variables = (
            f":root{{color-scheme:light dark;{css_variables('light')}}}\n"
            f"@media (prefers-color-scheme:dark){{:root{{{css_variables('dark')}}}}}\n"
        )
    # Paper is white whatever the screen was.
    variables += f"@media print{{:root{{color-scheme:light;{css_variables('light')}}}}}\n"
    classes = "".join(
        f".role-{role}{{--fill:var(--fill-{role});--stroke:var(--line-{role});--on:var(--on-{role})}}\n"
        for role in palette().roles
    )
    return variables + classes + "\n".join(source(name) for name in names)


def _palette_module() -> str:
    colours = palette()
    told = {
        "page": {name: asdict(shade) for name, shade in colours.page.items()},
        "roles": {name: asdict(role) for name, role in colours.roles.items()},
    }
    return f"export const PALETTE = {json.dumps(told, separators=(',', ':'))};\n"


def _visit(name: str, order: list[str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(
            f"Expected scripts without circular imports, got {' -> '.join((*above, name))}; break one."
        )
    if name in order:
        return
    for needed in _IMPORT.findall(source(name)):
        _visit(posixpath.normpath(posixpath.join(posixpath.dirname(name), needed)), order, (*above, name))
    order.append(name)
