"""Heads removed together, in the page and the terminal: sentences, a panel for each order, a table."""

import numpy as np
import pytest

from headscope.analyses.effects.joint_facts import curves_in, joint_figure, random_band
from headscope.analyses.effects.tables import ORDERS
from support import mock_inputs
from support.effect_pages import sections, sentences, terminal
from support.measured import about, with_parts
from support.mock_joint import with_joint_effects
from support.page_tables import Tables


def said(**how):
    found = sentences(with_joint_effects(mock_inputs.decoder(4, 8), **how), "joint_effects")
    assert all(len(each.text.split()) <= 25 for each in found)
    return [each.text for each in found]


@pytest.fixture(scope="module")
def inputs():
    return with_joint_effects(mock_inputs.decoder(4, 8))


def test_what_is_said():
    assert said() == [
        "8 of 32 heads can go together for 0.025 nats (95% interval 0.020 to 0.030), chosen by their effects on other "
        "documents.",
        "Heads removed by 4 of 6 measures cost less than random heads of the same layers (false discovery rate 5%).",
        "Removed by weight off the sink they cost more than random heads (false discovery rate 5%).",
        "Effects of single heads do not add up: 64 random sets of 8 heads cost 1.000 nats on average, their single "
        "effects sum to 0.400.",
        "Their sum explains 20% (10 to 30) of the variance between sets (R²), a linear model 60% (50 to 70) on "
        "held-out sets (95% intervals).",
    ]


def test_of_twins_the_sum_tells_nothing():
    *_, last = said(total=0.0, r2=(-0.4, -0.8, -0.1))
    assert last == (
        "Their sum explains nothing of the variance between sets (R²), a linear model 60% (50 to 70) on "
        "held-out sets (95% intervals)."
    )


@pytest.mark.parametrize(
    ("r2", "how"),
    [((0.97, 0.95, 0.99), "add up"), ((0.9, 0.8, 0.95), "may add up"), ((0.5, 0.3, 0.7), "do not add up")],
)
def test_whether_effects_add_up_goes_by_the_interval(r2, how):
    assert said(r2=r2)[-2].startswith(f"Effects of single heads {how}: ")


def test_of_orders_alike():
    assert said(orders=("effect", "attribution", "gate", "output_norm", "non_sink", "random"))[1] == (
        "Heads removed by any measure but weight off the sink cost less than random heads of the same layers (false "
        "discovery rate 5%)."
    )
    assert said(orders=("effect", "attribution", "gate", "output_norm", "random"))[1] == (
        "Heads removed by any of 4 measures cost less than random heads of the same layers (false discovery rate 5%)."
    )
    assert said(orders=("effect", "gate", "output_norm", "random"))[1] == (
        "Heads removed by effect on the loss, gate estimate and output norm cost less than random heads of the same "
        "layers (false discovery rate 5%)."
    )
    assert said(orders=("effect", "non_sink", "random"))[1:3] == [
        "Heads removed by effect on the loss cost less than random heads of the same layers (false discovery rate 5%).",
        "Removed by weight off the sink they cost more than random heads (false discovery rate 5%).",
    ]


def scaled(size, *, width=1.0):
    """The sentences of a run whose numbers in nats are so many times as large, and their intervals so wide again."""
    run = with_joint_effects(mock_inputs.decoder(4, 8))
    tables = {}
    for name in ("joint_curves", "joint_areas", "joint_sums"):
        table = run.table(name).copy()
        here = ~table["measure"].str.startswith("r2") if name == "joint_sums" else table["value"].notna()
        for end in ("ci_low", "ci_high"):
            table.loc[here, end] = table["value"] + width * (table[end] - table["value"])
        table.loc[here, ["value", "ci_low", "ci_high"]] *= size
        tables[name] = table
    return [each.text for each in sentences(with_parts(run, **tables), "joint_effects")]


def test_where_all_heads_cost_nothing_no_order_is_better_than_another():
    """Neither a difference of orders that is far smaller than a sentence is worth, nor one that is not shown."""
    assert scaled(1e-5) == ["All 32 heads can go together for less than 0.01 nats (whole 95% interval)."]
    assert scaled(1.0, width=300.0) == []


