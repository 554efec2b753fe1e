"""The page's scripts and styles: plain ES modules and style sheets, joined for a page that is one file.

`static/views/list.js` lists the views, and each view's script describes itself.

A page opened from a folder cannot import modules (browsers give `file:` no origin), so the modules are joined: each
becomes a function with its own scope, called once after the modules that it imports, which returns its exports.

```
// core/dom.js
const $1 = (() => {
function el(tag) { ... }
return { el };
})();

// views/head/head_view.js
const $2 = (() => {
const { el } = $1;
...
```
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources

from headscope.palette import css_variables, palette

_IMPORT = re.compile(r'^import\s+\{([^}]*)\}\s+from\s+"(\.{1,2}/[\w./-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:(?:async\s+)?function\b(?:\s*\*)?|const|class)\s+(\w+))", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
PALETTE_MODULE = "core/palette_data.js"
"""A generated module without a file: the palette, for the scripts that draw on a canvas or into a file."""


@dataclass(frozen=True)
class Import:
    """One import: the path of a module, the imported names, and their local names."""

    module: str
    names: tuple[str, ...]
    called: tuple[str, ...]

    @property
    def bindings(self) -> list[str]:
        """The names in the form of a destructuring pattern: `a`, or `a: b` for `a as b`."""
        return [name if name == local else f"{name}: {local}" for name, local in zip(self.names, self.called)]


@dataclass(frozen=True)
class ScriptModule:
    """A module: its path, its imports in order, the names it exports, and its code without comment lines."""

    name: str
    imports: tuple[Import, ...]
    exports: tuple[str, ...]
    body: str


def parsed(name: str, text: str) -> ScriptModule:
    """Read a module.

    Args:
        name: its path, to which its imports are relative.
        text: its source.

    Raises:
        ValueError: it uses a form of import or export that cannot be joined, or a template spans several lines, where a
            line of text that looks like a comment would be removed.
    """
    code = _COMMENT_LINE.sub("", text if text.endswith("\n") else f"{text}\n")
    imports = tuple(_read(name, match) for match in _IMPORT.finditer(code))
    exports = tuple(match.group(1) for match in _EXPORT.finditer(code))
    body = _EXPORT.sub("", _IMPORT.sub("", code))
    left = _OTHER_FORM.search(body)
    if left:
        raise ValueError(
            'Expected only `import { a, b as c } from "./d.js";` and `export function, const or class` in '
            f"{name}, got {left.group()!r}; write it in one of these forms."
        )
    for line in body.splitlines():
        if line.count("`") % 2:
            raise ValueError(
                f"Expected templates that end on the line they begin on in {name}, got {line.strip()!r}; "
                "join shorter ones."
            )
    return ScriptModule(name, imports, exports, f"{body.strip()}\n")


def _read(name: str, match: re.Match[str]) -> Import:
    pairs = [part.split(" as ") for part in match.group(1).split(",") if part.strip()]
    return Import(
        posixpath.normpath(posixpath.join(posixpath.dirname(name), match.group(2))),
        tuple(pair[0].strip() for pair in pairs),
        tuple(pair[-1].strip() for pair in pairs),
    )


def source(name: str) -> str:
    """Return one file of `views/static`, by its path there, or the palette as a module.

    Raises:
        FileNotFoundError: the file does not exist.
    """
    if name == PALETTE_MODULE:
        return _palette_module()
    return resources.files("headscope").joinpath("views", "static", *name.split("/")).read_text(encoding="utf-8")


def script(entry: str) -> str:
    """Return `entry` and every module it imports as one module, whose code can use the exports of `entry`.

    Raises:
        ValueError: an imported module or name does not exist, imports are circular, or a module is written in a form
            that cannot be joined.
    """
    modules: dict[str, ScriptModule] = {}
    _visit(entry, modules, ())
    constants = {name: f"${number}" for number, name in enumerate(modules, start=1)}
    parts = [_called(module, constants) for module in modules.values()]
    if modules[entry].exports:
        parts.append(f"const {{ {', '.join(modules[entry].exports)} }} = {constants[entry]};\n")
    joined = "\n".join(parts)
    if "</script" in joined.lower() or "<!--" in joined:
        raise ValueError(f"Expected scripts without `</script` and `<!--`, got one in {entry}; split the string.")
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
    # Paper is white whatever the screen's color scheme.
    variables += f"@media print{{:root{{color-scheme:light;{css_variables('light')}}}}}\n"
    classes = "".join(
        f".role-{role}{{--fill:var(--fill-{role});--stroke:var(--line-{role});--on:var(--on-{role})}}\n"
        for role in palette().roles
    )
    return variables + classes + "\n".join(source(name) for name in names)


def _palette_module() -> str:
    colors = palette()
    shades = {
        "page": {name: asdict(shade) for name, shade in colors.page.items()},
        "roles": {name: asdict(role) for name, role in colors.roles.items()},
    }
    return f"export const PALETTE = {json.dumps(shades, separators=(',', ':'))};\n"


def _called(module: ScriptModule, constants: dict[str, str]) -> str:
    """Return a module as a function that is called at once; `constants` names the constant of each module's exports."""
    imports = [
        f"const {{ {', '.join(imported.bindings)} }} = {constants[imported.module]};\n" for imported in module.imports
    ]
    exports = [f"return {{ {', '.join(module.exports)} }};\n"] if module.exports else []
    code = "".join([*imports, module.body, *exports])
    return f"// {module.name}\nconst {constants[module.name]} = (() => {{\n{code}}})();\n"


def _visit(name: str, modules: dict[str, ScriptModule], above: tuple[str, ...]) -> None:
    """Add a module after all modules that it imports; `above` is the chain of importing modules."""
    if name in above:
        raise ValueError(f"Expected scripts without circular imports, got {' -> '.join((*above, name))}; break one.")
    if name in modules:
        return
    module = parsed(name, source(name))
    for imported in module.imports:
        _visit(imported.module, modules, (*above, name))
        known = modules[imported.module].exports
        missing = [wanted for wanted in imported.names if wanted not in known]
        if missing:
            raise ValueError(
                f"Expected {imported.module} to export {', '.join(missing)}, which {name} imports, "
                f"got {', '.join(known) or 'no export'}; export it, or mend the import."
            )
    modules[name] = module


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
