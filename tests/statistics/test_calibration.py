"""The calibration that `make bench` prints, small: worlds whose truth is known, and promises kept in them."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from support.benchmarks import benchmark


@pytest.fixture(scope="module")
def bench():
    return benchmark("calibration")


@pytest.mark.slow
@pytest.mark.parametrize("world", ["mild", "heavy-tailed"])
@pytest.mark.parametrize("test", ["selection", "each head"])
def test_equal_heads_declare_nothing(bench, test, world):
    for documents in (10, 30):
        (cell,) = bench.of_heads((test, world, documents, 144, 0.0, 1.0, 30))
        assert cell.check == "false-discovery"
        assert cell.kept, cell


def test_a_better_head_is_found(bench):
    (cell,) = bench.of_heads(("selection", "mild", 100, 72, 0.10, 0.0, 4))
    assert cell.check == "power"
    assert cell.value > 0.8


def test_effects_of_documents_that_heads_do_not_share_cost_power(bench):
    (cell,) = bench.of_heads(("selection", "mild", 100, 72, 0.10, 1.0, 4))
    assert cell.check == "power"
    assert cell.value < 0.2


def test_runs_are_enough_for_a_level_of_eight_percent_to_fail(bench):
    for quick in (True, False):
        checked = set()
        for function, task in bench.plan(quick=quick):
            if function is bench.of_heads:
                better, runs = task[4], task[-1]
                assert better or bench.Cell("false-discovery", "", 30, runs, 0.08).kept is False
            elif function is not bench.of_selection:
                assert (
                    bench.Cell("coverage", "", 30, task[3 if function is bench.of_intervals else -1], 0.92).kept
                    is False
                )
            checked.add(function)
        assert {bench.of_heads, bench.of_positive, bench.of_shares, bench.of_layers, bench.of_deciles} <= checked


@pytest.mark.parametrize("world", ["mild", "heavy-tailed", "size-dependent"])
@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.98, 0.99])
def test_intervals_cover(bench, world, accuracy):
    for documents in (10, 30, 100):
        (cell,) = bench.of_intervals((world, accuracy, documents, 600, False))
        assert cell.kept, cell


@pytest.mark.parametrize("world", ["mild", "heavy-tailed", "size-dependent"])
def test_intervals_of_values_cover(bench, world):
    """Positive values and small shares whose documents have a tail: 87 to 92% before intervals reached after it."""
    for documents in (10, 30, 100):
        cells = bench.of_positive((world, 0.5, documents, 2500))
        for share in (0.01, 0.1):
            cells += bench.of_shares((world, share, 0.5, documents, 2500))
        for cell in cells:
            assert cell.check == "coverage"
            assert cell.kept, cell


def test_one_head_over_its_layer_covers(bench):
    for cell in bench.of_layers(("heavy-tailed", 0.5, 30, 1000)):
        assert cell.kept, cell


@pytest.mark.slow
def test_deciles_of_continuous_values_cover(bench):
    cells = [cell for cell in bench.of_deciles(("mild", 30, 600)) if "output_norm" in cell.world]
    assert len(cells) == 3
    for cell in cells:
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


def test_many_documents_are_summed_in_as_many_groups_as_a_run_has(bench):
    made = bench.contest("mild", documents=600, heads=3, relations=2, better=0.0, rng=np.random.default_rng(0))
    assert made.heads.shape == (256, 3, 2)
    table = np.arange(600)[:, None]
    groups = benchmark("worlds").grouped(table)
    assert groups[:, 0].tolist() == [sum(range(first, 600, 256)) for first in range(256)]


def test_a_line_of_json_for_each_cell(bench):
    cell = bench.Cell("coverage", "accuracy 0.5, mild", 30, 100, 0.5)
    assert cell.kept is False
    assert bench.Cell("false-discovery", "", 10, 100, 0.2).kept is False
    assert bench.Cell("power", "", 10, 100, 0.2).kept is None
    line = json.loads(json.dumps(asdict(cell)))
    assert line == {
        "check": "coverage", "world": "accuracy 0.5, mild", "documents": 30, "runs": 100, "value": 0.5
    }  # fmt: skip


def test_worlds_have_the_truth_they_promise(bench):
    rng = np.random.default_rng(0)
    for world in bench.SIZES:
        drawn = bench.answers(world, bench.level(world, 0.9), 4000, 20, rng)
        assert drawn.right.sum() / drawn.asked.sum() == pytest.approx(0.9, abs=0.004)
    for world in bench.SIZES:
        values = benchmark("worlds").positive_values(world, effects=0.5, documents=20_000, runs=20, rng=rng)
        assert values.sums.sum() / values.counts.sum() == pytest.approx(values.truth, rel=0.02)
        shares = benchmark("worlds").attention_shares(world, share=0.1, effects=0.5, documents=20_000, runs=5, rng=rng)
        assert shares.sums.sum() / shares.counts.sum() == pytest.approx(shares.truth, rel=0.02)
    made = bench.contest("mild", documents=3000, heads=5, relations=1, better=0.1, rng=rng)
    shares = made.heads.sum((0, 2)) / made.asked.sum()
    assert shares[2] - np.delete(shares, 2).mean() == pytest.approx(0.095, abs=0.01)
    assert shares[0] == pytest.approx((made.offsets.sum((0, 2)) / made.asked.sum())[0], abs=0.01)
