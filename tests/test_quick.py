"""`make test-quick` and `make test`: the tests that they skip, and that every source folder keeps some tests."""

from itertools import chain
from pathlib import Path

import pytest

from mutants.defects import DEFECTS
from support.quick import (
    MOST_CASES,
    TESTS,
    collected_key,
    files_of_tests,
    folders_used,
    quick_tests,
    sampled_tests,
    source_folders,
)


class Item:
    def __init__(self, nodeid, *marks):
        self.path, self.nodeid, self.marks = Path(nodeid.partition("::")[0]), nodeid, marks

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def test_slow_tests_and_most_of_many_cases_are_left_out():
    items = [
        *(Item(f"a.py::test_many[{case}]") for case in range(50)),
        Item("a.py::test_long", "slow"),
        Item("a.py::test_page", "browser"),
        Item("a.py::test_for_minutes", "long"),
        Item("b.py::test_many[0]"),
        Item("b.py::test_many[1]", "slow"),
    ]
    assert [item.nodeid for item in quick_tests(items)] == [*("a.py::test_many[0]", "b.py::test_many[0]")]


def test_samples_keep_tests_that_find_defects_and_some_of_the_others():
    named = sorted({test for defect in DEFECTS for test in defect.tests})
    function = next(test for test in named if "[" not in test)
    case = next((test for test in named if "[" in test), "a.py::test_no_case[0]")
    finding = [Item(f"{TESTS}/{function}[{number}]", "slow") for number in range(50)]
    with_case = [Item(f"{TESTS}/{case}", "slow")]
    neighbors = [Item(f"{TESTS}/{function}_other", "slow") for _ in range(100)]
    many = [Item(f"a.py::test_many[{number}]") for number in range(50)]
    marked = {
        name: [Item(f"a.py::test_{'_'.join(marks)}_{number}", *marks) for number in range(200)]
        for name, marks in {"slow": ["slow"], "browser": ["browser"], "both": ["browser", "slow"]}.items()
    }
    long = [Item(f"a.py::test_for_minutes_{number}", "slow", "long") for number in range(100)]
    items = [*finding, *with_case, *neighbors, *many, *chain(*marked.values()), *long]
    samples = [sampled_tests(items, seed=seed) for seed in (1, 1, 2)]
    assert samples[0] == samples[1] != samples[2]
    for sample in samples:
        assert sample[: len(finding) + 1] == [*finding, *with_case]
        assert sum(item in neighbors for item in sample) <= MOST_CASES
        assert sum(item in many for item in sample) == MOST_CASES
        drawn = {name: sum(item in sample for item in each) for name, each in marked.items()}
        assert 10 <= drawn["slow"] <= 40 <= drawn["browser"] <= 70
        assert 10 <= drawn["both"] <= 40
        assert not {*long} & {*sample}


def test_what_a_file_imports_is_seen_through_its_helpers(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(
        "from headscope.statistics.inference import confidence\nimport numpy\n\n"
        "def test_it():\n    from support.commands import run_command\n"
    )
    assert folders_used(path) == {"headscope.statistics.inference", "headscope.app.cli"}


def test_every_folder_of_the_source_has_a_quick_test(request):
    collected = request.config.stash[collected_key]
    if {item.path for item in collected} != files_of_tests():
        pytest.skip("asks about the whole suite: run it with make test or make test-quick")
    used = set().union(*(folders_used(path) for path in {item.path for item in quick_tests(collected)}))
    assert source_folders() - used == set()
