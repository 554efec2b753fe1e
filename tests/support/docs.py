"""Commands and code taken from the documentation, so that tests run exactly the text that a reader copies."""

import functools
import glob
import os
import re
import shlex
import subprocess
import sys
from itertools import chain
from pathlib import Path

from support.commands import run_command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_WRITTEN = re.compile(r"(?:--out|--matrix|-o|>)\s+(\S+)|\bheadscope convert \S+ (\S+)")
_SHELL = set("|&;<>$`?(){}~")


def blocks(page: Path, language: str) -> list[str]:
    return [code for name, code in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def sequences(page: Path) -> list[list[str]]:
    """Return the page's blocks of commands, joined where one names a file that an earlier one wrote."""
    found: list[list[str]] = []
    for block in blocks(page, "bash"):
        before = [each for each in found if any(_names(block, path) for path in _written("".join(each)))]
        for each in before:
            found.remove(each)
        found.append([*(one for each in before for one in each), block])
    return found


def _written(text: str) -> set[str]:
    return {first or second for first, second in _WRITTEN.findall(text)}


def _names(text: str, path: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(path)}(?![\w.-])", text) is not None


def run_line(line: str) -> tuple[object, str]:
    """Run a command of the documentation in the current folder; return its exit code and standard error.

    Commands that need a shell run in one, with the installed program. A plain command runs in this process, which
    saves the program's startup time, and its file patterns are expanded as a shell does. For a loop, a shell lists
    the commands to run.
    """
    if line.startswith("for "):
        said = subprocess.check_output(line.replace("; do headscope ", "; do echo headscope "), shell=True, text=True)
        results = [run_line(command) for command in said.splitlines()]
        return next((result for result in results if result[0] != 0), results[-1])
    words = shlex.split(line)
    if words[0] == "headscope" and not _SHELL & set(line):
        files = [sorted(glob.glob(word)) if "*" in word else [word] for word in words[1:]]
        code, _, err = run_command(*chain.from_iterable(files))
        return code, err
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(line, shell=True, capture_output=True, text=True, env=environment)
    return done.returncode, done.stderr


@functools.cache
def accumulator_of_the_docs() -> type:
    """Return the class `Local` of docs/python.md, by running the block that defines it."""
    (code,) = (code for code in blocks(DOCS / "python.md", "python") if "class Local" in code)
    names: dict[str, object] = {"__name__": "docs"}
    exec(compile(code, "python.md", "exec"), names)
    made = names["Local"]
    assert isinstance(made, type)
    return made
