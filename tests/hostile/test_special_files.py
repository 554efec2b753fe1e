"""A device, a FIFO or a socket in place of a file of a run, maps, sums or a model is refused without hanging.

The tests list the files by walking the written folders.
"""

import shutil
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import pytest

from headscope.errors import HeadscopeError, InputError, ModelError, OutputError
from headscope.maps.maps_source import MapsSource
from headscope.maps.unpickling import read_plain_pickle
from headscope.models.load_model import load_model
from headscope.present.study import open_study
from headscope.reporting.atlas_files import run_report
from headscope.running.parts import read_parts, write_part
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from headscope.scans.shard_checkpoint import SHARDS, Part
from headscope.storage.bounded import UnreadableFileError, read_json, read_regular
from headscope.storage.lock import lock_of, place_held
from headscope.storage.sealed import read_checked
from support.commands import run_command
from support.hostile_model_folders import copied, whole_folder
from support.maps_folders import whole as whole_maps
from support.small_runs import STAGES, STORY
from support.special_files import KINDS, guarded, put_in_place

AGAIN = "give the same headscope command with --out {run} again, which measures that part anew"
WITHOUT_MANIFEST = "run again with another --out; the tables in {run}/tables are Parquet, which can be read without it"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    base = tmp_path_factory.mktemp("special")
    (base / "text.txt").write_text(STORY)
    return base


@pytest.fixture(scope="module")
def options(base):
    return RunOptions(
        model=str(whole_folder()), text=(str(base / "text.txt"),), packing="single", max_length=32, stages=tuple(STAGES)
    )


@pytest.fixture(scope="module")
def run(base, options):
    return run_report(options, out=base / "run").path


@pytest.fixture(scope="module")
def part(base, options):
    write_part(prepare_model_run(options), base / "part", Part(1, 1))
    return base / "part"


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def copies(folder, tmp_path):
    """Yield a copy of a folder for each of its files and each kind of special file, with its name in messages."""
    for number, name in enumerate(files_in(folder)):
        for kind in KINDS:
            copy = tmp_path / f"{number}" / "it"
            shutil.copytree(folder, copy)
            yield copy, name, put_in_place(copy / name, kind)
            shutil.rmtree(copy.parent)


def read_all(folder):
    study = open_study(folder)
    for table in study.tables:
        study.table(table)
    return study.summary()


@pytest.mark.slow
def test_every_file_of_a_run_is_refused_by_readers_or_not_read(run, tmp_path):
    refused = set()
    for copy, name, called in copies(run, tmp_path):
        with guarded():
            try:
                read_all(copy)
                continue
            except InputError as error:
                said = str(error)
        refused.add(name)
        remedy = WITHOUT_MANIFEST.format(run=copy) if name == "manifest.json" else AGAIN.format(run=copy)
        assert said == f"{copy / name} is {called}; expected a regular file; {remedy}"
    assert refused == {name for name in files_in(run) if name.startswith(("manifest", "tables/"))}


@pytest.mark.slow
def test_a_run_does_not_write_over_them(run, options, tmp_path):
    """The run is refused before anything is measured; the folder stays unchanged."""
    for (copy, name, called), _ in zip(copies(run, tmp_path), range(40)):
        if name == "manifest.json":
            continue  # it is read first, see the next test
        with guarded(), pytest.raises(OutputError) as refused:
            run_report(options, out=copy)
        assert f" is {called}; expected a folder of results with regular files alone: remove it, " in str(refused.value)
        assert not (copy / name).is_file()


@pytest.mark.slow
def test_a_run_writes_nothing_where_a_link_in_its_folder_leads(run, options, tmp_path):
    failed = []
    for folder in ("tables", "state", "atlas"):
        copy, other = tmp_path / folder / "run", tmp_path / folder / "other"
        shutil.copytree(run, copy)
        (copy / folder).rename(other)
        (copy / folder).symlink_to(other)
        for path in other.rglob("*"):
            if path.is_file():
                path.write_text("another's")
        with pytest.raises(OutputError) as refused:
            run_report(options, out=copy)
        if not str(refused.value).startswith(f"{copy / folder} is a link to another folder; expected "):
            failed.append(str(refused.value))
        failed += [path for path in other.rglob("*") if path.is_file() and path.read_text() != "another's"]
    assert not failed


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_does_not_go_on_over_its_manifest(kind, run, options, tmp_path):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    called = put_in_place(copy / "manifest.json", kind)
    with guarded(), pytest.raises(InputError) as refused:
        run_report(options, out=copy)
    remedy = WITHOUT_MANIFEST.format(run=copy)
    assert str(refused.value) == f"{copy / 'manifest.json'} is {called}; expected a regular file; {remedy}"


