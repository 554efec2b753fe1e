"""The calibration that `make bench` prints, small: worlds whose truth is known, and promises kept in them."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("calibration", FOLDER / "calibration.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["calibration"] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("calibration", "worlds", "alternatives"):
            sys.modules.pop(name, None)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["mild", "heavy-tailed"])
@pytest.mark.parametrize("test", ["selection", "each head"])
def test_equal_heads_declare_nothing(bench, test, world):
    for documents in (10, 30):
        cell = bench.of_heads((test, world, documents, 144, 0.0, 30))
        assert cell.check == "false-discovery"
        assert cell.kept, cell


def test_a_better_head_is_found(bench):
    cell = bench.of_heads(("selection", "mild", 100, 72, 0.10, 8))
    assert cell.check == "power"
    assert cell.value > 0.8


@pytest.mark.parametrize("world", ["mild", "heavy-tailed", "size-dependent"])
@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.98, 0.99])
def test_intervals_cover(bench, world, accuracy):
    for documents in (10, 30, 100):
        (cell,) = bench.of_intervals((world, accuracy, documents, 600, False))
        assert cell.kept, cell


def test_the_percentile_bootstrap_does_not(bench):
    """What was there before; the check can fail."""
    cells = bench.of_intervals(("heavy-tailed", 0.99, 10, 300, True))
    found = {cell.check: cell.value for cell in cells}
    assert found["coverage"] > 0.92
    assert found["coverage-of-percentile-bootstrap"] < 0.75
    assert found["coverage-of-bootstrap-t"] < 0.75


def test_differences_cover(bench):
    for shares in ((0.5, 0.4), (0.99, 0.98)):
        (cell,) = bench.of_differences(("mild", *shares, 30, 600))
        assert cell.kept, cell


def test_a_line_of_json_for_each_cell(bench):
    cell = bench.Cell("coverage", "accuracy 0.5, mild", 30, 100, 0.5)
    assert cell.kept is False
    assert bench.Cell("false-discovery", "", 10, 100, 0.2).kept is False
    assert bench.Cell("power", "", 10, 100, 0.2).kept is None
    line = json.loads(json.dumps(bench.asdict(cell)))
    assert line == {
        "check": "coverage", "world": "accuracy 0.5, mild", "documents": 30, "runs": 100, "value": 0.5
    }  # fmt: skip


def test_worlds_have_the_truth_they_promise(bench):
    rng = np.random.default_rng(0)
    for world in bench.SIZES:
        drawn = bench.answers(world, bench.level(world, 0.9), 4000, 20, rng)
        assert drawn.right.sum() / drawn.asked.sum() == pytest.approx(0.9, abs=0.004)
    made = bench.contest("mild", documents=3000, heads=5, relations=1, better=0.1, rng=rng)
    shares = made.heads.sum((0, 2)) / made.asked.sum()
    assert shares[2] - np.delete(shares, 2).mean() == pytest.approx(0.095, abs=0.01)
    assert shares[0] == pytest.approx((made.offsets.sum((0, 2)) / made.asked.sum())[0], abs=0.01)
