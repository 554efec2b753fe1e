"""Statistics of what heads write, against a plain loop, and what becomes of roles by them."""

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.analyses.measurement import StageResult
from headscope.analyses.norms.compute import NormAccumulator
from headscope.analyses.stats.compute import stats_table
from headscope.analyses.stats.facts import PAGE, PARTS
from headscope.analyses.stats.norm_roles import roles_by_norm
from headscope.analyses.stats.output import render_results
from headscope.analyses.stats.sums import NormStatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.row_quantities import OFFSETS
from headscope.attention.scan import scan
from headscope.encoding.vocabulary import KeyClass
from headscope.statistics.roles import roles
from headscope.statistics.statistic import Rows
from headscope.statistics.statistic_catalog import NAMES, STATISTICS
from headscope.statistics.tables.frames import MEASURES, of_measure
from support import mock_inputs
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments, vocabulary
from support.listened import listened, output_projections
from support.measured import about, blank_figures, with_parts
from support.page_tables import Tables
from support.tiny_models import tiny_model

UNKNOWN = "so roles are by attention weights alone."
SEGMENTS = made_up_segments(14, seed=5, longest=11)


def measured(model, known, *, path=None, size=5, tile_limit=1 << 26):
    anatomy = examine(model, known, path=path)
    batches = [SEGMENTS[i : i + size] for i in range(0, len(SEGMENTS), size)]
    source = ModelSource(model, anatomy, known, batches, tile_limit=tile_limit)
    sums = NormStatsAccumulator(anatomy.layout)
    scan(source, [sums, NormAccumulator(anatomy.layout)])
    return sums


def of_row(shares, row, classes):
    """Every quantity of one row, by the definitions."""
    keys = len(shares)
    found = {
        quantity.name.lower(): sum(shares[row + offset] for offset in offsets if 0 <= row + offset < keys)
        for quantity, offsets in OFFSETS.items()
    } | {"entropy": -sum(p * np.log(p) for p in shares if p > 0), "max_weight": max(shares), "sink_logit": 0.0}
    for name in ("cls", "sep", "period_comma"):
        found[name] = sum(p for p, own in zip(shares, classes, strict=True) if own == KeyClass[name.upper()])
    any_kind = (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION)
    found["punctuation"] = sum(p for p, own in zip(shares, classes, strict=True) if own in any_kind)
    return found


