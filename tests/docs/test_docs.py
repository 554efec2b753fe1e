"""README and docs run as written: every command and every Python block, in an empty folder with a text of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headscope_grammar import synthetic_documents, write_conllu

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
STORY = (
    "The cat sat on the mat. It slept, and dreamt of fish.\nA dog came by, looked at it, and left again.\n\n"
)


def blocks(page, language):
    return [code for name, code in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "my.txt").write_text(STORY * 12)
    write_conllu(synthetic_documents(30), tmp_path / "my.conllu")
    write_conllu(synthetic_documents(24, seed=5), tmp_path / "my-train.conllu")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "bash")], ids=lambda p: p.name)
def test_commands_run_as_written(page, folder):
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    for block in blocks(page, "bash"):
        for line in block.splitlines():
            if line.startswith("make "):
                makefile = (ROOT / "Makefile").read_text()
                assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE), line
                continue
            done = subprocess.run(
                line, shell=True, capture_output=True, text=True, env=environment, cwd=folder
            )
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_runs_as_written(page, folder):
    names: dict[str, object] = {"__name__": "docs"}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name} block {number + 1}", "exec"), names)


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
