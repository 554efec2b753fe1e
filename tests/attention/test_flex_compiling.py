"""Compiled code stays private: it is written to a folder of this process alone, and read from no other."""

import ast
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import headscope

SOURCE = Path(headscope.__file__).parent
FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
PROGRAM = """
import os, stat
from pathlib import Path
import torch
from headscope.attention.flex.product import _folder, compiled

folders = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
before = {name: os.environ.get(name) for name in folders}
double = compiled(lambda x: x * 2 + 1, most_kinds=4)
assert double(torch.ones(3)).tolist() == [3, 3, 3]
assert {name: os.environ.get(name) for name in folders} == before
private = Path(_folder().name)
print(private)
print(oct(stat.S_IMODE(private.stat().st_mode)))
print(sum(path.is_file() for path in private.rglob("*")))
"""


@pytest.mark.slow
def test_compiled_code_is_kept_in_a_private_folder_until_the_process_ends(tmp_path):
    """On a processor, which torch compiles for as for a GPU; with a folder set in the environment, and one unset."""
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        pytest.skip("torch.compile needs a C++ compiler here")
    if " " in torch.__file__:
        pytest.skip("torch compiles nothing where its own path has a space")
    inductor, triton = FOLDERS
    environment = {**os.environ, "TMPDIR": str(tmp_path), inductor: str(tmp_path / "theirs")}
    environment.pop(triton, None)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    private, mode, files = done.stdout.split()
    assert Path(private).parent == tmp_path
    assert int(mode, 8) == stat.S_IRWXU
    assert int(files) > 0
    # Nothing is left, and neither torch's default folder nor the folder of the environment was used.
    assert list(tmp_path.iterdir()) == []


def test_nothing_else_compiles():
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Attribute) and node.attr == "compile" and ast.unparse(node.value) == "torch"
            if named:
                found.append(path.name)
    assert found == ["product.py"]
