"""Damaged run folders: readers name the file and the remedy, a run measures it again, and no damaged data is used."""

import json
import shutil
from dataclasses import replace

import pandas as pd
import pytest

import headscope as hs
from headscope.app.api import head_atlas
from headscope.errors import HeadscopeError, InputError, OutputError
from headscope.present.study import open_study
from headscope.running import writing
from headscope.running.run_folder import FOLDERS
from headscope.running.writing import write_run
from headscope.scans.prepare.prepared_run import prepare
from headscope.storage.places import aside_of, lock_of, part_of
from support import hostile_run_folders as folders
from support.hostile import printable
from support.small_runs import STAGES, measured_once, remember, small_run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(base):
    return small_run(base)


@pytest.fixture(scope="module")
def found(run, base):
    return measured_once(run, base / "whole")


@pytest.fixture(scope="module")
def whole(found, base):
    return base / "whole"


@pytest.fixture
def measured(found, monkeypatch):
    return remember(found, monkeypatch)


def read_all(folder):
    study = hs.open_study(folder)
    for table in study.tables:
        study.table(table)
    return study.summary(), repr(study), study.roles, study._repr_html_(), study["entropy"]


def said_of(action, *given):
    """Return the message of a headscope error or of a missing table; None without an error."""
    try:
        action(*given)
    except HeadscopeError as error:
        return str(error)
    except KeyError as error:
        if "this study has" in str(error):
            return str(error)
        raise
    return None


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "manifest.json"
    }


def test_the_run_as_it_was_written(run, whole, measured):
    read_all(whole)
    before = files_of(whole)
    write_run(run, whole)
    assert measured == []
    assert files_of(whole) == before


def test_damaged_tables_are_refused_by_readers(whole, tmp_path):
    """Each message has the file's name and the same remedy; readers do not read the state files."""
    number = 0
    for case in folders.damaged_files(whole):
        copy = case.make(tmp_path / case.name)
        if "/state/" in str(copy) or case.name.startswith("state"):
            read_all(copy)
            continue
        with pytest.raises(InputError) as refused:
            read_all(copy)
        file = copy / case.name.split("-")[0]
        remedy = f"; give the same headscope command with --out {copy} again, which measures that part anew"
        assert str(refused.value) == f"{file} {case.says}{remedy}", case.name
        number += 1
        shutil.rmtree(copy.parent)
    assert number >= 60


def test_damaged_files_are_measured_again_with_a_word(run, whole, measured, tmp_path):
    entries = open_study(whole).manifest["stages"]
    for case in folders.damaged_files(whole):
        copy = case.make(tmp_path / case.name)
        file = case.name.split("-")[0]
        (stage,) = (name for name, entry in entries.items() if file in entry["files"])
        if (copy / file).is_dir():
            # A folder in the file's place may hold a user's files, so a run does not remove it.
            with pytest.raises(IsADirectoryError):
                write_run(run, copy)
            continue
        del measured[:]
        write_run(run, copy)
        assert measured == [stage], case.name
        assert files_of(copy) == files_of(whole)
        word = f"{file} was not as it was written: {stage} was measured again"
        assert word in open_study(copy).manifest["notes"], case.name
        if measured == ["stats"]:  # the note appears once
            write_run(run, copy)
            assert measured == [stage]
            assert word not in open_study(copy).manifest["notes"]
        shutil.rmtree(copy.parent)


