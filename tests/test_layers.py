"""The folders are ordered: a module imports only from folders to its left."""

import ast
import graphlib
import subprocess
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import headscope

ORDER = [
    ("storage",),
    ("corpora",),
    ("encoding",),
    ("models",),
    ("attention",),
    ("maps",),
    ("statistics",),
    ("scans.examples",),
    ("scans.declarations",),
    ("scans",),
    ("scans.prepare",),
    ("present.figures", "views"),
    ("present",),
    ("analyses",),
    ("running",),
    ("reporting",),
    ("app", "bertviz"),
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
EVERYBODYS = {"counted", "errors", "installing", "palette", "visible"}
ROOT = Path(headscope.__file__).parent
PACKAGES = ROOT.parents[1] / "packages"


def rank_of(module):
    """Return the position of a module in the order, for a name without the package's."""
    own = ".".join(module.split(".")[:2])
    return RANK[own] if own in RANK else RANK[module.partition(".")[0]]


def imports_of(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module, [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level, []
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []


def test_imports_go_to_the_left():
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if len(parts) == 1:
            continue  # The top-level modules: the lazy table, errors and palette.
        own = parts[0]
        assert own in RANK, f"{own} is not in the order of folders"
        name = ".".join(part for part in parts if part != "__init__")
        for module, names in imports_of(path):
            assert not module.startswith("."), f"{path}: relative import"
            if module.split(".")[0] != "headscope":
                continue
            for target in [module.partition(".")[2]] if "." in module else names:
                folder = target.partition(".")[0]
                if folder in EVERYBODYS:
                    continue
                if rank_of(target) > rank_of(name) or (rank_of(target) == rank_of(name) and folder != own):
                    wrong.append(f"{path.relative_to(ROOT)} imports {target}")
    assert not wrong, wrong


def test_the_library_imports_no_package_beside_it():
    beside = {path.name for path in PACKAGES.glob("*/src/*") if path.is_dir()}
    assert "headscope_train" in beside
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in ROOT.rglob("*.py")
        for module, _ in imports_of(path)
        if module.partition(".")[0] in beside
    ]
    assert not wrong, wrong


@pytest.mark.parametrize(
    "root", [ROOT, PACKAGES / "headscope-train" / "src" / "headscope_train"], ids=attrgetter("name")
)
def test_no_module_imports_itself_round_a_circle(root):
    names = {".".join(path.relative_to(root.parent).with_suffix("").parts): path for path in root.rglob("*.py")}
    sorter = graphlib.TopologicalSorter(
        {
            name: [
                target
                for module, parts in imports_of(path)
                for target in (module, *(f"{module}.{part}" for part in parts))
                if target in names
            ]
            for name, path in names.items()
        }
    )
    sorter.prepare()


def test_importing_headscope_is_quick_and_silent():
    """Importing headscope loads no heavy package and prints nothing."""
    code = (
        "import sys; before = set(sys.modules); import headscope; dir(headscope); "
        "heavy = {'torch', 'transformers', 'matplotlib', 'pandas', 'numpy', 'typer', 'rich'}; "
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert done.stderr == ""


def test_what_is_called_is_defined_in_one_place_which_loads_nothing_heavy():
    code = (
        "import sys; import headscope, headscope.app.api as api; "
        "print(sorted({'torch', 'transformers', 'matplotlib', 'pandas', 'numpy', 'xarray'} & set(sys.modules))); "
        "print(*(name for name in headscope.__all__ if getattr(headscope, name) is vars(api).get(name))); "
        "own = [name for name, each in vars(api).items() if getattr(each, '__module__', '') == api.__name__]; "
        "print(*sorted(name for name in own if not name.startswith('_')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, names, functions = done.stdout.splitlines()
    assert heavy == "[]"
    # `attention` is also a folder, whose module call runs the function of that name.
    assert names.split() == [name for name in functions.split() if name != "attention"]
    assert "report" in names.split()


def test_reading_a_run_and_its_head_measures_loads_neither_torch_nor_figures():
    code = (
        "import sys; from headscope.present.study import open_study; "
        "from headscope.scans.declarations.analysis_list import ANALYSES; "
        "print(sum(len(analysis.head_measures) for analysis in ANALYSES)); "
        "print(sorted({'torch', 'transformers', 'matplotlib', 'typer', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    declared, heavy = done.stdout.splitlines()
    assert int(declared) > 10
    assert heavy == "[]"


def test_help_of_the_command_line_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from headscope.app.cli.program import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'torch', 'transformers', 'matplotlib', 'pandas', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for command in ("report", "stats", "extract", "segments", "convert"):
        assert f"  {command} " in done.stdout


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(AttributeError) as refused:
        headscope.entropy  # noqa: B018
    known = ", ".join(dir(headscope))
    assert str(refused.value) == f"module 'headscope' has no attribute 'entropy'; it has {known}"
