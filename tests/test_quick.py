"""`make test-quick`: what it leaves out, and that no folder of the source is left out."""

from pathlib import Path

import pytest

from support.quick import collected_key, files_of_tests, folders_used, quick_tests, source_folders


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
        Item("b.py::test_many[0]"),
        Item("b.py::test_many[1]", "slow"),
    ]
    assert [item.nodeid for item in quick_tests(items)] == [*("a.py::test_many[0]", "b.py::test_many[0]")]


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
