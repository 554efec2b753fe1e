"""Figure 3: points and curves are the table's, on a logarithmic axis, and what cannot occur is said."""

import numpy as np
import pytest

from headscope.analyses.importance.figure import MEASURES, NAMES, importance_curves, importance_panel
from headscope.present.figures.saving import svg_text
from support import mock_inputs
from support.mock_importance import with_importance


@pytest.fixture(scope="module")
def table():
    return with_importance(mock_inputs.encoder()).table("importance")


def rows_of(table, measure, name, kind="encoder"):
    own = table[(table["measure"] == measure) & (table["key_class"] == name) & (table["kind"] == kind)]
    return own[own["head"].notna()].sort_values(["layer", "head"]), own[own["head"].isna()].sort_values("layer")


def test_points_curves_and_bands_are_the_tables(table):
    figure = importance_curves(table.sample(frac=1, random_state=2))
    assert len(figure.axes) == 2
    for measure, ax in zip(MEASURES, figure.axes):
        assert ax.get_yscale() == "log"
        assert ax.get_title(loc="left") == MEASURES[measure][0]
        lines = {one.get_gid(): one for one in ax.lines}
        for name in NAMES:
            heads, means = rows_of(table, measure, name)
            (points,) = [c for c in ax.collections if (c.get_gid() or "").startswith(f"heads--encoder--{name}--")]
            across, values = np.asarray(points.get_offsets()).T
            assert values == pytest.approx(heads["value"].to_numpy())
            assert np.round(across).tolist() == heads["layer"].tolist()
            assert lines[f"mean--encoder--{name}"].get_ydata() == pytest.approx(means["value"].to_numpy())
            (band,) = [c for c in ax.collections if c.get_gid() == f"interval--encoder--{name}"]
            ends = band.get_paths()[0].vertices[:, 1]
            assert ends.min() == pytest.approx(means["ci_low"].min())
            assert ends.max() == pytest.approx(means["ci_high"].max())
            low, high = ax.get_ylim()
            assert low < heads["value"].min() <= heads["value"].max() < high


def test_classes_are_named_at_their_curves_apart_from_each_other(table):
    for ax in importance_curves(table, names={**NAMES, "cls": "<s>"}).axes:
        texts = {text.get_gid(): text for text in ax.texts}
        assert texts["name--encoder--cls"].get_text() == "<s>"
        heights = sorted(np.log([text.get_position()[1] for text in texts.values()]))
        low, high = np.log(ax.get_ylim())
        assert len(heights) == 4
        assert min(np.diff(heights)) >= 0.0849 * (high - low)
        assert heights[-1] <= high


def test_points_lead_to_the_cards_of_their_heads(table):
    assert 'xlink:href="#encoder-2-7"' in svg_text(importance_panel(table, "gradient", kind="encoder"))


def test_ticks_are_plain_numbers(table):
    (ax,) = importance_panel(table, "weight_times_gradient", kind="encoder").axes
    assert [ax.yaxis.get_major_formatter()(value, 0) for value in (0.03, 1e-5, 3e-6)] == [
        *("0.03", "0.00001", "0.000003")
    ]


def test_what_cannot_occur_is_left_out_and_said():
    table = with_importance(mock_inputs.decoder(), absent=("sep",)).table("importance")
    (ax,) = importance_panel(table, "gradient", kind="decoder").axes
    assert "cannot occur here: [SEP]" in [text.get_text() for text in ax.texts]
    assert "mean--decoder--sep" not in [line.get_gid() for line in ax.lines]


def test_zeros_have_no_place_on_the_axis(table):
    zero = table.copy()
    zero.loc[(zero["layer"] == 6) & (zero["key_class"] == "cls"), "value"] = 0.0
    (ax,) = importance_panel(zero, "gradient", kind="encoder").axes
    (line,) = [one for one in ax.lines if one.get_gid() == "mean--encoder--cls"]
    assert len(line.get_ydata()) == 5
    (ax,) = importance_panel(table.assign(value=0.0), "gradient", kind="encoder").axes
    assert [text.get_text() for text in ax.texts] == ["The loss does not depend on this attention."]


def test_a_row_for_each_kind():
    figure = importance_curves(with_importance(mock_inputs.t5()).table("importance"))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == [f"{title} · {kind}" for kind in ("encoder", "decoder", "cross") for title, _ in MEASURES.values()]


def test_without_intervals_there_is_no_band():
    table = with_importance(mock_inputs.encoder(), intervals=False).table("importance")
    (ax,) = importance_panel(table, "gradient", kind="encoder").axes
    assert not [c for c in ax.collections if (c.get_gid() or "").startswith("interval--")]
