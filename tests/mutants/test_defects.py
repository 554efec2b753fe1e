"""The list of defects matches the code: each defect can be planted, and names tests that exist."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from run import DEFECTS, troubles


def test_each_defect_can_be_planted_and_names_single_tests():
    assert troubles(DEFECTS) == []


def test_defects_lie_in_all_folders():
    folders = {path.parent.name for path in (Path(__file__).parents[2] / "src" / "headscope").glob("*/*.py")}
    without = folders - {defect.folder for defect in DEFECTS}
    assert without == set()
    analyses = {defect.file.split("/")[1] for defect in DEFECTS if defect.folder == "analyses"}
    few = [name for name in analyses if sum(f"analyses/{name}/" in defect.file for defect in DEFECTS) < 4]
    assert few == []
    assert len(set(DEFECTS)) == len(DEFECTS) >= 300
