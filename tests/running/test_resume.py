"""A run that was killed goes on where it was; a changed option measures again what depends on it, and nothing else."""

import json
from dataclasses import replace

import pandas as pd
import pytest
import safetensors.torch

from headscope.errors import OutputError
from headscope.present.study import open_study
from headscope.running import writing
from headscope.running.run_folder import stage_signature
from headscope.running.stages import stages_of
from headscope.running.writing import write_run
from headscope.scans.declarations.analysis_list import OF_STAGE, STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_masked_lm
from support.quick_probes import quick_probes

pytestmark = pytest.mark.slow

# What a run measures that is given everything but a table of pronouns, in order.
ALL = [name for name, stage in STAGES.items() if not stage.by_name and "gap" not in stage.corpora]


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quick_probes(passes=1):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("resume")


@pytest.fixture(scope="module")
def asked(folder):
    """Everything there is to measure, on corpora that are quickly read."""
    (folder / "dev.conllu").write_text(demo_conllu(1, 10), encoding="utf-8")
    (folder / "train.conllu").write_text(demo_conllu(101, 104), encoding="utf-8")
    (folder / "text.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n" * 8)
    return RunOptions(
        model=str(save_tiny_masked_lm(folder / "tiny")),
        other=str(save_tiny_masked_lm(folder / "other")),
        text=(str(folder / "text.txt"),),
        treebank=(str(folder / "dev.conllu"),),
        treebank_train=(str(folder / "train.conllu"),),
        coref=(str(folder / "dev.conllu"),),
        loss="mlm",
        controls=1,
        seeds=1,
        max_length=64,
    )


@pytest.fixture
def measured(monkeypatch):
    """The names of the stages that are measured, in order; a stage named in `stop` is killed before it begins."""
    names: list[str] = []
    stop: set[str] = set()
    plain = writing.measure_stage

    def record(stage, *given):
        if stage.name in stop:
            raise KeyboardInterrupt
        names.append(stage.name)
        return plain(stage, *given)

    monkeypatch.setattr(writing, "measure_stage", record)
    return names, stop


@pytest.fixture(scope="module")
def whole(asked, folder):
    """The run that nobody stopped."""
    write_run(prepare(asked), folder / "whole")
    return open_study(folder / "whole")


def test_each_stage_writes_the_tables_that_it_declares(whole):
    written = {name: set(stage["tables"]) for name, stage in whole.manifest["stages"].items()}
    declared = {name: OF_STAGE[name].tables(STAGES[name]) for name in ALL}
    assert written == {name: {schema.name for schema in schemas} for name, schemas in declared.items()}


def test_a_run_killed_at_each_stage_in_turn_comes_to_the_same_tables(asked, folder, whole, measured):
    names, stop = measured
    out = folder / "killed"
    for place, name in enumerate(ALL):
        stop.clear()
        stop.add(name)
        with pytest.raises(KeyboardInterrupt):
            write_run(prepare(asked), out)
        assert names == ALL[:place]
        if place:
            manifest = json.loads((out / "manifest.json").read_text())
            assert list(manifest["stages"]) == ALL[:place]
            assert manifest["complete"] is False
    stop.clear()
    write_run(prepare(asked), out)
    assert names == ALL
    study = open_study(out)
    assert study.manifest["complete"] is True
    assert list(study.tables) == list(whole.tables)
    for table in whole.tables:
        pd.testing.assert_frame_equal(study.table(table), whole.table(table))
    timed = ("created", "stages")
    assert {k: v for k, v in study.manifest.items() if k not in timed} == {
        k: v for k, v in whole.manifest.items() if k not in timed
    }
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    write_run(prepare(asked), out)
    assert names == ALL
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before


def test_a_stage_killed_while_it_writes_is_measured_again(asked, folder, measured, monkeypatch):
    """Tables of two runs are never taken for one: the manifest lets go of a stage before its tables change."""
    names, _ = measured
    out = folder / "torn"
    short = replace(asked, stages=("syntax",))
    write_run(prepare(short), out)
    with monkeypatch.context() as patched:
        patched.setattr(
            "headscope.running.writing.write_arrays", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "full"))
        )
        with pytest.raises(OSError, match="full"):
            write_run(prepare(replace(short, fold_labels=True)), out)
    assert open_study(out).manifest["stages"] == {}
    names.clear()
    write_run(prepare(short), out)
    assert names == ["syntax"]


