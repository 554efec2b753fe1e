"""Heads that find something are larger than the others, over them, and named."""

import numpy as np
import pandas as pd
import pytest

from headscope.present.figures import entropy_by_layer, stats_points
from headscope.present.figures.head_points import LARGER, finders_of
from support import mock_inputs

FINDERS = {(2, 4): ["obj"], (5, 3): ["nsubj", "det"]}


@pytest.fixture(scope="module")
def inputs():
    return mock_inputs.encoder()


@pytest.fixture(scope="module")
def roles(inputs):
    own = inputs.roles
    keys = zip(own["layer"], own["head"])
    return own.assign(finds=pd.Series([FINDERS.get(key, []) for key in keys], index=own.index, dtype=object))


def sizes(ax):
    """{(layer, head): the areas of its marks}."""
    out = {}
    for points in ax.collections:
        if (points.get_gid() or "").startswith("heads--"):
            for url, size in zip(points.get_urls(), points.get_sizes(), strict=True):
                head = tuple(map(int, url[1:].split("-")[1:]))
                out.setdefault(head, set()).add(float(size))
    return out


def test_they_are_called_by_number_and_what_they_find(roles):
    assert finders_of(roles, "encoder") == {(2, 4): "2-4 obj", (5, 3): "5-3 nsubj +1"}
    assert finders_of(roles, "decoder") == finders_of(roles.drop(columns="finds"), "encoder") == {}


@pytest.mark.parametrize("draw", [stats_points, entropy_by_layer])
def test_their_marks_are_larger_and_named(inputs, roles, draw):
    figure = draw(inputs.stats, roles=roles)
    names = set()
    for ax in figure.axes:
        own = sizes(ax)
        assert len(own) == 72
        usual = {size for head, all_sizes in own.items() if head not in FINDERS for size in all_sizes}
        for head in FINDERS:
            assert min(own[head]) == pytest.approx(LARGER * max(usual))
        names |= {text.get_text() for text in ax.texts}
    # Where a name would cover another head's mark it is left out.
    assert names & {"2-4 obj", "5-3 nsubj +1"}


def test_points_stay_where_they_were(inputs, roles):
    def places(figure):
        found = {}
        for number, ax in enumerate(figure.axes):
            for points in ax.collections:
                gid = points.get_gid() or ""
                if gid.startswith("heads--"):
                    for url, xy in zip(points.get_urls(), np.asarray(points.get_offsets()), strict=True):
                        found[number, gid.split("--")[2], url] = tuple(xy)
        return found

    assert places(stats_points(inputs.stats, roles=roles)) == places(stats_points(inputs.stats))
