"""Figure 2: what is plotted is what the table holds, each series under its own name."""

import numpy as np
import pytest

from headscope.present.figures import statistic_panel, stats_points
from headscope.present.figures.statistic_panel import SPREAD
from headscope.present.figures.stats_points import PANELS
from headscope.present.figures.style import role_color
from support import mock_inputs


def rows(stats, kind, statistic, *, mean):
    part = stats[(stats["kind"] == kind) & (stats["statistic"] == statistic) & stats["value"].notna()]
    part = part[part["head"].isna() == mean]
    return part.sort_values(["layer", "head"])


def points(ax, kind, statistic):
    """{(layer, head): (x, y)} read back from the marks and their links."""
    out = {}
    for collection in ax.collections:
        gid = collection.get_gid() or ""
        if gid.startswith(f"heads--{kind}--{statistic}--"):
            for url, xy in zip(collection.get_urls(), np.asarray(collection.get_offsets())):
                name, layer, head = url[1:].split("-")
                assert name == kind
                out[int(layer), int(head)] = tuple(xy)
    return out


def line(ax, gid):
    found = [one for one in ax.lines if one.get_gid() == gid]
    return np.column_stack(found[0].get_data()) if found else None


@pytest.fixture(scope="module")
def encoder():
    return mock_inputs.encoder()


def occurring(panel, of):
    """What a panel shows of a model: a learned sink, say, most have not."""
    known = of.stats[of.stats["value"].notna()]["statistic"].unique()
    return [name for name in panel.statistics if name in known]


def test_every_head_is_plotted_at_its_layer_and_value(encoder):
    figure = stats_points(encoder.stats)
    for panel, ax in zip(PANELS, figure.axes):
        present = occurring(panel, encoder)
        for place, statistic in enumerate(present):
            shift = 0.26 * (place - (len(present) - 1) / 2)
            table = rows(encoder.stats, "encoder", statistic, mean=False)
            plotted = points(ax, "encoder", statistic)
            assert len(plotted) == len(table) == 72
            for layer, head, value in zip(table["layer"], table["head"], table["value"]):
                assert plotted[layer, head] == pytest.approx((layer + shift, value))


def test_means_and_intervals_are_the_tables(encoder):
    figure = stats_points(encoder.stats)
    for panel, ax in zip(PANELS, figure.axes):
        for statistic in occurring(panel, encoder):
            table = rows(encoder.stats, "encoder", statistic, mean=True)
            drawn = line(ax, f"mean--encoder--{statistic}")
            assert drawn[:, 1] == pytest.approx(table["value"].to_numpy())
            (band,) = [c for c in ax.collections if c.get_gid() == f"interval--encoder--{statistic}"]
            heights = {float(y) for y in band.get_paths()[0].vertices[:, 1]}
            for end in [*table["ci_low"], *table["ci_high"]]:
                assert min(abs(end - height) for height in heights) < 1e-12


def test_previous_and_next_are_not_swapped():
    # Figure 2 of the original's notebook swaps their legend. Head 1-2 looks back, 2-4 ahead.
    inputs = mock_inputs.encoder()
    ax = stats_points(inputs.stats).axes[2]
    assert points(ax, "encoder", "previous")[1, 2][1] > 0.9
    assert points(ax, "encoder", "next")[2, 4][1] > 0.8
    names = {text.get_gid(): text for text in ax.texts if text.get_gid()}
    for statistic, words in (("previous", "previous token"), ("next", "next token")):
        assert names[f"name--encoder--{statistic}"].get_text() == words
        (mean,) = [one for one in ax.lines if one.get_gid() == f"mean--encoder--{statistic}"]
        assert mean.get_color() == names[f"name--encoder--{statistic}"].get_color() == role_color(statistic)


def test_names_follow_the_order_of_the_ends(encoder):
    for ax in stats_points(encoder.stats).axes:
        ends = {one.get_gid().split("--")[2]: one.get_ydata()[-1] for one in ax.lines}
        heights = {text.get_gid().split("--")[2]: text.get_position()[1] for text in ax.texts if text.get_gid()}
        assert sorted(ends, key=ends.get) == sorted(heights, key=heights.get)


