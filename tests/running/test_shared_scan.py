"""A run reads its text once: stages that sum over it share a scan, and each stays as it would be by itself."""

import json
from collections import defaultdict
from dataclasses import replace

import pandas as pd
import pytest

from headscope.attention.model.model_pass import ModelPass
from headscope.present.study import open_study
from headscope.running import writing
from headscope.running.stages import measure, measure_stage, measurement_of, scan_runner, text_scan
from headscope.running.writing import write_run
from headscope.scans import passes
from headscope.scans.declarations.analysis import TEXT_INPUTS
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.prepare.prepared_run import prepare
from headscope.scans.shard_checkpoint import SHARDS
from soak.tasks import answers
from support.scanning import shards_of
from support.small_runs import sharded_options


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return sharded_options(
        tmp_path_factory.mktemp("shared"),
        repeats=20,
        stages=("stats", "norms", "importance", "distances", "map", "behaviors"),
        controls=0,
    )


@pytest.fixture(scope="module")
def sharing(asked):
    """The stages that have a scan of the text."""
    run = prepare(asked)
    return [name for name, stage in STAGES.items() if text_scan(stage, run) is not None]


small_shards = shards_of(60)


@pytest.fixture(scope="module")
def every(asked, sharing):
    """A run of all stages that share."""
    return replace(asked, stages=tuple(sharing))


@pytest.fixture(scope="module")
def shards():
    """The shards that the whole run computes."""
    return []


