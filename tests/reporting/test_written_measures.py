"""What heads write, as what heads can be colored and laid out by: every number is the tables'."""

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.for_report import functions_of, measures_of
from headscope.present.head_columns import head_columns
from support import mock_inputs
from support.measured import about
from support.mock_behaviors import with_behaviors
from support.mock_distribution import with_distribution
from support.mock_importance import with_importance
from support.mock_norms import with_norms
from support.mock_pca import with_pca


def by_name(run):
    context = about(run)
    return {one.name: one for one in measures_of(context)}, context


def test_behaviors_by_what_is_written_are_numbers_of_their_table():
    run = with_behaviors(mock_inputs.t5())
    found, context = by_name(run)
    table = run.tables.get("behaviors")
    own = table[(table["measure"] == "norm") & table["head"].notna() & (table["n_rows"] > 0)]
    written = {name for name in found if name.startswith("behaviors.") and name.endswith(".norm")}
    assert written == {f"behaviors.{name}.norm" for name in own["behavior"]}
    for kind in context.kinds:
        for name, rows in own[own["kind"] == kind.name].groupby("behavior"):
            one = found[f"behaviors.{name}.norm"]
            expected = rows.sort_values(["layer", "head"])["value"]
            np.testing.assert_array_equal(one.values[kind.name], expected)
            assert one.unit == ("tokens" if name == "distance" else "share")


def test_without_what_is_written_there_are_none():
    found, _ = by_name(with_behaviors(mock_inputs.section_4(2, 3), unwritten=None))
    assert not [name for name in found if name.endswith(".norm")]


def test_outputs_and_statistics_of_what_is_written():
    run = with_norms(mock_inputs.section_4(3, 4))
    stats = run.tables["stats"]
    written = stats.assign(measure="norm", value=stats["value"] / 2)
    run.tables["stats"] = pd.concat([stats, written], ignore_index=True)
    found, context = by_name(run)
    (kind,) = context.kinds
    norms = run.tables.get("norms")
    for name in ("output_norm", "output_norm_in_layer", "output_norm_in_stream"):
        rows = norms[(norms["statistic"] == name) & norms["head"].notna()].sort_values(["layer", "head"])
        np.testing.assert_array_equal(found[f"norms.{name}"].values[kind.name], rows["value"])
        assert found[f"norms.{name}"].unit
    for name in ("previous", "entropy"):
        rows = written[(written["statistic"] == name) & written["head"].notna()].sort_values(["layer", "head"])
        np.testing.assert_array_equal(found[f"stats.{name}.norm"].values[kind.name], rows["value"])
        assert found[f"stats.{name}.norm"].unit == ("share" if name == "previous" else "nats")


@pytest.mark.parametrize("add", [with_behaviors, with_norms, with_distribution, with_pca, with_importance])
def test_each_has_the_name_and_the_numbers_of_its_column_in_a_study(add):
    run = add(mock_inputs.section_4(2, 3))
    found, context = by_name(run)
    columns = head_columns(run.tables.get)
    assert found
    for name, measure in found.items():
        for kind, values in measure.values.items():
            of_kind = columns[columns["kind"] == kind].sort_values(["layer", "head"])
            np.testing.assert_array_equal(values, of_kind[name].astype(float), err_msg=name)
    shown = {scores.function.name for scores in functions_of(context.run) if not scores.function.is_relation}
    assert shown <= set(columns)