def reached(change):
    """The stages that declare one of the options, or read the tables of one that does; the seed is everybody's."""
    names: list[str] = []
    for name in ALL:
        stage = STAGES[name]
        declared = change.keys() & {*stage.shaping(maps=False), "seed"}
        if declared or set(stage.after) & set(names):
            names.append(name)
    return names


@pytest.mark.parametrize(
    ("change", "one_of_them"),
    [
        ({"loss": "none"}, None),
        ({"fold_labels": True}, "syntax"),
        ({"strict": True}, "coref"),
        ({"packing": "single"}, "stats"),
        ({"controls": 0}, "behaviors"),
        ({"seeds": 2}, "probes"),
        ({"max_inputs": 9}, "map"),
        ({"seed": 1}, "stats"),
        ({"batch_size": 3}, None),
    ],
)
def test_what_a_changed_option_measures_again(asked, change, one_of_them):
    run, other = prepare(asked), prepare(replace(asked, **change))
    again = [name for name in ids(other) if ids(other)[name] != ids(run)[name]]
    assert again == [name for name in reached(change) if name in ids(other)]
    assert (one_of_them in again) == bool(again)


def test_a_changed_option_in_the_same_folder(asked, folder, whole, measured):
    names, _ = measured
    out = folder / "changed"
    small = replace(asked, stages=("stats", "syntax", "distances", "map"))
    write_run(prepare(small), out)
    drawn_earlier = out / "figures" / "figure-1.svg"  # earlier versions drew figures into the folder
    drawn_earlier.parent.mkdir()
    drawn_earlier.write_text("<svg/>")
    del names[:]
    write_run(prepare(replace(small, fold_labels=True)), out)
    assert names == ["syntax", "map"]
    pd.testing.assert_frame_equal(open_study(out).table("stats"), whole.table("stats"))
    # What a later run does not ask for stays.
    del names[:]
    write_run(prepare(replace(asked, stages=("coref",))), out)
    assert names == ["coref"]
    assert set(open_study(out).manifest["stages"]) == {"stats", "syntax", "coref", "distances", "map"}
    assert drawn_earlier.read_text() == "<svg/>"


def test_a_second_model_with_other_weights_under_its_name_is_compared_again(asked, folder, measured):
    names, _ = measured
    out, other = folder / "weights", str(folder / "second")
    save_tiny_masked_lm(folder / "second")
    small = replace(asked, other=other, stages=("stats", "compare"))
    write_run(prepare(small), out)
    first = open_study(out)
    assert (first.table("head_changes")["change"] == 0).all()
    weights = safetensors.torch.load_file(folder / "second" / "model.safetensors")
    changed = {name: 100 * each if "query" in name else each for name, each in weights.items()}
    safetensors.torch.save_file(changed, folder / "second" / "model.safetensors", metadata={"format": "pt"})
    del names[:]
    write_run(prepare(small), out)
    assert names == ["compare"]
    second = open_study(out)
    assert (second.table("head_changes")["change"] > 0).all()
    hashes = [each.manifest["signature"]["options"]["other"] for each in (first, second)]
    assert hashes[0]["weights"] != hashes[1]["weights"]
    assert {name: value for name, value in hashes[0].items() if name != "weights"} == {
        name: value for name, value in hashes[1].items() if name != "weights"
    }


def test_corpora_of_other_names_need_another_folder(asked, folder):
    out = folder / "names"
    short = replace(asked, stages=("syntax",))
    write_run(prepare(short), out)
    other = prepare(replace(short, treebank=asked.treebank_train))
    signature = open_study(out).manifest["signature"]["id"]
    with pytest.raises(OutputError) as refused:
        write_run(other, out)
    assert str(refused.value) == (
        f"{out} already holds a different run (tiny; dev.conllu; signature {signature}); give another --out, or "
        "delete that folder"
    )


def full_disk(*_, **__):
    raise OSError(28, "full")


def ids(run):
    found: dict[str, str] = {}
    for stage in stages_of(run):
        found[stage.name] = stage_signature(stage, run.signature, run.options, before=found)
    return found
