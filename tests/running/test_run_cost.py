"""What a run would take: its passes counted as a run makes them, nothing measured or written."""

from dataclasses import replace

import pytest

from headscope.errors import OptionError
from headscope.running.run_cost import PassCost, RunCost, run_cost
from headscope.running.stages import measure
from headscope.scans import scan_runner
from headscope.scans.prepare.prepared_run import prepare, prepare_model_run
from support.commands import run_command
from support.small_runs import sharded_options


@pytest.fixture
def options(tmp_path):
    return sharded_options(
        tmp_path,
        repeats=12,
        documents=10,
        controls=2,
        loss="none",
        stages=("stats", "behaviors", "syntax", "importance"),
    )


def test_its_passes_are_those_of_the_run(options, monkeypatch):
    """As many as `scan_shards` is called for; of each with a limit as many inputs as are read."""
    cost = run_cost(prepare_model_run(options))
    read = []
    plain = scan_runner.scan_shards

    def counting(source, accumulators, **given):
        counted = []
        progress = given.pop("progress")
        seconds = plain(
            source,
            accumulators,
            progress=lambda counts: (counted.append(counts), progress and progress(counts)),
            **given,
        )
        read.append(counted[-1].segments)
        return seconds

    monkeypatch.setattr(scan_runner, "scan_shards", counting)
    monkeypatch.setattr("headscope.scans.scan_runner.scan_shards", counting)
    list(measure(prepare(options), watch=lambda progress: None))
    assert [each.inputs for each in cost.passes] == read
    assert cost.passes[0].label == "text, for stats, behaviors"
    assert [each.label for each in cost.passes[1:3]] == ["behaviors: control 1 of 2", "behaviors: control 2 of 2"]


def test_a_long_text_is_judged_by_its_first_shard(options, monkeypatch):
    monkeypatch.setattr("headscope.encoding.shards.SHARD_TOKENS", 60)
    monkeypatch.setattr("headscope.encoding.shards.SHARD_TOKENS", 60, raising=False)
    run = prepare_model_run(replace(options, treebank=(), coref=(), stages=("stats",)))
    cost = run_cost(run)
    whole = sum(1 for _ in prepare_model_run(replace(options, treebank=(), coref=(), stages=("stats",))).segments())
    assert cost.documents == 24
    assert cost.passes[0].inputs == pytest.approx(whole, rel=0.25)


def test_the_model_is_told(options):
    run = prepare_model_run(replace(options, stages=("stats",)))
    cost = run_cost(run)
    assert cost.parameters == sum(each.numel() for each in run.loaded.model.parameters())
    assert cost.weight_bytes == 4 * cost.parameters
    assert cost.seconds > 0


def test_its_lines():
    cost = RunCost(
        parameters=7_241_732_096,
        weight_bytes=14_483_464_192,
        peak_bytes=16_000_000_000,
        kept_bytes=30_000_000,
        documents=1_000,
        tokens=128_000,
        seconds=0.5,
        passes=(PassCost("text, for stats", 1_000), PassCost("control 1 of 1", 64)),
        unscanned=("map",),
    )
    assert list(cost.lines()) == [
        "model: 7,241,732,096 parameters, 14.5 GB of weights; 16.0 GB of memory while a batch was read",
        "text: 1,000 documents, about 1,000 inputs, 128,000 tokens",
        "pass: text, for stats, 1,000 inputs, about 8 min",
        "pass: control 1 of 1, 64 inputs, about 32 s",
        "not timed: map",
        "time: about 9 min of reading, 500.0 ms an input, timed on a batch of this text; fits, figures and pages "
        "come on top",
        "disk: about 30.0 MB of sums while it goes on",
    ]


def test_the_command_writes_nothing(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    code, out, _ = run_command("report", "--text", *options.text, "--model", options.model, "--dry-run", "--quiet")
    assert code == 0
    lines = out.splitlines()
    assert [line.partition(":")[0] for line in lines][:3] == ["model", "text", "pass"]
    assert [line.partition(":")[0] for line in lines][-2:] == ["time", "disk"]
    assert sorted(tmp_path.iterdir()) == before


def test_saved_maps_are_refused(tmp_path):
    (tmp_path / "index.json").touch()
    code, _, err = run_command("report", "--maps", tmp_path, "--dry-run", "--quiet")
    assert (code, err.strip()) == (
        2,
        "headscope: --dry-run times a model; saved maps are read without one: leave one of the two out",
    )


def test_what_a_run_refuses_is_refused(options):
    with pytest.raises(OptionError, match="loss clm is for decoders"):
        run_cost(prepare_model_run(replace(options, loss="clm", stages=("importance",))))
