"""Packages that add an analysis to headscope, in a folder for `sys.path`: the example, and the one of the docs."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from support.docs import DOCS, ROOT, blocks

EXAMPLE = ROOT / "examples" / "headscope-reach"
_NAMED = re.compile(r"(?:# |{# )(\w+\.(?:py|j2))(?: #})?\n")


def install_example(target: Path) -> Path:
    """Install the example; return the folder of its modules."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--target", target, EXAMPLE],
        check=True,
    )  # fmt: skip
    return target / "headscope_reach"


def write_documented(target: Path) -> Path:
    """Write the package of `docs/extending.md` with its entry point; return the folder of its modules."""
    page = DOCS / "extending.md"
    folder = target / "headscope_reach"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    for block in [*blocks(page, "py"), *blocks(page, "jinja")]:
        if named := _NAMED.match(block):
            (folder / named[1]).write_text(block, encoding="utf-8")
    points = tomllib.loads(blocks(page, "toml")[0])["project"]["entry-points"]["headscope.analyses"]
    about = target / "headscope_reach-1.0.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: headscope-reach\nVersion: 1.0.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (about / "entry_points.txt").write_text("\n".join(["[headscope.analyses]", *lines, ""]))
    return folder
