"""The stage of behaviors: a model, its controls, saved maps by token and by word, and what the page says of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.behaviors import catalog, compute
from headscope.analyses.behaviors.catalog import NAMES, NATURAL
from headscope.analyses.behaviors.compute import stands_out
from headscope.analyses.behaviors.facts import PARTS
from headscope.analyses.behaviors.sums import BehaviorAccumulator
from headscope.models.in_memory import with_random_weights
from headscope.present.head_columns import head_columns
from headscope.running.extraction import MapOptions, extract
from headscope.running.stages import measure_stage
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare import prepared_run
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.scan_runner import ScanRunner
from headscope.statistics.inference.confidence import Interval
from headscope.statistics.tables.frames import of_measure
from support import mock_inputs
from support.measured import about, only, with_parts
from support.model_folders import save_tiny_bert

STORY = "\n\n".join(
    f'The {a} cat (a {b} one) sat by the {a} mat; "the {b} dog" came by.\nThe {b} cat slept: the {a} dog left.'
    for a in ("old", "red", "small", "wet")
    for b in ("big", "sad", "tame")
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("behaviors")
    (folder / "text.txt").write_text(STORY + "\n")
    return RunOptions(
        model=str(save_tiny_bert(folder / "tiny")),
        text=(str(folder / "text.txt"),),
        packing="single",
        max_length=64,
        controls=2,
        stages=("behaviors",),
    )


@pytest.fixture(scope="module")
def result(asked):
    return measure_stage(STAGES["behaviors"], prepare(asked), {}, None)


def heads_of(result, model="trained", measure="weight"):
    table = of_measure(result.tables["behaviors"], measure)
    return table[table["model"] == model].reset_index(drop=True)


def test_every_behavior_of_the_model_and_of_each_control(result):
    heads, best = result.tables["behaviors"], result.tables["behaviors_best"]
    assert set(heads.loc[heads["model"] == "control", "seed"]) == {0, 1}
    assert list(dict.fromkeys(heads["behavior"])) == list(NATURAL)
    own = heads_of(result).groupby("behavior")["n_rows"].max()
    assert (own[["newline", "blank"]] == 0).all()  # its vocabulary has none
    assert (own.drop(["newline", "blank"]) > 0).all()
    assert len(best) == 3 * 7
    for model in ("trained", "control"):  # and all of it by what is written
        written = heads_of(result, model, "norm")
        assert written["n_rows"].tolist() == heads_of(result, model)["n_rows"].tolist()
        assert written["value"].isna().tolist() == heads_of(result, model)["value"].isna().tolist()
    # The text is short enough for controls to read all of it, in the same rows.
    control = heads_of(result, "control")
    control = control[control["seed"] == 1].reset_index(drop=True)
    pd.testing.assert_series_equal(control["n_rows"], heads_of(result)["n_rows"])
    pd.testing.assert_series_equal(control["uniform"], heads_of(result)["uniform"])


def test_a_control_is_a_model_of_random_weights(asked, result):
    run = prepare(asked)
    run.loaded.model.load_state_dict(with_random_weights(run.loaded.model, seed=1).state_dict())
    sums = ScanRunner().run("behaviors", compute.BehaviorsMeasurement(run).scans())
    alone = sums.of(BehaviorAccumulator).compute()[0]
    own = heads_of(result, "control")
    own = own[(own["seed"] == 1) & own["head"].notna() & (own["behavior"] == "local")]
    found = alone.heads.value[..., NAMES.index("local")]
    np.testing.assert_allclose(own["value"].to_numpy(), found.reshape(-1), atol=1e-6)


def test_controls_read_a_part_of_a_long_text(asked, monkeypatch):
    monkeypatch.setattr(prepared_run, "FEW_INPUTS", 12)
    run = prepare(asked)
    table = measure_stage(STAGES["behaviors"], run, {}, None).tables["behaviors"]
    counts = table.groupby("model")["n_rows"].max()
    assert 0 < counts["control"] < counts["trained"]
    # What the manifest counts is the text, not a control's part of it.
    assert run.facts()["counts"]["segments"] == 24


def test_the_text_is_drawn_and_the_vocabulary_read_once_for_all_controls(asked, monkeypatch):
    run, calls = prepare(asked), []

    def noted(name, of):
        return lambda *given: calls.append(name) or of(*given)

    monkeypatch.setattr(run, "sample", noted("sample", run.sample))
    monkeypatch.setattr(catalog, "delimiters_of_tokenizer", noted("delimiters", catalog.delimiters_of_tokenizer))
    measure_stage(STAGES["behaviors"], run, {}, None)
    assert calls == ["delimiters", "sample"]
    calls.clear()
    run = prepare(replace(asked, controls=0))
    monkeypatch.setattr(run, "sample", noted("sample", run.sample))
    measure_stage(STAGES["behaviors"], run, {}, None)
    assert calls == ["delimiters", "sample"]


@pytest.mark.parametrize("by_word", [None, "mean"])
def test_saved_maps_give_the_same_numbers(asked, result, tmp_path, by_word):
    extract(asked, tmp_path / "maps", MapOptions(word_level=by_word))
    run = prepare(RunOptions(maps=tmp_path / "maps", stages=("behaviors",)))
    found = measure_stage(STAGES["behaviors"], run, {}, None)
    assert set(found.tables["behaviors"]["model"]) == {"trained"}
    assert set(found.tables["behaviors"]["measure"]) == {"weight"}  # they hold no values
    maps, model = heads_of(found), heads_of(result)
    if not by_word:
        np.testing.assert_allclose(maps["value"], model["value"], atol=2e-3)  # kept in half precision
        np.testing.assert_array_equal(maps["n_rows"], model["n_rows"])
        return
    told = maps.groupby("behavior")["n_rows"].max()
    assert (told[["duplicate", "induction", "bracket"]] == 0).all()
    assert (told[["first", "local", "distance"]] > 0).all()


def test_each_behavior_is_a_column_of_a_study(result):
    """Of the model alone; `study.heads` is made of it."""
    columns = head_columns(result.tables.get)
    for of, suffix in (("weight", ""), ("norm", ".norm")):
        own = heads_of(result, measure=of)
        local = own[(own["behavior"] == "local") & own["head"].notna()]
        np.testing.assert_array_equal(columns[f"behaviors.local{suffix}"], local["value"])
        assert {f"behaviors.{name}{suffix}" for name in NATURAL} <= set(columns)


def test_the_page_shows_each_behavior_that_can_occur(result):
    run = with_parts(mock_inputs.section_4(2, 2), **result.tables)
    found = PARTS.findings(about(run))
    page = only(PARTS.sections(about(run, found=found)))
    assert 'id="table-behaviors-best-encoder"' in page
    for name in ("Duplicate", "Induction", "Bracket"):
        assert f">{name}<" in page
    assert ">Newline<" not in page
    assert "mean distance, tokens" in page
    # Fresh random weights attend evenly: nothing but what lies everywhere is shown, and that is said.
    assert any("shows" in one.text for one in found)


def test_without_behaviors_there_is_no_section():
    assert PARTS.sections(about(mock_inputs.section_4(1, 2))) == []
    assert PARTS.findings(about(mock_inputs.section_4(1, 2))) == []


@pytest.mark.parametrize(
    ("low", "uniform", "expected"),
    [(0.26, 0.12, True), (0.25, 0.01, False), (0.6, 0.3, False), (0.61, 0.3, True), (np.nan, 0.1, False)],
)
def test_a_behavior_is_shown_by_the_whole_interval(low, uniform, expected):
    share = Interval(np.array([0.7]), np.array([low]), np.array([0.8]))
    assert stands_out(share, np.array([uniform])).tolist() == [expected]
