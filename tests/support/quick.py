"""Selections of the tests by rule: `--quick` for every few minutes, `--sample SEED` for every change.

A quick test is not marked `slow` or `browser`, and only the first case of its function runs. Quick tests that still
take long are listed at the end of the run, so that they can be marked.

A sample contains the tests that planted defects name (`mutants/defects`): all cases of a function, or the named
case. Of every other function it has at most `MOST_CASES` cases, drawn by the seed. Functions with a mark are drawn
too, one in `ONE_IN` for each mark. Tests marked `long` are never drawn.
"""

import ast
import functools
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mutants.defects import DEFECTS

TESTS = Path(__file__).parents[1]
SOURCES = (TESTS.parent / "src", TESTS.parent / "packages" / "headscope-train" / "src")
SECONDS = 2.0  # processor time; a fixture counts toward the first test that uses it
MOST_CASES = 2  # per function in a sample
ONE_IN = {"slow": 8, "browser": 4}  # a function belongs to the first of its marks
LONG = "long"
_LEFT_OUT = (*ONE_IN, LONG)
_TIME = "processor seconds"

collected_key = pytest.StashKey[list[Any]]()


class Quick:
    """A plugin for pytest; `--quick` is added by the conftest."""

    def __init__(self, config: pytest.Config) -> None:
        self.asked = config.getoption("quick")
        self.seed = config.getoption("sample")
        self.began = 0.0
        self.long: list[tuple[float, str]] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        config.stash[collected_key] = list(items)
        if self.asked or self.seed is not None:
            kept = set(quick_tests(items) if self.asked else sampled_tests(items, seed=self.seed))
            config.hook.pytest_deselected(items=[item for item in items if item not in kept])
            items[:] = [item for item in items if item in kept]

    def pytest_report_header(self) -> str | None:
        return None if self.seed is None else f"sample of the tests: seed {self.seed} (--sample {self.seed} repeats it)"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self.began = sum(os.times()[:4])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        report: Any = yield
        if call.when == "call":
            report.user_properties.append((_TIME, sum(os.times()[:4]) - self.began))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        seconds = dict(report.user_properties).get(_TIME, 0.0)
        if self.asked and report.when == "call" and float(str(seconds)) > SECONDS:
            self.long.append((float(str(seconds)), report.nodeid))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.long:
            terminalreporter.section("slow for a quick run: mark them `slow`")
            for seconds, name in sorted(self.long, reverse=True):
                terminalreporter.line(f"{seconds:5.1f} s  {name}")


def quick_tests(items: list[Any]) -> list[Any]:
    """Return the quick tests among the collected ones."""
    cases: dict[tuple[Path, str], list[Any]] = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in _LEFT_OUT):
            cases[item.path, item.nodeid.partition("[")[0]].append(item)
    return [own[0] for own in cases.values()]


def sampled_tests(items: list[Any], *, seed: int) -> list[Any]:
    """Return a sample of the collected tests, in their order, including the tests that find planted defects."""
    named = {test for defect in DEFECTS for test in defect.tests}
    cases: dict[tuple[Path, str], list[Any]] = defaultdict(list)
    kept: set[Any] = set()
    for item in items:
        function, _, case = _name_below_tests(item).partition("[")
        cases[item.path, function].append(item)
        if named & {function, f"{function}[{case}"}:
            kept.add(item)
    for (_, function), cases_of_function in cases.items():
        draw = random.Random(f"{seed} {function}")
        marks = [name for name in _LEFT_OUT if cases_of_function[0].get_closest_marker(name)]
        if LONG not in marks and all(draw.randrange(ONE_IN[name]) == 0 for name in marks[:1]):
            kept.update(draw.sample(cases_of_function, min(MOST_CASES, len(cases_of_function))))
    return [item for item in items if item in kept]


def _name_below_tests(item: Any) -> str:
    """Return a test's name in the form that defects use: the path below tests, the function and the case."""
    path = item.path.relative_to(TESTS).as_posix() if item.path.is_relative_to(TESTS) else item.path.as_posix()
    return f"{path}::{item.nodeid.partition('::')[2]}"


def files_of_tests() -> set[Path]:
    return {path for path in TESTS.rglob("test_*.py") if "node_modules" not in path.relative_to(TESTS).parts}


def source_folders() -> set[str]:
    """Return the names of every package of the source."""
    return {".".join(path.parent.relative_to(root).parts) for root in SOURCES for path in root.rglob("*.py")}


def folders_used(path: Path) -> set[str]:
    """Return the packages from which a test file imports, directly or through a helper in `support`."""
    return {folder for name in _imports(path) for folder in [_folder_of(name)] if folder}


@functools.cache
def _imports(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    helpers = [TESTS.joinpath(*name.split(".")).with_suffix(".py") for name in names if name.startswith("support.")]
    return frozenset(names).union(*(_imports(helper) for helper in helpers if helper.exists()))


def _folder_of(name: str) -> str:
    """Return the package that contains a module, or the name itself if it is a package; empty if it is not in the
    source.
    """
    for root in SOURCES:
        path = root.joinpath(*name.split("."))
        if path.is_dir():
            return name
        if path.with_suffix(".py").exists():
            return name.rpartition(".")[0]
    return ""
