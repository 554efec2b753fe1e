"""All heads by any two measures: where points lie, what colors them, and the card that each opens."""

import numpy as np
import pytest

from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.measured import blank_figures, with_parts
from support.mock_distribution import with_distribution

pytestmark = pytest.mark.browser


def points(page):
    """Each head's point: place of the head to (x, y), and how dark it is."""
    found = page.eval_on_selector_all(
        ".scatter-point",
        "all => all.map(p => [p.dataset.index, +p.getAttribute('cx'), +p.getAttribute('cy'), p.style.cssText])",
    )
    return {int(index): (x, y, style) for index, x, y, style in found}


def test_points_lie_where_both_measures_say(visit, studies):
    page = visit("whole")
    table = studies["whole"].table("distribution").sort_values(["layer", "head"])
    medians = {
        name: table[(table["measure"] == name) & (table["decile"] == 5)]["value"].to_numpy()
        for name in ("output_norm", "non_sink", "entropy")
    }
    found = points(page)
    assert sorted(found) == list(range(72))
    x, y = (np.array([found[index][side] for index in range(72)]) for side in (0, 1))
    # Affine in the values, the larger to the right and up.
    for places, values, sign in ((x, medians["non_sink"], 1), (y, medians["output_norm"], -1)):
        slope, start = np.polyfit(values, places, 1)
        assert np.sign(slope) == sign
        np.testing.assert_allclose(slope * values + start, places, atol=0.5)
    page.select_option("select[data-axis=x]", "distribution.entropy.decile_5")
    slope, start = np.polyfit(medians["entropy"], x := [points(page)[index][0] for index in range(72)], 1)
    np.testing.assert_allclose(slope * medians["entropy"] + start, x, atol=0.5)


def test_a_third_measure_colors_them(visit, studies):
    page = visit("whole")
    stats = studies["whole"].stats
    rows = stats[(stats["statistic"] == "previous") & stats["head"].notna()].sort_values(["layer", "head"])
    page.select_option("select[data-axis=color]", "previous")
    shares = np.array([float(style.split(":")[1].strip(" %;")) for _, _, style in points(page).values()])
    np.testing.assert_allclose(shares, 100 * rows["value"] / rows["value"].max(), atol=0.51)
    assert page.locator(".scatter-point.amount").count() == 72
    # In the dark scheme strong is light.
    key = page.locator(".scatter-choices ~ .caption")
    assert key.inner_text().startswith("Faint to strong: previous token from 0 to ")
    page.select_option("select[data-axis=color]", "")
    assert page.locator(".scatter-point.amount").count() == 0


def test_a_point_opens_its_head_s_card_by_click_and_by_key(visit):
    page = visit("whole")
    page.locator(".scatter-point[data-index='37']").dispatch_event("click")
    assert page.locator(".at-card h2").first.inner_text().startswith("Head 4-2")
    page.locator(".scatter-point[tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.index") == "1"
    page.keyboard.press("Enter")
    assert page.locator(".at-card h2").first.inner_text().startswith("Head 1-2")


def test_what_is_not_asked_for_is_dimmed(visit):
    page = visit("whole")
    page.fill("input[type=search]", "layer 2")
    page.press("input[type=search]", "Enter")
    bright = page.eval_on_selector_all(".scatter-point:not(.off)", "all => all.map(p => +p.dataset.index)")
    assert sorted(bright) == list(range(12, 24))


def test_a_run_without_rows_is_drawn_by_its_statistics(visit):
    page = visit("bare")
    assert page.locator("select[data-axis=x]").input_value() == "previous"
    assert page.locator(".scatter-point").count() == 6


def written_report(run, folder):
    """Write a report in whose page every figure but that of all heads is blank; return its path."""
    path = folder / "report.html"
    with blank_figures():
        path.write_text(render_report(run), encoding="utf-8")
    return path


def test_a_point_of_the_report_opens_the_card_beside_it(studies, visit_file, tmp_path):
    page = visit_file(written_report(studies["whole"], tmp_path))
    page.locator("#head-scatter .scatter-point[data-index='14']").dispatch_event("click")
    assert page.locator("#card h2").inner_text().startswith("Head 2-3")


def test_a_report_without_rows_draws_all_heads_by_their_statistics(studies, visit_file, tmp_path):
    page = visit_file(written_report(studies["bare"], tmp_path))
    assert page.locator("#section-heads .scatter-point").count() == 6
    assert page.locator("#section-heads select[data-axis=x]").input_value() == "previous"
    page.locator("#head-scatter .scatter-point[data-index='4']").dispatch_event("click")
    assert page.locator("#card h2").inner_text().startswith("Head 2-2")


def test_axes_fit_what_is_measured_in_percent_where_it_is_a_share(visit, studies):
    page = visit("whole")
    ticks = page.locator(".scatter-tick").all_text_contents()
    across = [text for text in ticks if text.endswith("%")]
    table = studies["whole"].table("distribution")
    top = table[(table["measure"] == "non_sink") & (table["decile"] == 5)]["value"].max()
    assert across[0] == "0%"
    assert 100 * top <= float(across[-1].rstrip("%")) < 100 * top + 20
    drawn = points(page)
    assert max(x for x, _, _ in drawn.values()) - min(x for x, _, _ in drawn.values()) > 300


def test_each_kind_of_attention_is_drawn_by_measures_that_it_has(visit_file, tmp_path):
    run = with_distribution(mock_inputs.t5(), known=("non_sink", "entropy"))
    run = with_parts(run, distribution=run.tables["distribution"][run.tables["distribution"]["kind"] != "cross"])
    page = visit_file(written_report(run, tmp_path))
    axes = lambda: [page.locator(f"#head-scatter select[data-axis={one}]").input_value() for one in "xy"]  # noqa: E731
    assert axes() == ["distribution.non_sink.decile_5", "distribution.entropy.decile_5"]
    page.locator("[role=tab][data-kind=cross]").click()
    assert not [name for name in axes() if name.startswith("decile")]
    assert page.locator("#head-scatter .scatter-point").count() == page.locator("#grid [data-index]").count() > 0
    page.locator("[role=tab][data-kind=encoder]").click()
    assert axes() == ["distribution.non_sink.decile_5", "distribution.entropy.decile_5"]
    # What the reader has picked stays, also where it has no numbers.
    page.select_option("#head-scatter select[data-axis=y]", "distribution.non_sink.decile_9")
    page.locator("[role=tab][data-kind=cross]").click()
    assert axes() == ["distribution.non_sink.decile_5", "distribution.non_sink.decile_9"]
    assert "No head has both" in page.locator("#head-scatter").inner_text()