@pytest.mark.slow
def test_each_command_that_reads_a_run(run, tmp_path):
    for name in ("manifest.json", "tables/stats.parquet"):
        for kind in KINDS:
            copy = tmp_path / "run"
            shutil.copytree(run, copy)
            called = put_in_place(copy / name, kind)
            for arguments in (
                ("atlas", copy, "--out", tmp_path / "site"),
                ("explore", "--study", copy, "--no-browser"),
                ("export", copy, "--out", tmp_path / "paper"),
            ):
                with guarded():
                    code, out, err = run_command(*arguments)
                assert (code, out) == (2, "")
                assert f"{copy / name} is {called}; expected a regular file; " in err
            shutil.rmtree(copy)


def test_every_file_of_saved_maps(tmp_path):
    class Nothing:
        def begin(self, batch): ...
        def update(self, tile): ...
        def end(self, batch): ...

    for copy, name, called in copies(whole_maps(tmp_path / "maps"), tmp_path):
        with guarded(), pytest.raises(InputError) as refused:
            MapsSource(copy).run(Nothing(), {"weights", "statistics"})
        problem = f"is {called}; expected a regular file"
        assert str(refused.value) in (
            f"{copy / name} is damaged (it {problem}); extract the maps again",
            f"{copy / name} {problem}; copy the whole folder again, or extract the maps again",
        )


@pytest.mark.slow
def test_the_sums_of_a_part_of_a_run(part, tmp_path):
    """Sums whose files are special are computed again."""
    sums = [name for name in files_in(part) if name != "part.json"]
    assert [name for name in sums if not name.startswith(SHARDS)] == []
    copy = tmp_path / "part"
    shutil.copytree(part, copy)
    for name, kind in zip(sums, cycle(KINDS)):
        put_in_place(copy / name, kind)
        with guarded():
            assert read_checked(copy / name) is None
    with guarded(seconds=300):
        code, _, err = run_command("merge", copy, "--out", tmp_path / "merged", "-q")
    assert code == 0, err
    read_all(tmp_path / "merged")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_says_which_part_it_is(kind, part, tmp_path):
    copy = tmp_path / "part"
    shutil.copytree(part, copy)
    called = put_in_place(copy / "part.json", kind)
    with guarded(), pytest.raises(InputError) as refused:
        read_parts([copy])
    remedy = "run that part again with another --out"
    assert str(refused.value) == f"{copy / 'part.json'} is {called}; expected a regular file; {remedy}"


def test_every_file_of_a_model(tmp_path):
    for number, name in enumerate(files_in(whole_folder())):
        for kind in KINDS:
            (tmp_path / f"{number}-{kind}").mkdir()
            made = copied(tmp_path / f"{number}-{kind}")
            called = put_in_place(made / name, kind)
            with guarded(), pytest.raises(ModelError) as refused:
                load_model(made)
            # A link's own FIFO lies in the folder too.
            advice = "copy or download the folder again, or save it again with save_pretrained"
            assert str(refused.value).endswith(f" is {called}; expected a regular file; {advice}")


def test_a_pickle(tmp_path):
    for number, kind in enumerate(KINDS):
        path = tmp_path / f"{number}.pkl"
        called = put_in_place(path, kind)
        with guarded(), pytest.raises(InputError) as refused:
            read_plain_pickle(path)
        give = "give a pickle of the original code, as unlabeled_attn.pkl"
        assert str(refused.value) == f"{path} is {called}; expected a regular file; {give}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_is_no_file(kind, tmp_path):
    """Whether the lock is taken or refused, the call does not block."""
    put_in_place(lock_of(tmp_path / "out"), kind)
    with guarded(), suppress(OutputError, OSError), place_held(tmp_path / "out"):
        pass


# --- messages of the reader itself


def problem_of(action, *given, **how):
    with pytest.raises(UnreadableFileError) as refused:
        action(*given, **how)
    assert isinstance(refused.value, HeadscopeError)
    assert str(refused.value).endswith(f" {refused.value.problem}; put the file itself there, or make it again")
    return refused.value.problem


def test_what_the_reader_says(tmp_path):
    path = tmp_path / "x.json"
    path.write_text('{"a": [1, 2]}')
    assert read_json(path, most=13) == {"a": [1, 2]}
    assert problem_of(read_json, path, most=12) == "has 13 bytes; expected at most 12"
    assert problem_of(read_json, path, most=13, depth=1) == "is nested more than 1 deep"
    assert problem_of(read_json, path, most=13, parts=1) == "has more than 1 lists and objects"
    assert problem_of(read_json, tmp_path, most=13) == "is a folder; expected a regular file"
    path.write_bytes(b"\xff")
    assert problem_of(read_json, path, most=13).startswith("is not JSON ('utf-8' codec can't decode byte 0xff")
    path.write_text("9" * 5000)
    assert problem_of(read_json, path, most=5000) == "is not JSON (a number has thousands of digits)"
    path.write_text("[" * 5000)
    assert problem_of(read_json, path, most=5000) == "is nested more than 50 deep"
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "none", most=1)


def test_a_file_of_the_system_that_has_no_size_and_no_end():
    """The file has size 0 but yields more bytes."""
    assert problem_of(read_regular, Path("/proc/self/maps"), most=100) == "has 101 bytes; expected at most 100"
