"""Make docs/reference/api.md from the docstrings of the public functions and classes: `make docs`."""

import inspect
import re
from pathlib import Path
from typing import Any

import headscope
import headscope_train

PAGE = Path(__file__).parents[1] / "reference" / "api.md"
BEGINNING = """# Reference of `import headscope as hs`

Every public function and class, from its docstring; [Python](../python.md) shows them in use. `make docs` makes this
page.
"""
TRAINING = """## Training

The package `headscope-train`; [training](../training.md) shows it in use.
"""


def page() -> str:
    """Return the whole page: functions, then classes with their public methods, each in alphabetical order."""
    named = [(name, getattr(headscope, name)) for name in headscope.__all__ if not name.startswith("__")]
    functions = [(name, one) for name, one in named if not inspect.isclass(one)]
    classes = [(name, one) for name, one in named if inspect.isclass(one)]
    parts = [BEGINNING, "## Functions\n"]
    parts += [entry(f"hs.{name}", one, level=3) for name, one in functions]
    parts.append("## Classes\n")
    for name, one in classes:
        parts.append(entry(f"hs.{name}", one, level=3))
        parts += [entry(f"{name}.{own}", member, level=4) for own, member in members(one)]
    parts.append(TRAINING)
    for name in sorted(headscope_train.__all__, key=lambda name: (name[0].isupper(), name)):
        value = getattr(headscope_train, name)
        parts.append(entry(f"headscope_train.{name}", value, level=3))
        if inspect.isclass(value):
            parts += [entry(f"{name}.{attribute}", member, level=4) for attribute, member in members(value)]
    return "\n".join(parts)


def members(owner: type) -> list[tuple[str, Any]]:
    """Return the public methods and properties that a class defines itself, in the order of its source."""
    return [
        (name, member)
        for name, member in vars(owner).items()
        if not name.startswith("_") and inspect.getdoc(member) and not isinstance(member, type)
        and (callable(member) or hasattr(member, "__get__"))
    ]  # fmt: skip


def entry(name: str, one: Any, *, level: int) -> str:
    """Return a heading, the call, and the docstring with its sections as Markdown lists."""
    function = one.__func__ if isinstance(one, classmethod | staticmethod) else one
    call = f"```py\n{name}{signature(function)}\n```\n\n" if callable(function) else ""
    return f"{'#' * level} `{name}`\n\n{call}{in_markdown(inspect.getdoc(one) or '')}\n"


def signature(function: Any) -> str:
    """Return the parameters of a call; types are left to the docstring."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return "()"
    kept = [
        each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values() if each.name != "self"
    ]
    return str(inspect.Signature(kept))


def in_markdown(text: str) -> str:
    """Convert a docstring to Markdown: sections such as `Args:` become lists, examples become code."""
    out: list[str] = []
    in_list = False
    for line in text.splitlines():
        if re.fullmatch(r"(Args|Returns|Raises|Attributes|Yields):", line):
            out += [f"**{line.removesuffix(':')}**", ""]
            in_list = line not in ("Returns:", "Yields:")
        elif line.startswith(">>> "):
            out += ["```py", line[4:], "```"]
        elif re.match(r"    \S", line) and in_list:
            head, colon, rest = line.strip().partition(":")
            out.append(f"- `{head}`:{rest}" if colon else f"- {line.strip()}")
        else:
            if line and not line.startswith(" "):
                in_list = False
            out.append(f"  {line.strip()}" if in_list and line.strip() else line.strip())
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
