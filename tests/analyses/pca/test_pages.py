"""What the page and the terminal say of heads' directions, against the table that it is made of."""

import re

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.for_report import measures_of
from headscope.analyses.pca.facts import PAGE, PARTS
from headscope.analyses.pca.tables import EFFECTIVE, SHARE_NAMES
from support import mock_inputs
from support.measured import about, with_parts

(FIGURE,) = PARTS.figures
SIDES = ("query", "key", "output")


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(3)
    rows = [
        ("encoder", layer, head, side, name, 1 + 5 * rng.random() if name == EFFECTIVE else rng.random(), 40)
        for layer in (1, 2)
        for head in (1, 2, 3)
        for side in SIDES
        for name in (EFFECTIVE, *SHARE_NAMES)
    ]
    names = ["kind", "layer", "head", "vectors", "statistic", "value", "n_tokens"]
    return with_parts(mock_inputs.encoder(2, 3), pca=pd.DataFrame(rows, columns=names))


def test_the_page_s_table_has_every_head_s_directions(run):
    (section,) = PARTS.sections(about(run))
    table = re.search(r'<table id="table-pca-encoder">.*?</table>', str(section.html), re.DOTALL).group()
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)]
    own = run.tables.get("pca").set_index(["layer", "head", "vectors", "statistic"])["value"]
    assert len(lines) == 2 + 6
    for line in lines[2:]:
        layer, head = map(int, line[0].split("-"))
        for place, side in enumerate(SIDES):
            told = [float(cell) for cell in line[1 + 3 * place : 4 + 3 * place]]
            expected = [own[layer, head, side, name] for name in (EFFECTIVE, *SHARE_NAMES[:2])]
            np.testing.assert_allclose(told, np.array(expected) * (1, 100, 100), atol=0.051)


def test_every_head_is_a_point_of_each_panel(run):
    ((name, draw),) = FIGURE.drawings(about(run)).items()
    figure = draw()
    assert name == "figure-pca"
    assert len(figure.axes) == 3
    for ax in figure.axes:
        urls = [url for points in ax.collections for url in points.get_urls() or ()]
        assert sorted(urls) == [f"#encoder-{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3)]


def test_the_grid_and_the_terminal_have_the_effective_dimensions(run):
    own = run.tables.get("pca").set_index(["layer", "head", "vectors", "statistic"])["value"]
    measures = {one.name: one for one in measures_of(about(run))}
    assert list(measures) == [f"pca.{side}.{EFFECTIVE}" for side in SIDES]
    assert measures[f"pca.key.{EFFECTIVE}"].values["encoder"][4] == own[2, 2, "key", EFFECTIVE]
    _, _, grid, *_ = PAGE.terminal(run)
    lines = {line[0]: dict(zip(grid.titles, line, strict=True)) for line in grid.rows}
    assert lines["2-2"]["keys: directions"] == f"{own[2, 2, 'key', EFFECTIVE]:.1f}"


def test_a_run_without_directions_says_nothing():
    bare = about(mock_inputs.encoder(2, 3))
    assert PARTS.sections(bare) == []
    assert FIGURE.drawings(bare) == {}
    assert list(measures_of(bare)) == []
