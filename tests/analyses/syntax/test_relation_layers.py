"""The heat map: the best head of each layer, found the slow way too, shaded by its margin over the offset."""

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from headscope.analyses.syntax.relation_layers import best_by_layer, on_shade, relation_layers, shade, step_of
from support import mock_inputs


def luminance(color):
    channels = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.fixture(scope="module")
def syntax():
    return mock_inputs.section_4(3, 4).table("syntax")


def test_the_best_head_and_direction_of_each_layer(syntax):
    found = best_by_layer(syntax, {"obj": 0.3}, kind="encoder")
    for name in ("obj", "conj"):
        for cell in found[name]:
            best = None
            for row in syntax.to_dict("records"):
                if (row["relation"], row["layer"]) != (name, cell.layer):
                    continue
                if best is None or row["accuracy"] > best["accuracy"]:
                    best = row
            assert (cell.head, cell.direction, cell.accuracy) == (best["head"], best["direction"], best["accuracy"])
            assert (cell.ci_low, cell.ci_high) == (best["ci_low"], best["ci_high"])
    assert found["obj"][0].above == pytest.approx(found["obj"][0].accuracy - 0.3)
    assert found["conj"][0].above != found["conj"][0].above


def test_other_models_and_kinds_do_not_count(syntax):
    better = syntax.assign(accuracy=0.99)
    both = pd.concat([better.assign(model="control"), better.assign(kind="decoder"), syntax])
    assert best_by_layer(both, {}, kind="encoder").keys() == best_by_layer(syntax, {}, kind="encoder").keys()
    cells = best_by_layer(both, {}, kind="encoder")["obj"]
    assert max(cell.accuracy for cell in cells) < 0.9
    assert best_by_layer(syntax, {}, kind="decoder") == {}


def test_ties_go_to_the_lower_head(syntax):
    flat = syntax.assign(accuracy=0.5)
    for cells in best_by_layer(flat, {}, kind="encoder").values():
        assert {(cell.head, cell.direction) for cell in cells} == {(1, "dependent->head")}


@pytest.mark.parametrize(
    ("above", "step"),
    [(-0.1, 0), (0.0, 0), (float("nan"), 0), (0.001, 1), (0.044, 1), (0.045, 2), (0.2, 5), (0.39, 9), (0.9, 9)],
)
def test_steps(above, step):
    assert step_of(above) == step


def test_shades_are_viridis_from_yellow_to_violet_with_readable_text():
    assert shade(5) == to_hex(mpl.colormaps["viridis"](0.5))
    assert luminance(shade(1)) > luminance(shade(9))
    for step in range(1, 10):
        low, high = sorted((luminance(shade(step)), luminance(on_shade(step))))
        assert (high + 0.05) / (low + 0.05) >= 4.0, step


def test_the_figure_prints_every_accuracy(syntax):
    found = best_by_layer(syntax, {"obj": 0.2}, kind="encoder")
    (ax,) = relation_layers({name: found[name] for name in ("obj", "det")}).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["obj", "det"]
    shown = [text.get_text() for text in ax.texts]
    assert shown == [f"{100 * cell.accuracy:.0f}" for name in ("obj", "det") for cell in found[name]]
    # Without a baseline nothing is shaded.
    assert len(ax.patches) == sum(cell.accuracy > 0.2 for cell in found["obj"])


def test_the_figure_has_the_key_of_its_colors(syntax):
    (ax,) = relation_layers({"obj": best_by_layer(syntax, {"obj": 0.2}, kind="encoder")["obj"]}).axes
    key = ax.get_legend()
    assert [text.get_text() for text in key.get_texts()] == ["points above the best fixed offset: 0 to 40 and more"]
    assert [to_hex(one.get_facecolor()) for one in key.findobj(Rectangle)] == [shade(step) for step in range(1, 10)]