def test_of_six_orders_one_that_is_past_its_interval_by_a_little_is_not_named():
    """Six orders of equal heads: one of six 95% intervals leaves out 0 in a quarter of all runs."""
    run = with_joint_effects(mock_inputs.decoder(4, 8))
    areas = run.table("joint_areas").copy()
    here = areas["measure"] == "less_random"
    areas.loc[here, ["value", "ci_low", "ci_high"]] = (0.0, -0.1, 0.1)
    areas.loc[here & (areas["order"] == "explained"), ["value", "ci_low", "ci_high"]] = (0.11, 0.01, 0.21)
    texts = [each.text for each in sentences(with_parts(run, joint_areas=areas), "joint_effects")]
    assert (
        texts[1] == "Heads removed by none of 6 measures are shown to cost less than random heads of the same layers."
    )
    assert not [text for text in texts if text.startswith("Removed by")]


def test_without_intervals_the_loss_of_the_fewest_heads_is_said():
    assert said(intervals=False) == [
        "Without the 4 heads of 32 with the smallest effects on other documents the loss rises by 0.0031 nats."
    ]


def test_the_section_has_its_table_and_figure(inputs):
    (section,) = sections(inputs, "joint-effects")
    assert (section.name, section.title) == ("joint-effects", "How many heads can go?")
    assert "The loss is that of masked language modeling: 3.50 nats a token" in section.html
    rows = Tables(section.html).found["table-joint-effects"]
    assert rows[1][:6] == ["order", "4", "8", "16", "24", "32"]
    of = {row[0]: row[1:] for row in rows[2:]}
    assert list(of)[-1] == "random heads"
    assert of["effect on the loss"] == [
        "0.0031",
        "0.025",
        "0.200",
        "0.675",
        "4.000",
        "0.400",
        "−0.600",
        "−0.700 to −0.500",
    ]
    assert of["weight off the sink"][-2:] == ["0.400", "0.300 to 0.500"]


def test_no_section_without_its_tables():
    assert sections(mock_inputs.decoder(4, 8), "joint-effects") == []
    assert sentences(mock_inputs.decoder(4, 8), "joint_effects") == []


def test_a_panel_for_each_order_before_the_random_ones(inputs):
    table = inputs.table("joint_curves")
    figure = joint_figure(curves_in(about(inputs)), random_band(table))
    panels = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert [ax.get_title(loc="left") for ax in panels] == [
        "effect on the loss",
        "attribution",
        "gate estimate",
        "output norm",
        "share explained",
        "weight off the sink",
    ]
    for ax, order in zip(panels, ORDERS[:-1], strict=True):
        lines = {line.get_gid(): line.get_xydata() for line in ax.get_lines() if line.get_gid()}
        for name, gid in ((order, "order"), ("random", "random")):
            rows = table[(table["order"] == name) & table["draw"].isna()]
            np.testing.assert_allclose(lines[gid], rows[["n_removed", "value"]].to_numpy(dtype=float))
        band = next(c for c in ax.collections if c.get_gid() == "band").get_paths()[0].vertices
        drawn = table[table["draw"].notna() & (table["n_removed"] == 16)]["value"]
        at = band[np.isclose(band[:, 0], 16), 1]
        assert (at.min(), at.max()) == pytest.approx((drawn.min(), drawn.max()))


def test_in_the_terminal(inputs):
    (grid,), lines = terminal(inputs)
    titles = [*(f"heads removed: {number}" for number in (4, 8, 16, 24, 32)), "area below: nats"]
    assert list(grid.titles) == ["order", *titles, "against random: nats", "against random: 95% interval"]
    assert grid.rows[0][-2:] == ["-0.600", "-0.700 to -0.500"]
    assert len(grid.rows) == 7
    assert lines[0].startswith("- The loss is that of masked language modeling: 3.50 nats a token")
    assert lines[1].startswith("- 8 of 32 heads can go together for 0.025 nats")
