"""The tree: joins where scipy has them, heads named in their roles' colors, clusters bracketed."""

import numpy as np
import pytest

from headscope.analyses.distances.clusters import cluster
from headscope.analyses.distances.dendrogram import MOST_LABELED, dendrogram
from headscope.analyses.distances.tables import HEAD_DISTANCES, HEAD_MAP, matrix_of
from headscope.present.figures.saving import svg_text
from headscope.present.figures.style import role_color
from support import mock_inputs
from support.mock_distances import with_distances
from support.stand_ins import stand_in


@pytest.fixture(scope="module")
def inputs():
    return with_distances(mock_inputs.encoder(4, 8))


def tree(inputs, *, heads=None, **options):
    """The tree of a run's heads, or of some of them."""
    heads = inputs.table("head_map") if heads is None else heads
    return dendrogram(heads, pairs=inputs.table("head_distances"), kind="encoder", **options)


@pytest.fixture(scope="module")
def found(inputs):
    heads = list(zip(inputs.tables.get("head_map")["layer"], inputs.tables.get("head_map")["head"]))
    return cluster(matrix_of(inputs.tables.get("head_distances"), heads, kind="encoder"))


@pytest.fixture(scope="module")
def ax(inputs):
    (ax,) = tree(inputs).axes
    return ax


def joins(ax, gid):
    (lines,) = [one for one in ax.collections if one.get_gid() == gid]
    return [np.asarray(segment) for segment in lines.get_segments()]


def test_joins_lie_at_the_linkages_heights(ax, found):
    inner, outer = joins(ax, "joins--in"), joins(ax, "joins--out")
    heights = sorted(float(one[:, 0].max()) for one in [*inner, *outer])
    assert heights == pytest.approx(sorted(found.tree[:, 2]))
    # Each cluster of so many heads has one join fewer within it.
    assert len(outer) == found.number - 1
    assert max(one[:, 0].max() for one in inner) < found.height < min(one[:, 0].max() for one in outer)
    (cut,) = [line for line in ax.lines if line.get_gid() == "cut"]
    assert list(cut.get_xdata()) == [found.height, found.height]


def test_leaves_are_the_heads_in_the_trees_order(ax, inputs, found):
    named = [text for text in ax.texts if (text.get_gid() or "").startswith("mark--")]
    downwards = sorted(named, key=lambda text: text.get_position()[1])
    heads = list(zip(inputs.tables.get("head_map")["layer"], inputs.tables.get("head_map")["head"]))
    assert [text.get_text() for text in downwards] == ["{}-{}".format(*heads[at]) for at in found.order]
    roles = {f"{a}-{b}": role for a, b, role in inputs.tables.get("head_map")[["layer", "head", "role"]].to_numpy()}
    assert all(text.get_color() == role_color(roles[text.get_text()]) for text in named)
    for points in ax.collections:
        if not (points.get_gid() or "").startswith("heads--encoder--tree--"):
            continue
        role = points.get_gid().split("--")[3]
        for url, (_, y) in zip(points.get_urls(), np.asarray(points.get_offsets())):
            name = url.removeprefix("#encoder-")
            assert roles[name] == role
            assert downwards[int(y)].get_text() == name


def test_a_leafs_join_starts_at_its_line(ax, found):
    """The first join of the tree joins two heads: its ends lie at their lines, at zero."""
    first, second = (int(at) for at in found.tree[0, :2])
    place = {int(head): line for line, head in enumerate(found.order)}
    lowest = min(joins(ax, "joins--in"), key=lambda one: one[:, 0].max())
    assert sorted(lowest[[0, 3], 1].tolist()) == sorted([place[first], place[second]])
    assert lowest[[0, 3], 0].tolist() == [0, 0]


def test_clusters_are_bracketed_with_their_sizes(ax, found):
    sizes = np.bincount(found.labels)
    in_order = found.labels[found.order]
    texts = [text.get_text() for text in ax.texts]
    for number in range(1, found.number + 1):
        (bracket,) = [line for line in ax.lines if line.get_gid() == f"cluster--{number}"]
        low, high = bracket.get_ydata()
        own = np.flatnonzero(in_order == number)
        assert (low, high) == pytest.approx((own.min() - 0.35, own.max() + 0.35))
        assert len(own) == sizes[number] == own.max() - own.min() + 1
        assert (f"cluster {number}" + (f" · {sizes[number]} heads" if sizes[number] > 1 else "")) in texts


def test_the_key_names_the_roles_that_are_there(inputs, ax):
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(shown) == inputs.tables.get("head_map")["role"].nunique()
    (other,) = tree(inputs, names={"broad": "<wide>"}).axes
    assert "<wide>" in [text.get_text() for text in other.get_legend().get_texts()]


def test_without_roles_heads_are_named_all_the_same(inputs):
    (ax,) = tree(inputs, heads=inputs.table("head_map").assign(role=None)).axes
    assert ax.get_legend() is None
    assert sum((text.get_gid() or "").startswith("mark--") for text in ax.texts) == 32


def test_a_large_model_has_no_names(inputs, monkeypatch):
    monkeypatch.setattr("headscope.analyses.distances.dendrogram.MOST_LABELED", 30)
    assert MOST_LABELED == 400
    (ax,) = tree(inputs).axes
    assert not any((text.get_gid() or "").startswith("mark--") for text in ax.texts)


def test_one_head_two_heads_and_none():
    table = stand_in(HEAD_MAP, kind="cross", layer=[1, 2], role="broad")
    pairs = stand_in(HEAD_DISTANCES, kind_a="cross", kind_b="cross", layer_b=2, divergence=0.09)
    (ax,) = dendrogram(table, pairs=pairs, kind="cross").axes
    (join,) = joins(ax, "joins--in")
    assert join[:, 0].max() == pytest.approx(0.3)
    assert not any(line.get_gid() == "cut" for line in ax.lines)
    (lone,) = dendrogram(table.head(1), pairs=pairs, kind="cross").axes
    assert [text.get_text() for text in lone.texts] == ["A tree needs two heads."]


def test_the_svg_is_the_same_each_time(inputs):
    few = inputs.tables.get("head_map").head(14)
    drawn = [svg_text(tree(inputs, heads=few)) for _ in range(2)]
    assert drawn[0] == drawn[1]
