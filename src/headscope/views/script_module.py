"""One ES module as the bundle reads it: its imports and exports, and its code without these statements."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

_IMPORT = re.compile(r'^import\s+\{([^}]*)\}\s+from\s+"(\.{1,2}/[\w./-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export\s+(?=(?:(?:async\s+)?function\b(?:\s*\*)?|const|class)\s+(\w+))", re.MULTILINE)
_OTHER_FORM = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)


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
