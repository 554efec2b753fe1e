"""The list of defects keeps up with the code: each can be planted, and the tests that should find it are there."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
sys.path.insert(0, str(Path(__file__).parent))
from defects import DEFECTS  # noqa: E402


@pytest.mark.parametrize("path", sorted({defect.path for defect in DEFECTS}))
def test_what_a_defect_changes_stands_once(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    for defect in DEFECTS:
        if defect.path == path:
            assert text.count(defect.old) == 1, f"write {defect.old!r} anew in tests/mutants/defects.py"
            assert all((TESTS / test.partition("::")[0]).exists() for test in defect.tests)
