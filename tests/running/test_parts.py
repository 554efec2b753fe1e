"""A run in parts: each scans its shards, and together they give the run that one machine does."""

import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

from headscope.encoding import shards
from headscope.encoding.line_packing import Packer
from headscope.errors import InputError, OptionError, OutputError
from headscope.present.study import open_study
from headscope.running.parts import PART, check_options, check_parts, read_part_number, read_parts, write_part
from headscope.running.stages import measurement_of, shared_scans, stages_of
from headscope.running.writing import write_run
from headscope.scans import passes
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare, prepare_model_run
from headscope.scans.shard_checkpoint import SHARDS, Part
from headscope.storage.sealed import read_sealed, write_sealed
from soak import killing
from soak.tasks import answers, left_behind
from support.model_folders import save_tiny_masked_lm
from support.scanning import scanning_stages, shards_of
from support.small_runs import sharded_options

PARTS = 3
GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "own-1\tAnna met Clara when she left.\tshe\t20\tAnna\t0\tTRUE\tClara\t9\tFALSE\tx\n"
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    (folder / "gap.tsv").write_text(GAP)
    return sharded_options(
        folder,
        repeats=40,
        documents=12,
        coref=(str(folder / "dev.conllu"), str(folder / "gap.tsv")),
        controls=1,
        shuffled=True,
        other=str(save_tiny_masked_lm(folder / "other")),
        stages=tuple(dict.fromkeys(stage.request_name for stage in [*scanning_stages(), STAGES["map"]])),
        shard_minutes=RunOptions.shard_minutes,
    )


SHARD = 150
small_shards = shards_of(SHARD)


@pytest.fixture(scope="module")
def folders(asked, tmp_path_factory):
    """The parts, finished; tests that change one take a copy."""
    base = tmp_path_factory.mktemp("finished")
    for number in range(1, PARTS + 1):
        assert write_part(prepare_model_run(asked), base / str(number), Part(number, PARTS)) > 3
    return [base / str(number) for number in range(1, PARTS + 1)]


@pytest.fixture
def computed(monkeypatch):
    """The numbers of the shards that are computed."""
    numbers: list[int] = []
    plain = passes.compute_shard
    monkeypatch.setattr(
        passes,
        "compute_shard",
        lambda shard, *given, **more: numbers.append(shard.number) or plain(shard, *given, **more),
    )
    return numbers


@pytest.fixture
def summed(monkeypatch):
    """What shards are computed for, by the classes of accumulators, as often as they are."""
    kinds: list[type] = []
    plain = passes.compute_shard

    def computing(shard, source, like, **more):
        kinds.extend(type(each) for sums in like for each in sums.accumulators)
        return plain(shard, source, like, **more)

    monkeypatch.setattr(passes, "compute_shard", computing)
    return kinds


@pytest.mark.long
def test_the_parts_give_the_tables_of_one_run(asked, folders, tmp_path, summed):
    """Value by value, and to the digit; what needs the results of other stages is scanned by whoever joins."""
    run = prepare(asked)
    scans = [scan for stage in stages_of(run) for scan in measurement_of(stage, run).scans()]
    at_the_join = {type(each) for scan in scans if scan.local for each in scan.accumulators}
    found = read_parts(folders)
    check_parts(found, run.signature["id"])
    write_run(run, tmp_path / "joined", parts=[each.folder for each in found])
    assert set(summed) == at_the_join
    write_run(prepare(asked), tmp_path / "whole")
    assert len(set(summed)) > 10
    joined, whole = open_study(tmp_path / "joined"), open_study(tmp_path / "whole")
    assert list(joined.tables) == list(whole.tables)
    for table in whole.tables:
        pd.testing.assert_frame_equal(joined.table(table), whole.table(table), check_exact=True)
    assert answers(tmp_path / "joined") == answers(tmp_path / "whole")


@pytest.mark.slow
def test_every_stage_that_declares_a_scan_is_scanned_in_shards(asked, folders):
    """A stage that scanned in another way would be scanned by whoever joins the parts, as one that needs results is."""
    run = prepare(asked)
    kept = {path.name.split(".")[0] for folder in folders for path in (folder / SHARDS).iterdir()}
    assert kept == {
        stage.name for stage in scanning_stages() if not all(scan.local for scan in measurement_of(stage, run).scans())
    }
    scans = {path.name.split(".")[1] for path in (folders[0] / SHARDS).glob("syntax.*")}
    assert scans == {"trained", "control-0", "shuffled"}


def test_a_part_makes_inputs_of_its_own_documents_alone(asked, tmp_path, monkeypatch):
    """Of text; each document is made into inputs by one part, and by no other."""
    seen: list[list[str]] = []
    plain = Packer.pack

    def noting(self, documents, **how):
        given = list(documents)
        seen[-1].extend(document.id for document in given)
        return plain(self, given, **how)

    monkeypatch.setattr(Packer, "pack", noting)
    for number in range(1, PARTS + 1):
        seen.append([])
        write_part(prepare_model_run(replace(asked, stages=("stats",))), tmp_path / str(number), Part(number, PARTS))
    assert all(seen)
    assert len(set().union(*seen)) == sum(map(len, seen)) == 80


@pytest.mark.slow
def test_the_options_of_the_run_stand_in_its_parts(asked, folders):
    for number, each in enumerate(read_parts(folders), 1):
        assert each.part == Part(number, PARTS)
        assert each.options == replace(asked, packing="pretraining")  # as the model has it