def test_what_cannot_occur_is_left_out_with_a_note():
    inputs = mock_inputs.decoder()
    top, middle, bottom = stats_points(inputs.stats).axes
    assert not points(top, "decoder", "sep")
    assert [text.get_text() for text in middle.texts] == ["[SEP] → [SEP], other → [SEP]: cannot occur here."]
    assert "cannot occur here: next token" in [text.get_text() for text in bottom.texts]
    assert points(bottom, "decoder", "previous")


def test_one_column_for_each_kind():
    inputs = mock_inputs.t5()
    figure = stats_points(inputs.stats)
    assert len(figure.axes) == 9
    assert [ax.get_title(loc="left") for ax in figure.axes[:3]] == [
        f"Special tokens and punctuation · {kind}" for kind in ("encoder", "decoder", "cross")
    ]
    assert len(points(figure.axes[2], "cross", "sep")) == 12


def test_draws_into_given_axes(encoder):
    from matplotlib.figure import Figure

    own = Figure()
    axes = own.subplots(3, 1, squeeze=False).tolist()
    assert stats_points(encoder.stats, axes=axes) is own
    assert len(points(axes[0][0], "encoder", "cls")) == 72


def test_another_number_of_axes_is_refused(encoder):
    from matplotlib.figure import Figure

    with pytest.raises(ValueError, match=r"^Expected 3 rows of 1 axes \(encoder\), got \[1, 1\]; give one row a panel"):
        stats_points(encoder.stats, axes=Figure().subplots(2, 1, squeeze=False).tolist())


def test_panel_shows_roles_in_their_colors_and_order(encoder):
    figure = statistic_panel(encoder.stats, "cls", kind="encoder", roles=encoder.roles)
    (ax,) = figure.axes
    plotted = points(ax, "encoder", "cls")
    table = rows(encoder.stats, "encoder", "cls", mean=False)
    for layer, head, value in zip(table["layer"], table["head"], table["value"]):
        assert plotted[layer, head] == pytest.approx((layer + SPREAD * (head - 6.5) / 11, value))
    colors = {c.get_gid().split("--")[3]: c for c in ax.collections if (c.get_gid() or "").startswith("heads--")}
    assert set(colors) == set(encoder.roles["role"])
    assert len(colors) > 3
    for role, marks in colors.items():
        own = encoder.roles[encoder.roles["role"] == role]
        named = {f"encoder-{layer}-{head}" for layer, head in zip(own["layer"], own["head"])}
        assert {url[1:] for url in marks.get_urls()} == named


def test_uniform_is_dashed_at_the_tables_value(encoder):
    (ax,) = statistic_panel(encoder.stats, "period_comma", kind="encoder").axes
    drawn = line(ax, "uniform--encoder--period_comma")
    table = rows(encoder.stats, "encoder", "period_comma", mean=True)
    assert drawn[:, 1] == pytest.approx(table["uniform"].to_numpy())


def test_panel_names_the_strongest_heads(encoder):
    (ax,) = statistic_panel(encoder.stats, "previous", kind="encoder").axes
    assert [text.get_text() for text in ax.texts] == ["1-2", "2-6"]


def test_a_model_of_one_head_is_drawn():
    inputs = mock_inputs.encoder(1, 1)
    (ax,) = statistic_panel(inputs.stats, "cls", kind="encoder", roles=inputs.roles).axes
    assert list(points(ax, "encoder", "cls")) == [(1, 1)]
    assert points(ax, "encoder", "cls")[1, 1][0] == 1.0


def test_without_intervals_no_band_is_drawn():
    inputs = mock_inputs.encoder(documents=4)
    (ax,) = statistic_panel(inputs.stats, "cls", kind="encoder").axes
    assert not [c for c in ax.collections if (c.get_gid() or "").startswith("interval--")]


def test_an_empty_panel_says_why():
    (ax,) = statistic_panel(mock_inputs.decoder().stats, "sep", kind="decoder").axes
    assert [text.get_text() for text in ax.texts] == ["Cannot occur in this kind of attention."]