@pytest.fixture(scope="module")
def whole(every, shards, tmp_path_factory):
    """The folder of that run, which nobody stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    plain = passes.compute_shard
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            passes,
            "compute_shard",
            lambda shard, *given, **more: shards.append(shard.number) or plain(shard, *given, **more),
        )
        write_run(prepare(every), out)
    return out


@pytest.fixture
def read(monkeypatch):
    """The stages for which the same model read the same tokens."""
    found: dict[tuple[int, bytes], set[str]] = defaultdict(set)
    at = [""]
    plain, call = writing.measure_stage, ModelPass.call

    def measured(stage, *given):
        at[0] = stage.name
        return plain(stage, *given)

    def called(self, inputs, **more):
        for row, seen in zip(inputs["input_ids"], inputs["attention_mask"]):
            found[id(self.model), row[seen.bool()].numpy().tobytes()].add(at[0])
        return call(self, inputs, **more)

    monkeypatch.setattr(writing, "measure_stage", measured)
    monkeypatch.setattr(ModelPass, "call", called)
    return found


@pytest.fixture
def computed(monkeypatch):
    """For how many stages each shard was computed; with `at` reached, the run is stopped."""
    found, at = [], []
    plain = passes.compute_shard

    def compute(shard, source, like, **more):
        if at and len(found) == at[0]:
            raise KeyboardInterrupt
        found.append(len(like))
        return plain(shard, source, like, **more)

    monkeypatch.setattr(passes, "compute_shard", compute)
    return found, at


def same_but_for_rounding(out, other):
    """Weights and row statistics are made in other steps where both are asked for, in float32."""
    one, two = open_study(out), open_study(other)
    assert set(one.tables) <= set(two.tables)
    for table in set(one.tables) - {"explanation", "explanation_groups", "explanation_examples"}:
        pd.testing.assert_frame_equal(one.table(table), two.table(table), rtol=1e-4, atol=1e-5)
    if "explanation" in one.tables:
        # The same rows are explained. Rounding decides between groups that explain alike, as many do in a text of four
        # sentences over and over: what is explained differs by the two points within which groups are alike at most.
        explained = [study.table("explanation") for study in (one, two)]
        same = ["kind", "layer", "head", "measure", "model", "to_explain", "n_rows", "n_documents"]
        pd.testing.assert_frame_equal(*(table[same] for table in explained), rtol=1e-4, atol=1e-5)
        pd.testing.assert_series_equal(*(table["explained"] for table in explained), rtol=0, atol=0.02)


def test_which_stages_share(sharing):
    assert len(sharing) > 1
    of_others = {"controls", "spacing", "windows", "singletons", "features_hash"}
    for name in sharing:
        # They read the same inputs: nothing but these options shapes a scan of the text. How many controls there are is
        # no input; how words are spaced, and which windows and mentions are read, shapes annotated corpora alone; what
        # features a user adds is computed of the inputs.
        assert STAGES[name].corpora == ("text",)
        assert set(STAGES[name].options) - of_others == set(TEXT_INPUTS)


def test_nothing_is_read_twice(asked, tmp_path, read):
    write_run(prepare(asked), tmp_path / "out")
    # Which inputs have the clearest copies is known when all were read: these few are read again, for examples.
    again = [stages for stages in read.values() if "behaviors" in stages]
    assert 0 < len(again) <= len(read) / 10
    in_scans = [stages - {"behaviors"} for stages in read.values()]
    assert set().union(*in_scans) == {"stats", "importance"}
    assert [stages for stages in in_scans if len(stages) > 1] == []
    models = {model for model, _ in read}
    assert len(models) == 2  # importance's, with its head, reads the same text with tokens masked


def test_random_weights_read_the_same_sample_once_for_all(asked):
    """Behaviors and explanations draw the same inputs for the first control."""
    run = prepare(replace(asked, stages=("behaviors", "explanation"), controls=2))
    runner, number = scan_runner(run), [0, 0]
    plain = type(run).over

    def counted(self, *given, control=None, **more):
        if control is not None:
            number[control] += 1
        return plain(self, *given, control=control, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(run), "over", counted)
        sums = {name: runner.run(name, measurement_of(STAGES[name], run).scans()) for name in run.options.stages}
    assert number == [1, 1]
    assert all(set(of_stage) >= {"trained", "control-0"} for of_stage in sums.values())
    assert sums["explanation"]["control-0"][0].compute()["encoder"]


@pytest.mark.slow
def test_each_has_what_it_finds_by_itself(asked, whole, tmp_path, sharing):
    for stage in sharing:
        write_run(prepare(replace(asked, stages=(stage,))), tmp_path / stage)
        same_but_for_rounding(tmp_path / stage, whole)


@pytest.mark.slow
def test_a_finished_stage_is_not_computed_and_changes_no_digit(every, tmp_path, computed, sharing):
    """The table of one is damaged: it alone is computed again, to the same digits."""
    found, _ = computed
    write_run(prepare(every), tmp_path / "out")
    expected = answers(tmp_path / "out")
    number = len(found)
    assert found == [len(sharing)] * number
    for table in ("stats", "norms", "head_distances", "behaviors"):
        path = tmp_path / "out" / "tables" / f"{table}.parquet"
        path.write_bytes(path.read_bytes()[:-9])
        found.clear()
        write_run(prepare(every), tmp_path / "out")
        assert found == [1] * number
        again = answers(tmp_path / "out")
        # The manifest says what was damaged.
        assert {**again, "manifest.json": None} == {**expected, "manifest.json": None}


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_all(every, whole, shards, tmp_path, computed, sharing):
    found, at = computed
    number = len(shards)
    for stop in (1, 3):
        found.clear()
        at[:] = [stop]
        with pytest.raises(KeyboardInterrupt):
            write_run(prepare(every), tmp_path / "out")
    found.clear()
    at.clear()
    write_run(prepare(every), tmp_path / "out")
    assert found == [len(sharing)] * (number - 4)
    assert answers(tmp_path / "out") == answers(whole)


def test_stopped_between_stages_no_other_is_computed_again(every, whole, tmp_path, computed, monkeypatch):
    found, _ = computed
    plain = writing.measure_stage

    def measured(stage, *given):
        if stage.name == "distances":
            raise KeyboardInterrupt
        return plain(stage, *given)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "measure_stage", measured)
        with pytest.raises(KeyboardInterrupt):
            write_run(prepare(every), tmp_path / "out")
    finished = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))["stages"]
    kept = {path.name.partition(".")[0] for path in (tmp_path / "out" / SHARDS).iterdir()}
    assert finished.keys() & kept == set()
    assert finished
    assert kept
    found.clear()
    write_run(prepare(every), tmp_path / "out")
    assert found == []
    assert answers(tmp_path / "out") == answers(whole)


def test_each_has_a_clock(every, sharing):
    """What the first stage spent for another is the other's: neither has nothing, and nothing is counted twice."""
    run = prepare(every)
    runner = scan_runner(run)
    runner.run("stats", measurement_of(STAGES["stats"], run).scans())
    owed = {name: runner.owed(name) for name in sharing}
    assert min(owed[name] for name in sharing[1:]) > 0
    assert sum(owed.values()) == pytest.approx(0)
    results = {result.name: result.seconds for result in measure(run)}
    assert set(results) == set(sharing)
    assert min(results.values()) > 0


def test_a_stage_that_reads_by_itself_has_its_digits_too(asked):
    """A run in which nothing is shared, as whoever calls a stage has it."""
    run = prepare(replace(asked, stages=("stats",)))
    result = measure_stage(STAGES["stats"], run, {}, None)
    assert len(result.tables["stats"])
