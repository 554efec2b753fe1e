"""A user's first hour: from an empty folder to a report on their own text and a head view of their own sentence.

The commands and lines are read from README, so that exactly the lines that a newcomer types are counted. Targets: at
most 4 commands for either, installation included, and at most 3 lines of Python.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_COMMANDS, MOST_LINES = 4, 3
TEXT = """Our neighbor repaired the boat because it had lain in the rain all winter.
She sold it in spring, and the man who bought it painted it green.

The committee met twice, but its members could not agree.
They asked the director, who had written the plan, to explain it.
"""


def blocks(language: str) -> list[list[str]]:
    """Return the lines of README's code blocks in a language."""
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    return [[line for line in block.splitlines() if line.strip()] for block in found]


def first(lines: Sequence[str], beginning: str) -> str:
    """Return the first line with this beginning."""
    return next(line for line in lines if line.startswith(beginning))


def run(command: str, folder: Path, path: str) -> float:
    """Run a line in a shell; return its seconds."""
    began = time.perf_counter()
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{command}\n{done.stderr}")
    return time.perf_counter() - began


def told(what: str, steps: Sequence[tuple[str, float]], most: int) -> bool:
    """Print the steps and their times; return True if their number is within the target."""
    print(f"{what}: {len(steps)} (target at most {most}), {sum(seconds for _, seconds in steps):.1f} s")
    for command, seconds in steps:
        print(f"  {seconds:7.1f} s  {command}")
    return len(steps) <= most


def main() -> int:
    """Follow README in an empty folder, and count the steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--installed", action="store_true", help="count the installation, and do not run it")
    asked = parser.parse_args()
    shell, python = blocks("bash"), blocks("python")
    install = shell[0]
    commands = [line for block in shell[1:] for line in block]
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        installing = [(line, 0.0) for line in install]
        if not asked.installed:
            shutil.copytree(ROOT, home / "checkout", ignore=shutil.ignore_patterns(".venv", ".git", "node_modules"))
            # Each line runs in its own shell, so the effect of activation is passed on as PATH.
            path = f"{home / 'checkout/.venv/bin'}{os.pathsep}{os.environ['PATH']}"
            installing = [(line, run(line, home / "checkout", path)) for line in install]
        folder = home / "mine"
        folder.mkdir()
        (folder / "my.txt").write_text(TEXT, encoding="utf-8")
        report, view = first(commands, "headscope report"), first(commands, "headscope view")
        fits = [
            told("commands to a report", [*installing, (report, run(report, folder, path))], MOST_COMMANDS),
            told("commands to a head view", [*installing, (view, run(view, folder, path))], MOST_COMMANDS),
        ]
        if not list(folder.glob("*/report.html")) or not list(folder.glob("*.html")):
            sys.exit("a command wrote no page")
        written = [line for block in python for line in block]
        imported = first(written, "import headscope")
        for what, beginning in (("a report", "study = hs.report("), ("a head view", "hs.head_view(text=")):
            lines = [imported, first(written, beginning).split("  #")[0]]
            script = "; ".join(lines)
            seconds = run(f"python -c {shlex.quote(script)}", folder, path)
            fits.append(told(f"lines of Python to {what}", [(lines[0], 0.0), (lines[1], seconds)], MOST_LINES))
    return 0 if all(fits) else 1


if __name__ == "__main__":
    sys.exit(main())