def test_a_manifest_that_is_cut_off_costs_no_table(whole, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(whole, copy)
    (copy / "manifest.json").write_text((copy / "manifest.json").read_text()[:200])
    with pytest.raises(InputError) as refused:
        hs.open_study(copy)
    assert str(refused.value).endswith(
        f"; run again with another --out; the tables in {copy / 'tables'} are Parquet, which can be read without it"
    )
    assert len(pd.read_parquet(copy / "tables" / "stats.parquet"))


def test_damaged_manifests(run, whole, measured, tmp_path):
    """Readers refuse each manifest; a run repeats its own measurements and refuses other folders with a message."""
    number = again = 0
    for case in folders.damaged_manifests(whole):
        copy = case.make(tmp_path / case.name)
        with pytest.raises(InputError) as refused:
            read_all(copy)
        said = str(refused.value)
        assert said.startswith(str(copy / "manifest.json")), case.name
        assert case.says in said
        assert printable(said)
        assert "delete" not in said, case.name  # the tables are intact
        del measured[:]
        refusal = said_of(write_run, run, copy) if number % 3 == 0 else "not tried"
        if refusal is not None:
            assert printable(refusal), case.name
            assert measured == []
        else:
            assert measured == STAGES, case.name
            assert files_of(copy) == files_of(whole)
            notes = open_study(copy).manifest["notes"]
            assert "manifest.json was not as it was written: everything was measured again" in notes
            again += 1
        number += 1
        shutil.rmtree(copy.parent)
    assert number >= 150
    assert again >= 10


def test_forged_manifests_give_words_at_worst(whole, tmp_path):
    number = 0
    for case in folders.resealed_manifests(whole):
        copy = case.make(tmp_path / case.name)
        refusal = said_of(read_all, copy)
        assert refusal is None or printable(refusal), case.name
        number += 1
        shutil.rmtree(copy.parent)
    assert number >= 120


def test_each_reader_says_it_from_the_command_line(whole, tmp_path):
    from support.commands import run_command

    copy = tmp_path / "run"
    shutil.copytree(whole, copy)
    (copy / "tables" / "stats.parquet").write_bytes(b"PAR1")
    says = (
        f"headscope: {copy / 'tables' / 'stats.parquet'} was changed or damaged since the run wrote it; give the "
        f"same headscope command with --out {copy} again, which measures that part anew\n"
    )
    for arguments in (("atlas", copy, "--out", tmp_path / "site"), ("explore", "--study", copy, "--no-browser")):
        assert run_command(*arguments) == (2, "", says)
    with pytest.raises(InputError):
        head_atlas(copy, out=tmp_path / "site")
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize("place", ["", *FOLDERS])
def test_leftovers_of_kills_are_swept_and_never_in_the_way(place, run, whole, measured, tmp_path):
    """Temporary files of killed processes are removed, before the first manifest exists and after."""
    for out in (tmp_path / "new", tmp_path / "finished"):
        if out.name == "finished":
            shutil.copytree(whole, out)
        inner = out / place
        inner.mkdir(parents=True, exist_ok=True)
        for left in (part_of(inner / "manifest.json"), aside_of(inner / "x"), lock_of(out / "run")):
            left.write_bytes(b"half")
        part_of(inner / "folder").mkdir()
        if place and out.name == "new":  # a killed run leaves its manifest before anything else
            shutil.copy(whole / "manifest.json", out)
        write_run(run, out)
        assert files_of(out) == files_of(whole)
        assert [path for path in out.rglob("*") if "headscope" in path.name] == []
    assert measured == STAGES


def test_an_atlas_killed_before_its_first_page_is_in_nobodys_way(whole, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    part_of(site / "index.html").write_bytes(b"half")
    head_atlas(whole, out=site)
    assert [path.name for path in site.iterdir()] == ["index.html"]


def test_a_folder_that_goes_while_it_is_measured(run, measured, found, tmp_path, monkeypatch):
    out = tmp_path / "out"

    def removing(stage, *_):
        if stage.name == "distances":
            shutil.rmtree(out)
        return found[stage.name]

    monkeypatch.setattr(writing, "measure_stage", removing)
    with pytest.raises(OutputError) as refused:
        write_run(run, out)
    assert str(refused.value) == (
        f"{out} was removed or replaced while this run wrote to it; run the same command again, and leave the folder "
        "alone until it ends"
    )
    assert not out.exists()


def test_two_runs_at_once_never_mix(base, run, measured, found, tmp_path, monkeypatch):
    """A second run with another seed starts while the first measures: it is refused, and the folder holds the first
    run.
    """
    out = tmp_path / "out"
    other = prepare(replace(run.options, seed=1))
    said = []

    def meanwhile(stage, *_):
        import threading

        def second():
            try:
                write_run(other, out)
            except OutputError as refused:
                said.append(str(refused))

        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        return found[stage.name]

    monkeypatch.setattr(writing, "measure_stage", meanwhile)
    write_run(run, out)
    assert len(said) == 3
    assert all(f"{out} is being written by process " in each for each in said)
    assert json.loads((out / "manifest.json").read_text())["signature"]["seed"] == 0
    read_all(out)
