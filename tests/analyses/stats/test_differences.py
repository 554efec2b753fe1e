"""Hand-worked differences: of two statistics in a layer, and of the first head from its nearest rival."""

from types import SimpleNamespace

import numpy as np
import pytest

from headscope.analyses.stats.compute import stats_differences
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.models.anatomy import KindLayout
from headscope.statistics.statistic_catalog import NAMES

DOCUMENTS = 20
SHARES = {  # [layer][head]
    "previous": [[0.1, 0.2, 0.6], [0.9, 0.1, 0.3]],
    "next": [[0.1, 0.8, 0.2], [0.3, 0.1, 0.7]],
    "sep_to_sep": [[0.5, 0.7, 0.6], [0.1, 0.1, 0.4]],
    "other_to_sep": [[0.1, 0.2, 0.3], [0.5, 0.5, 0.8]],
}


class ByHand(StatsAccumulator):
    """Two layers of three heads; the shares of every document differ a little from `SHARES`."""

    layout = (KindLayout("encoder", 2, 3),)

    def __init__(self):
        noise = np.random.default_rng(0).normal(0.0, 0.002, (DOCUMENTS, 2, 4, len(NAMES)))
        table = 0.25 + noise - noise.mean(0)
        for name, values in SHARES.items():
            table[:, :, :3, NAMES.index(name)] += np.array(values) - 0.25
        counts = np.full((DOCUMENTS, len(NAMES)), 2)
        stacked = {"weight.encoder": 2 * table, "n_weight.encoder": counts}
        self.sums = SimpleNamespace(stacked=lambda: stacked)


def test_the_first_head_is_compared_with_its_nearest_rival_and_layers_with_themselves():
    rows = stats_differences(ByHand()).set_index(["statistic", "layer"])
    names = ["head", "than_layer", "than_head", "n_inputs"]
    assert rows.loc[("previous", 2), names].tolist() == [1, 1, 3, 2 * DOCUMENTS]
    assert rows.loc[("next", 1), names].tolist() == [2, 2, 3, 2 * DOCUMENTS]
    expected = {
        ("previous", 2): 0.9 - 0.6, ("next", 1): 0.8 - 0.7, ("sep_to_sep", 1): 0.6 - 0.2, ("sep_to_sep", 2): 0.2 - 0.6,
    }  # fmt: skip
    for key, difference in expected.items():
        row = rows.loc[key]
        assert row["difference"] == pytest.approx(difference, abs=1e-9), key
        assert row["ci_low"] < difference < row["ci_high"], key
    assert rows.loc["sep_to_sep", "than_statistic"].tolist() == ["other_to_sep", "other_to_sep"]
    assert rows.loc["sep_to_sep", "head"].isna().all()
