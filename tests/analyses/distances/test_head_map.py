"""Figure 6: every head at its place in both colorings, told apart by shape and number too, names that can be read."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from headscope.analyses.distances import head_map as module
from headscope.analyses.distances.head_map import head_map, height_of, map_panel, mark_size
from headscope.analyses.distances.tables import HEAD_MAP
from headscope.present.figures.saving import svg_text
from headscope.present.figures.style import contrast, layer_color, on_layer, role_color, role_outline
from support import mock_inputs
from support.mock_distances import with_distances
from support.stand_ins import stand_in


@pytest.fixture(scope="module")
def table():
    found = {("encoder", 3, 2): ["obj", "nsubj", "det"], ("encoder", 1, 5): ["coreference"]}
    return with_distances(mock_inputs.encoder(4, 8), finds=found).table("head_map")


def marks(ax):
    """{(layer, head): (x, y, color, collection)} read back from the marks and their links."""
    out = {}
    for collection in ax.collections:
        if (collection.get_gid() or "").startswith("heads--encoder--map--"):
            for number, (url, xy) in enumerate(zip(collection.get_urls(), np.asarray(collection.get_offsets()))):
                kind, layer, head = url[1:].split("-")
                assert kind == "encoder"
                colors = collection.get_facecolors()
                out[int(layer), int(head)] = (*map(float, xy), to_hex(colors[number % len(colors)]), collection)
    return out


def finders(ax):
    """Names that may be left out where there is no room: of heads that find something, and of layers."""
    return [text for text in ax.texts if (text.get_gid() or "").startswith("finder--")]


def names(ax):
    return finders(ax) + [text for text in ax.texts if (text.get_gid() or "").startswith("name--")]


def test_every_head_stands_at_its_place_in_both_colorings(table):
    left, right = head_map(table, kind="encoder").axes
    assert [ax.get_title(loc="left") for ax in (left, right)] == ["By role", "By layer"]
    for ax in (left, right):
        found = marks(ax)
        assert len(found) == 32
        for row in table.to_dict("records"):
            assert found[row["layer"], row["head"]][:2] == pytest.approx((row["x"], row["y"]))
        # A nat is as long across as upwards.
        assert ax.get_aspect() == 1.0


def test_roles_have_their_color_and_their_shape(table):
    (ax,) = map_panel(table, kind="encoder", coloring="role").axes
    found = marks(ax)
    for row in table.to_dict("records"):
        _, _, color, collection = found[row["layer"], row["head"]]
        # What finds something and has no role of its own is drawn as what it finds.
        finding = {"obj,nsubj,det": "syntax", "coreference": "coreference"}.get(row["finds"])
        role = finding if finding and row["role"] == "mixed" else row["role"]
        assert color == role_color(role)
        assert np.array_equal(collection.get_paths()[0].vertices, role_outline(role).vertices)
    present = set(table["role"])
    assert len({role_outline(role).vertices.tobytes() for role in present}) == len(present)


def test_each_role_is_named_in_its_color_beside_one_of_its_heads(table):
    called = {"broad": "wide", "mixed": "of no role"}
    (ax,) = map_panel(table, kind="encoder", coloring="role", names=called).axes
    told = {text.get_text(): text for text in names(ax)}
    for role in set(table["role"]):
        shown = called.get(role, {"previous": "previous token", "next": "next token", "sep": "[SEP]",
                                  "period_comma": "period or comma"}.get(role, role))  # fmt: skip
        assert told[shown].get_color() == role_color(role)
        own = table[table["role"] == role][["x", "y"]].to_numpy()
        span = np.ptp(table[["x", "y"]].to_numpy(), axis=0).max()
        assert np.linalg.norm(own - told[shown].get_position(), axis=1).min() < 0.2 * span


def test_heads_that_find_something_are_named(table):
    (ax,) = map_panel(table, kind="encoder", coloring="role").axes
    told = [text.get_text() for text in finders(ax)]
    assert sorted(told) == ["1-5 coreference", "3-2 obj +2"]


def test_heads_that_find_something_are_the_largest(table):
    (ax,) = map_panel(table, kind="encoder", coloring="role").axes
    sizes = {}
    for collection in ax.collections:
        if (collection.get_gid() or "").startswith("heads--"):
            for url, size in zip(collection.get_urls(), collection.get_sizes(), strict=True):
                sizes[url] = size
    finders = {sizes.pop(f"#encoder-{name}") for name in ("3-2", "1-5")}
    assert min(finders) > max(sizes.values())


def test_layers_have_their_color_and_their_number(table):
    (ax,) = map_panel(table, kind="encoder", coloring="layer").axes
    found = marks(ax)
    viridis = mpl.colormaps["viridis"]
    numbers = {text.get_gid(): text for text in ax.texts if (text.get_gid() or "").startswith("mark--")}
    for row in table.to_dict("records"):
        x, y, color, _ = found[row["layer"], row["head"]]
        assert color == to_hex(viridis((row["layer"] - 1) / 3))
        number = numbers[f"mark--{row['layer']}-{row['head']}"]
        assert number.get_text() == str(row["layer"])
        assert number.get_position() == pytest.approx((x, y))
        assert contrast(number.get_color(), color) >= 4.5


def test_no_two_names_cover_each_other(table):
    figure = map_panel(table, kind="encoder", coloring="role")
    FigureCanvasAgg(figure)
    figure.canvas.draw()
    (ax,) = figure.axes
    boxes = [text.get_window_extent() for text in names(ax)]
    for at, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:at]), names(ax)[at].get_text()
        inside = figure.bbox.padded(2)
        assert inside.x0 <= box.x0
        assert box.x1 <= inside.x1


def test_the_rule_is_as_long_as_it_says(table):
    (ax,) = map_panel(table, kind="encoder", coloring="layer").axes
    (rule,) = [line for line in ax.lines if line.get_gid() == "rule"]
    length = float(np.ptp(rule.get_xdata()))
    assert f"{length:g} nats" in [text.get_text() for text in ax.texts]
    assert float(f"{length:.0e}"[0]) in (1, 2, 5)
    assert 0.1 < length / np.ptp(ax.get_xlim()) <= 0.25 + 1e-9


def test_the_stress_stands_below(table):
    figure = head_map(table, kind="encoder", stress=0.1234)
    assert figure.get_supxlabel() == (
        "distances in the plane represent divergences in nats, with a stress of 0.12 (0 is exact)"
    )
    assert head_map(table, kind="encoder").get_supxlabel() == ""


def test_without_roles_the_panel_says_so(table):
    figure = head_map(table.assign(role=None, finds=None), kind="encoder")
    assert [text.get_text() for text in figure.axes[0].texts] == ["Roles need the statistics of the same run."]
    assert len(marks(figure.axes[1])) == 32


def test_a_large_model_names_its_layers_beside_them():
    rng = np.random.default_rng(0)
    layers, heads = 8, 26
    number = np.arange(layers * heads)
    x, y = (rng.normal(size=len(number)).tolist() for _ in range(2))
    layer, head = (number // heads + 1).tolist(), (number % heads + 1).tolist()
    large = stand_in(HEAD_MAP, layer=layer, head=head, x=x, y=y, role="mixed")
    (ax,) = map_panel(large, kind="encoder", coloring="layer").axes
    assert len(marks(ax)) == 208
    assert {text.get_text() for text in finders(ax)} == {f"layer {layer}" for layer in range(1, 9)}
    assert mark_size(3072) < mark_size(144) < mark_size(72) == mark_size(4)


def test_one_head_and_heads_at_one_place():
    one = stand_in(HEAD_MAP, kind="cross", head=[1, 2], role="broad", finds="")
    for table in (one, one.head(1)):
        figure = head_map(table, kind="cross")
        assert height_of(table) > 0
        assert "heads--cross--map--broad" in svg_text(figure)


def test_the_svg_is_the_same_each_time(table):
    table = table.head(14)
    assert svg_text(head_map(table, kind="encoder")) == svg_text(head_map(table, kind="encoder"))


def test_colors_of_layers():
    assert layer_color(1, 12) == to_hex(mpl.colormaps["viridis"](0.0))
    assert layer_color(12, 12) == to_hex(mpl.colormaps["viridis"](1.0))
    assert layer_color(1, 1) == layer_color(1, 2)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for layer in range(1, 49):
        assert contrast(on_layer(layer_color(layer, 48)), layer_color(layer, 48)) >= 4.5


def test_most_named_heads_find_most(table):
    every = table.assign(finds=["a,b,c" if head % 3 == 0 else "a" if head % 3 == 1 else "" for head in table["head"]])
    (ax,) = map_panel(every, kind="encoder", coloring="role").axes
    shown = [text.get_text() for text in finders(ax)]
    assert len(shown) == module.MOST_NAMED
    assert sum(text.endswith("a +2") for text in shown) == 8  # two heads in each of four layers