def looped(model, known, projections):
    """Every statistic of every head, in float64: segment by segment, row by row, key by key."""
    found = {}
    for info, calls in listened(model, SEGMENTS, known):
        classes = info.classes[0].tolist()
        for layer, (weights, value) in enumerate(calls):
            heads, rows, keys = weights.shape
            matrix = projections[layer].weight.detach().double().T
            width = value.shape[-1]
            for head in range(heads):
                own = matrix[head * width : (head + 1) * width]
                length = [float((value[head * value.shape[0] // heads, key] @ own).norm()) for key in range(keys)]
                by_statistic = {name: [] for name in NAMES}
                for row in range(rows):
                    written = [float(weights[head, row, key]) * length[key] for key in range(keys)]
                    if sum(written) == 0:
                        continue
                    told = of_row([one / sum(written) for one in written], row, classes)
                    for name, one in STATISTICS.items():
                        wanted = one.rows.key_class
                        if wanted is None or (classes[row] == wanted) == one.rows.inside:
                            by_statistic[name].append(told[one.quantity.name.lower()])
                for name, values in by_statistic.items():
                    if values:
                        found.setdefault((layer + 1, head + 1, name), []).append(np.mean(values))
    return found


def check(table, expected):
    own = of_measure(table, "norm")
    for (layer, head, name), values in expected.items():
        (row,) = own[(own["layer"] == layer) & (own["head"] == head) & (own["statistic"] == name)].itertuples()
        if row.n_inputs:
            np.testing.assert_allclose(row.value, np.mean(values), rtol=1e-5, atol=1e-7, err_msg=str(row))
            assert row.n_inputs == len(values)
    means = own[own["head"].isna() & (own["n_inputs"] > 0)]
    assert len(means) > 10
    for row in means.itertuples():
        every = [v for place, v in expected.items() if (place[0], place[2]) == (row.layer, row.statistic)]
        values = [one for each in every for one in each]
        np.testing.assert_allclose(row.value, np.mean(values), rtol=1e-5, atol=1e-7)
        assert row.n_inputs == max(map(len, every))


@pytest.mark.parametrize("path", ["fused", "eager"])
@pytest.mark.parametrize("family", ["bert", "llama"])
def test_every_statistic_is_that_of_a_plain_loop(family, path):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    expected = looped(model, known, output_projections(model, family))
    for size, tile_limit in ((5, 1 << 26), (1, 200)):
        sums = measured(model, known, path=path, size=size, tile_limit=tile_limit)
        table = stats_table(sums.compute())
        check(table, expected)
        weight, norm = (of_measure(table, measure) for measure in MEASURES)
        # Uniform attention and the inputs are the same for both.
        np.testing.assert_allclose(norm["uniform"], weight["uniform"], rtol=1e-12)
        assert norm["n_inputs"].tolist() == weight["n_inputs"].tolist()
        assert not any(rows.any() for rows in sums.left_out.values())


@pytest.mark.parametrize("family", ["bert", "llama"])
def test_a_model_in_double_precision_is_measured_too(family):
    model, known = tiny_model(family), vocabulary(has_cls=family == "bert")
    single = of_measure(stats_table(measured(model, known, path="fused").compute()), "norm")
    double = of_measure(stats_table(measured(model.double(), known, path="fused").compute()), "norm")
    assert single["value"].notna().any()
    np.testing.assert_allclose(double["value"], single["value"], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("path", ["fused", "eager"])
def test_rows_of_which_nothing_is_written_are_left_out_and_counted(path):
    model, known = tiny_model("bert"), vocabulary()
    attention = model.encoder.layer[1].attention
    width = attention.self.attention_head_size
    with torch.no_grad():  # the second head of the second layer
        attention.output.dense.weight[:, width : 2 * width] = 0.0
    expected = looped(model, known, output_projections(model, "bert"))
    assert (2, 2, "entropy") not in expected
    sums = measured(model, known, path=path)
    table = stats_table(sums.compute())
    check(table, expected)
    own = of_measure(table, "norm")
    nothing = own[(own["layer"] == 2) & (own["head"] == 2)]
    assert nothing["value"].isna().all()
    assert (nothing["n_inputs"] == 0).all()
    (rows,) = sums.left_out.values()
    assert rows[1, 1] == sum(map(len, SEGMENTS))
    assert rows.sum() == rows[1, 1]
    # It has a role by its weights alone.
    assert (2, 2) not in {(one.layer, one.head) for one in roles_by_norm(table).itertuples()}
    assert (2, 2) in set(roles(table)[["layer", "head"]].itertuples(index=False, name=None))


def test_weights_stay_what_they_are():
    source = HandMadeSource(SEGMENTS, random_map)
    both = NormStatsAccumulator(source.layout)
    scan(source, [both])
    assert set(stats_table(both.compute())["measure"]) == {"weight", "norm"}


def test_a_model_outside_the_interface_has_weights_alone():
    model, known = tiny_model("bloom"), vocabulary(has_cls=False)
    table = stats_table(measured(model, known).compute())
    assert set(table["measure"]) == {"weight"}
    assert roles_by_norm(table).empty


def with_norms(made, *, moved):
    """A made-up run in which what is written is what is looked at, but for heads that write nothing of [CLS]."""
    stats = made.stats.copy()
    norm = stats.assign(measure="norm")
    at = [(layer, head) in moved for layer, head in zip(norm["layer"], norm["head"].fillna(0), strict=True)]
    norm.loc[np.array(at) & (norm["statistic"] != "entropy"), ["value", "ci_low", "ci_high"]] = 0.01
    return with_parts(made, stats=pd.concat([stats, norm], ignore_index=True))


def roles_section(context):
    """The page's section on roles, without pictures."""
    with blank_figures():
        return str(next(each.html for each in PAGE.sections(context) if each.name == "roles"))


def test_heads_whose_role_is_another_are_named_everywhere():
    made = mock_inputs.encoder(2, 4)
    named = roles(made.stats)
    (layer, head, role), *_ = named[~named["role"].isin(["mixed", "broad"])][["layer", "head", "role"]].itertuples(
        index=False, name=None
    )
    run = with_norms(made, moved={(layer, head)})
    context = about(run)
    (kind,) = context.kinds
    # Readers of before see the weights alone.
    pd.testing.assert_frame_equal(run.stats, made.stats)
    assert roles(run.tables["stats"]).equals(named)
    (other,) = [one for one in roles_by_norm(run.tables["stats"]).itertuples() if one.role != one.role_by_norm]
    assert (other.layer, other.head, other.role, other.norm) == (layer, head, role, 0.01)
    assert other.weight > 0.5
    label = context.words.roles
    sentences = [each.text for each in PAGE.findings(context) if "role" in each.text]
    assert sentences[-2:] == [
        "1 of 8 heads has another role in norm-weighted attention.",
        f"The role changes from {label[role]} to {label[other.role_by_norm]}, in 1 head: {layer}-{head}.",
    ]
    page = roles_section(context)
    (row,) = Tables(page).found["table-roles-written"][2:]
    assert (row[0], row[-1]) == (f"Head {layer}-{head}", "1.0 %")
    lines = PARTS.cards(run, kind)["written"]
    assert len(lines) == 8
    assert lines[(layer - 1) * 4 + head - 1].endswith(f"{100 * other.weight:.0f}%.")
    assert UNKNOWN not in page
    grid, legend = render_results(StageResult(name="stats", tables={"stats": run.tables["stats"]}))
    assert grid.titles[-1] == "by norm"
    assert {row[0]: row[-1] for row in grid.rows if row[-1] != "-"} == {f"{layer}-{head}": other.role_by_norm}
    assert "by norm" in legend


def test_where_it_is_not_known_the_page_says_so_and_the_terminal_has_no_column():
    made = mock_inputs.encoder(2, 4)
    context = about(made)
    assert UNKNOWN in roles_section(context)
    assert PARTS.cards(made, context.kinds[0]) == {"written": None}
    grid, legend = render_results(StageResult(name="stats", tables={"stats": made.stats}))
    assert grid.titles[-1] == "role"
    assert "norm" not in legend


def test_an_installed_statistic_of_some_rows_is_in_the_terminal_table(monkeypatch):
    """Built-in statistics of some rows are in the tables and the report alone; a user's own is shown."""
    name = next(each.name for each in STATISTICS.values() if each.rows is not Rows.ALL and not each.rare)
    stats = mock_inputs.encoder(2, 4).stats
    for installed in (frozenset(), frozenset({name})):
        monkeypatch.setattr("headscope.analyses.stats.output.INSTALLED", installed)
        grid, _ = render_results(StageResult(name="stats", tables={"stats": stats}))
        assert (any(title in grid.titles for title in (name, STATISTICS[name].heading) if title)) == bool(installed)
