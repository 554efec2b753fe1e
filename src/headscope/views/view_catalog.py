"""The catalog of views: `static/views/list.js` lists them, and each view's script describes itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from headscope.views.bundle import parsed, source

LIST = "views/list.js"
_LISTED = re.compile(r"^const VIEWS = \[([\w, ]+)\];$", re.MULTILINE)
_DESCRIPTOR = re.compile(r"^const VIEW = \{\n(.*?)^\};$", re.MULTILINE | re.DOTALL)
_TEXT = re.compile(r'^  (\w+): "([^"]*)",$', re.MULTILINE)
_GATHERS = re.compile(r"^  gathers: true,$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class View:
    """One view of a page.

    Attributes:
        name: name in addresses, and for `headscope view`.
        label: label on its tab.
        heads: heads that it draws: `several` of a layer, the `mean` or one, `one`, or those of all `layers`.
        needs: `weights`, or `queries and keys` in addition.
        level: `any`, or `token` if it cannot draw words.
        call: the Python function that draws it, if any.
        gathers: True if it shows the other views; only the explorer has such a view.
    """

    name: str
    label: str
    heads: str
    needs: str
    level: str
    call: str | None = None
    gathers: bool = False

    @property
    def draws_several(self) -> bool:
        """True if it draws several heads at once; the other views draw one, or the mean."""
        return self.heads in ("several", "layers")


@cache
def views() -> tuple[View, ...]:
    """Return all views, in the order of their tabs.

    Raises:
        ValueError: a script does not describe its view in the form that `list.js` defines.
    """
    view_list = parsed(LIST, source(LIST))
    listed = _LISTED.search(view_list.body)
    if listed is None:
        raise ValueError(f"Expected `export const VIEWS = [a, b];` in {LIST}, got none; list the views so.")
    module = {name: imported.module for imported in view_list.imports for name in imported.called}
    return tuple(_described(module[name.strip()]) for name in listed.group(1).split(","))


def offered() -> tuple[View, ...]:
    """Return the views that every page has; a page opens with the first."""
    return tuple(view for view in views() if not view.gathers)


def view_names() -> tuple[str, ...]:
    """Return the names of the views that every page has."""
    return tuple(view.name for view in offered())


def needs_neuron(name: str) -> bool:
    """Return True if the view of this name needs queries and keys in addition to the weights."""
    return any(view.name == name and view.needs == "queries and keys" for view in views())


def _described(name: str) -> View:
    descriptor = _DESCRIPTOR.search(parsed(name, source(name)).body)
    lines = descriptor.group(1) if descriptor else ""
    texts = dict(_TEXT.findall(lines))
    missing = [key for key in ("name", "label", "heads", "needs", "level") if key not in texts]
    if missing:
        raise ValueError(
            f"Expected `export const VIEW = {{` with a line for each of name, label, heads, needs and level in {name}, "
            f'got none for {", ".join(missing)}; write each as `  name: "matrix",`.'
        )
    known = {key: texts[key] for key in View.__dataclass_fields__ if key in texts}
    return View(**known, gathers=_GATHERS.search(lines) is not None)
