"""A folder with planted modules and settings files, which programs must not import or read when run from it."""

import json
import pickle
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np

from support.demo_treebank import demo_conllu
from support.model_folders import WHOLE, save_tiny_masked_lm

MARK = "ran"
_SETTINGS = (
    *(".numba_config.yaml", "matplotlibrc", ".matplotlib/matplotlibrc", ".config/matplotlib/matplotlibrc"),
    *(".env", ".netrc", "_netrc", "pyproject.toml", "setup.cfg", "tox.ini", "uvicorn.toml", "ray.yaml"),
    *("pip.conf", "pyvenv.cfg", "python311._pth", "typer.toml", ".rayignore", ".gitignore", ".git/HEAD"),
    *("config.json", "tokenizer.json", "tokenizer_config.json", "adapter_config.json", ".huggingface/token"),
    *(".cache/huggingface/token", ".aws/credentials", ".boto", "ipython_config.py", "fsspec.json"),
)


def plant(folder: Path) -> None:
    """Write settings files, and a module for every importable name that records when it runs."""
    code = f"open({str(folder / MARK)!r}, 'a').write(__name__)\n"
    names = {*sys.stdlib_module_names, *packages_distributions(), "sitecustomize", "usercustomize"}
    for name in names:
        if name.isidentifier() or "-" in name:
            (folder / f"{name}.py").write_text(code)
    for name in _SETTINGS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def write_inputs(folder: Path) -> None:
    """Write the inputs of commands: a model, text, treebanks, and maps pickled as by the paper's code."""
    save_tiny_masked_lm(folder / "tiny", pieces=WHOLE)
    (folder / "dev.conllu").write_text(demo_conllu(1, 2), encoding="utf-8")
    (folder / "train.conllu").write_text(demo_conllu(101, 102), encoding="utf-8")
    (folder / "my.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n" * 2)
    tokens = ["[CLS]", "the", "fox", ",", "[SEP]"]
    maps = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 2, 5)).astype(np.float16)
    (folder / "maps.pkl").write_bytes(pickle.dumps([{"attns": maps, "tokens": tokens}], -1))
    (folder / "made").mkdir()


def beyond(opened: set[str], given: list[str]) -> list[str]:
    """Return the opened paths that are neither an input of the command nor a temporary file of its output."""
    outputs = [each for each in given if each.startswith("made/")]
    return sorted(
        path
        for path in opened
        if not any(path == each or path.startswith(f"{each}/") for each in given)
        and not (path == "made" and outputs)
        and not any(path.startswith(f"made/.{Path(each).name}.") for each in outputs)
    )


# Runs commands in turn as `headscope` does, and reports the files that each of them opened.
SEVERAL = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from support.opened_files import OpenedFiles
sys.path.pop(0)
commands, told = json.loads(sys.argv[2]), Path(sys.argv[3])
from headscope.app import entry
entry._end_at_once = lambda code: None  # the process goes on with the next command
found = {}
for name, given in commands.items():
    sys.argv = ["headscope", *given]
    with OpenedFiles(Path.cwd()) as opened:
        try:
            entry.main()
        except SystemExit as ended:
            code = ended.code
        found[name] = (code, sorted(opened.so_far()))
        told.write_text(json.dumps(found))
"""


def command_line(commands: dict[str, list[str]], told: Path) -> list[str]:
    """Return the command line that runs commands in one process, from any folder."""
    tests = str(Path(__file__).parents[1])
    return [sys.executable, "-P", "-c", SEVERAL, tests, json.dumps(commands), str(told)]
