"""Figures of probes: every mark is a number of the tables."""

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.probes.figures import probe_distances, probe_layers, probe_scores, probe_weights
from headscope.analyses.probes.page_rows import probe_lines
from headscope.analyses.probes.tables import SYSTEMS
from headscope.present.figures.saving import svg_text
from headscope.present.figures.style import role_color
from headscope.present.paper_table import paper_numbers
from headscope.statistics.tables.frames import DISTANCES
from support.mock_probes import class_rows, layer_rows, score_rows, weight_rows

KINDS = [{"kind": "encoder", "layers": 3, "heads": 4}]


def marks(ax, name):
    return [line for line in ax.lines if line.get_gid() == name]


def test_the_papers_lines_are_all_named():
    printed = {system.paper for system in SYSTEMS.values()} - {None}
    assert printed == set(paper_numbers()["table3"])


def test_table_3_as_a_figure():
    probes = score_rows()
    (ax,) = probe_scores(probes, paper=paper_numbers()["table3"]).axes
    lines = list(probe_lines(probes).values())
    assert len(lines) == 7
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names[0] == "Structural probe (UUAS)"
    assert names[1:] == [line.system.name for line in lines[1:]]
    means = [(line.get_xdata()[0], line.get_ydata()[0]) for line in marks(ax, "mean")]
    for place, line in enumerate(lines):
        system, mean = line.system, line.score
        (key,) = [key for key, one in SYSTEMS.items() if one is system]
        rows = probes[(probes["probe"] == key[0]) & (probes["model"] == key[1]) & (probes["measure"] == system.measure)]
        assert means[place] == (rows[rows["seed"].isna()]["value"].item(), place)
        assert mean.value == means[place][0]
        assert (
            list(marks(ax, "seeds")[place].get_xdata())
            == list(line.values)
            == rows[rows["seed"].notna()]["value"].tolist()
        )
        ((start, end),) = [
            segment[:, 0] for c in ax.collections for segment in c.get_segments() if segment[0, 1] == place
        ]
        assert (start, end) == (mean.ci_low, mean.ci_high)
    assert [text.get_text() for text in ax.texts] == [f"{100 * line.score.value:.1f}" for line in lines]
    printed = {line.get_ydata()[0]: 100 * line.get_xdata()[0] for line in marks(ax, "paper")}
    assert printed == pytest.approx({0: 80, 1: 26, 2: 58, 4: 30, 5: 61, 6: 77})
    assert ax.get_xlabel() == "◇ in the paper, on the Wall Street Journal"


def test_without_the_paper_and_without_intervals():
    (ax,) = probe_scores(score_rows(documents=3, seeds=1)).axes
    assert not marks(ax, "paper")
    assert not ax.collections
    assert ax.get_xlabel() == ""


def test_each_weight_is_a_cell_as_full_as_it_is_large():
    table = weight_rows(KINDS)
    own = table[table["probe"] == "attention"]
    figure = probe_weights(own, kind="encoder")
    most = own["weight"].abs().max()
    for ax, direction in zip(figure.axes, ("dependent->head", "head->dependent")):
        rows = own[own["direction"] == direction]
        cells = {patch.get_url(): patch for patch in ax.patches if patch.get_url()}
        assert len(cells) == 12
        for row in rows.to_dict("records"):
            cell = cells[f"#encoder-{row['layer']}-{row['head']}"]
            assert cell.get_x() + 0.44 == pytest.approx(row["head"])
            assert cell.get_y() + 0.44 == pytest.approx(row["layer"])
            assert cell.get_alpha() == pytest.approx(abs(row["weight"]) / most)
            color = role_color("syntax" if row["weight"] >= 0 else "sep")
            assert cell.get_facecolor()[:3] == pytest.approx([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        below = rows[(rows["weight"] < 0) & (rows["weight"].abs() >= 0.1 * most)]
        bars = {(line.get_xdata().mean(), line.get_ydata()[0]) for line in marks(ax, "minus")}
        assert bars == set(zip(below["head"], below["layer"]))
    assert 'xlink:href="#encoder-2-3"' in svg_text(figure)


def test_curves_by_distance():
    table = class_rows("distance", DISTANCES)
    shuffled = table.sample(frac=1, random_state=1)
    (ax,) = probe_distances(shuffled).axes
    curves = marks(ax, "probe")
    keys = [key for key in SYSTEMS if key[0] != "structural"]
    assert len(curves) == len(keys) == 6
    for curve, (probe, model) in zip(curves, keys):
        rows = table[(table["probe"] == probe) & (table["model"] == model)]
        assert list(curve.get_xdata()) == list(range(7))
        assert list(curve.get_ydata()) == rows["value"].tolist()
    names = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert set(names) == {SYSTEMS[key].name for key in keys}
    heights = sorted(names.values())
    assert min(np.diff(heights)) > 0.06
    (empty,) = probe_distances(table.assign(value=np.nan)).axes
    assert empty.texts[0].get_text() == "No case at any distance."


def test_the_structural_probe_by_layer():
    table = layer_rows(6)
    (ax,) = probe_layers(table).axes
    for curve, measure in zip(marks(ax, "layers"), ("UUAS", "Spearman"), strict=True):
        rows = table[table["measure"] == measure]
        assert list(curve.get_xdata()) == rows["layer"].tolist()
        assert list(curve.get_ydata()) == rows["value"].tolist()
    assert [list(line.get_xdata()) for line in marks(ax, "chosen")] == [[3], [3]]
    assert len(ax.collections) == 2
    # Nothing is drawn of a measure that could not be taken.
    table.loc[table["measure"] == "Spearman", "value"] = np.nan
    (ax,) = probe_layers(pd.DataFrame(table)).axes
    assert [text.get_text() for text in ax.texts] == ["UUAS"]
