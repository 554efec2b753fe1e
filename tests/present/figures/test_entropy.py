"""Figure 4: entropies as the table holds them, with what uniform attention has."""

import numpy as np
import pytest

from headscope.present.figures import entropy_by_layer, statistic_panel
from support import mock_inputs


def test_heads_mean_and_uniform_are_the_tables():
    inputs = mock_inputs.encoder()
    figure = entropy_by_layer(inputs.stats)
    for statistic, ax in zip(("entropy", "entropy_cls"), figure.axes):
        table = inputs.stats[inputs.stats["statistic"] == statistic]
        heads = table[table["head"].notna()].sort_values(["layer", "head"])
        means = table[table["head"].isna()].sort_values("layer")
        (points,) = [c for c in ax.collections if (c.get_gid() or "").startswith("heads--")]
        assert np.asarray(points.get_offsets())[:, 1] == pytest.approx(heads["value"].to_numpy())
        lines = {one.get_gid(): one.get_ydata() for one in ax.lines}
        assert lines[f"mean--encoder--{statistic}"] == pytest.approx(means["value"].to_numpy())
        assert lines[f"uniform--encoder--{statistic}"] == pytest.approx(means["uniform"].to_numpy())
        assert "uniform" in [text.get_text() for text in ax.texts]


def test_both_panels_have_the_same_axis_and_show_all_points():
    inputs = mock_inputs.encoder()
    all_tokens, first = entropy_by_layer(inputs.stats).axes
    assert all_tokens.get_ylim() == first.get_ylim()
    assert all_tokens.get_ylim()[0] == 0
    assert all_tokens.get_ylim()[1] > inputs.stats[inputs.stats["statistic"] == "entropy"]["uniform"].max()


def test_a_row_for_each_kind_and_a_note_where_there_is_none():
    figure = entropy_by_layer(mock_inputs.t5().stats)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles[0] == "Entropy · encoder"
    assert titles[5] == "Entropy from [CLS] · cross"
    assert [text.get_text() for text in figure.axes[5].texts] == ["Cannot occur in this kind of attention."]


def test_uniform_line_of_one_layer_can_be_seen():
    (ax,) = statistic_panel(mock_inputs.encoder(1, 1).stats, "entropy", kind="encoder").axes
    (uniform,) = [one for one in ax.lines if one.get_gid() == "uniform--encoder--entropy"]
    assert list(uniform.get_xdata()) == [0.6, 1.4]


def test_another_number_of_axes_is_refused():
    from matplotlib.figure import Figure

    with pytest.raises(ValueError, match=r"^Expected 1 rows of 2 axes \(encoder\), got \[1\]; give one row a kind"):
        entropy_by_layer(mock_inputs.encoder(1, 1).stats, axes=[[Figure().subplots()]])
