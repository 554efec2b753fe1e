"""What the documentation shows, taken from its pages, so that the tests are about what a reader copies."""

import functools
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@functools.cache
def accumulator_of_the_docs() -> type:
    """The class `Local` of docs/python.md: the block that defines it is run alone."""
    text = (DOCS / "python.md").read_text(encoding="utf-8")
    (code,) = (code for name, code in BLOCK.findall(text) if name == "python" and "class Local" in code)
    names: dict[str, object] = {"__name__": "docs"}
    exec(compile(code, "python.md", "exec"), names)
    made = names["Local"]
    assert isinstance(made, type)
    return made