@pytest.mark.slow
def test_a_part_that_was_killed_goes_on_with_its_shards(asked, folders, tmp_path, computed):
    out = tmp_path / "killed"
    part = Part(1, PARTS)
    trap = killing.kill_at_rename(8, after=False)  # when two shards of all that share a scan are kept

    def write_in_small_shards():
        shards.SHARD_TOKENS = SHARD  # the other process does not share this one's patches
        write_part(prepare_model_run(asked), out, part)

    assert not killing.run(write_in_small_shards, before=trap)
    with pytest.raises(InputError) as refused:
        read_parts([out, *folders[1:]])
    assert str(refused.value) == f"part 1/{PARTS} in {out} is not finished; run its command again first"
    kept = {path.name for path in (out / SHARDS).glob("*.safetensors")}
    assert len(kept) == 6
    write_part(prepare_model_run(asked), out, part)
    whole = {path.name: path.read_bytes() for path in (folders[0] / SHARDS).iterdir()}
    assert {path.name: path.read_bytes() for path in (out / SHARDS).iterdir()} == whole
    # What several stages lack of a shard of text is computed once.
    run = prepare_model_run(asked)
    shared = {
        f"{stage.name}.{scan.name}": name
        for stage in scanning_stages()
        for name, scan in shared_scans(stage, run).items()
    }
    lacking = [name.split(".") for name in whole.keys() - kept]
    scans = [(f"{stage}.{scan}", number) for stage, scan, number, _ in lacking]
    assert len(computed) == len({(shared.get(scan, scan), number) for scan, number in scans})
    assert left_behind(out) == []


@pytest.mark.slow
def test_what_is_no_part_of_the_run_is_refused(asked, folders, tmp_path):
    cases = [
        (
            [folders[0], folders[2], folders[0]],
            f"the run has {PARTS} parts; lacking: 2/{PARTS}; give their folders too",
        ),
        (
            [*folders, tmp_path],
            f"{tmp_path} holds no part of a run; expected a folder that headscope report --shard wrote",
        ),
    ]
    other = tmp_path / "other"
    shutil.copytree(folders[0], other)
    about = read_sealed(other / PART, remedy="").content
    write_sealed(other / PART, {**about, "signature": "0123456789abcdef"})
    cases.append(
        (
            [folders[0], other],
            f"{other} is a part of another run than {folders[0]}; give the folders of the parts of one",
        )
    )
    torn = tmp_path / "torn"
    shutil.copytree(folders[0], torn)
    (torn / PART).write_text(json.dumps({**about, "of": 2}))
    damaged = f"{torn / PART} is damaged; run that part again with another --out"
    cases.append(([torn], damaged))
    for given, words in cases:
        with pytest.raises(InputError) as refused:
            read_parts(given)
        assert str(refused.value) == words
    write_sealed(torn / PART, {"part": "one"})
    with pytest.raises(InputError) as refused:
        read_parts([torn])
    assert str(refused.value) == damaged
    with pytest.raises(InputError) as refused:
        check_parts(read_parts(folders), "0123456789abcdef")
    signature = about["signature"]
    assert str(refused.value) == (
        f"{folders[0]} is a part of the run {signature}, and its text, model and options now make 0123456789abcdef: "
        "one of them has changed; run the parts again"
    )


@pytest.mark.slow
def test_a_folder_of_something_else_is_no_place_for_a_part(asked, folders, tmp_path):
    run = prepare_model_run(asked)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OutputError) as refused:
        write_part(run, tmp_path, Part(1, PARTS))
    assert str(refused.value) == (
        f"{tmp_path} holds other files and no part of a run; give --out a new or empty folder"
    )
    with pytest.raises(OutputError) as refused:
        write_part(run, folders[0], Part(2, PARTS))
    assert str(refused.value) == (
        f"{folders[0]} already holds part 1/{PARTS} of a run (signature {run.signature['id']}); give another --out, or "
        "delete that folder"
    )
    with pytest.raises(OutputError, match="holds other files and no headscope run"):
        write_run(run, folders[0])


@pytest.mark.parametrize("given", ["", "2", "0/3", "4/3", "a/3", "1/3/5", "-1/3", "1/0", "1 / 3", "1/1000000"])
def test_what_is_no_number_of_a_part(given):
    with pytest.raises(OptionError) as refused:
        read_part_number(given)
    assert str(refused.value) == (
        f"--shard {given!r} is not a part of a run; expected the number of one and of all, as 2/8"
    )


def test_numbers_of_parts():
    assert read_part_number("2/8") == Part(2, 8)
    parts = [read_part_number(f"{number}/3") for number in (1, 2, 3)]
    for shard in range(7):
        assert [part.has(shard) for part in parts].count(True) == 1


def test_what_cannot_be_read_by_every_part_is_refused(asked, tmp_path):
    check_options(asked)
    with pytest.raises(OptionError) as refused:
        check_options(replace(asked, text=("-",)))
    assert str(refused.value) == "--shard needs text that every part can read; give a file in place of a pipe"
    with pytest.raises(OptionError) as refused:
        check_options(RunOptions(maps=tmp_path))
    assert str(refused.value) == (
        "--shard is for a model that reads text; saved maps are read at once: leave one of the two out"
    )
