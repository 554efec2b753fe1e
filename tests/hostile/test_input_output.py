"""Every error of the file system becomes one sentence, and finished files are kept."""

import errno
import os
import resource
from contextlib import contextmanager

import pytest

from headscope.app.cli import program
from headscope.errors import OutputError
from headscope.models.task_heads import load_checkpoint, save_folder
from headscope.running.writing import write_run
from headscope.storage import atomic
from headscope.storage.atomic import whole_or_absent, write_bytes
from headscope.storage.files import in_words
from support.commands import run_command
from support.hostile_model_folders import copied
from support.small_runs import STAGES, measured_once, remember, small_run

AGAIN = "what was finished is kept: free space, check permissions or give another path, and run the same command again"


def error_of(number, name="/out/x"):
    return OSError(number, os.strerror(number), name)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["/out/x", b"/out/x", None])
def test_an_error_of_the_system_ends_the_command_line_with_a_sentence(name, number, monkeypatch):
    def fail(*_):
        raise error_of(number, name)

    monkeypatch.setattr(program, "run", fail)
    place = "a file" if name is None else "/out/x"
    message = f"headscope: cannot read or write {place}: {os.strerror(number)}; {AGAIN}\n"
    assert run_command("stats") == (2, "", message)


def test_no_memory_is_a_sentence(monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(program, "run", fail)
    assert run_command("stats") == (
        2,
        "",
        "headscope: the machine has no memory left for this; lower --batch-size and --max-length, or run less at "
        "once\n",
    )


def test_a_limit_on_the_size_of_files(tmp_path):
    """The refusal comes from the operating system itself."""
    path = tmp_path / "table"
    write_bytes(path, b"old")
    with files_of_at_most(1024), pytest.raises(OSError, match="File too large") as refused:
        write_bytes(path, b"x" * 4096)
    assert in_words(refused.value) == f"cannot read or write {path}: File too large; {AGAIN}"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@contextmanager
def files_of_at_most(size):
    """Limit the size of written files, which fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_each_file_of_a_model_that_cannot_be_written(tmp_path):
    """Libraries in Rust write weights and tokenizers, and their errors are not OSErrors."""
    loaded = load_checkpoint(copied(tmp_path))
    refused = {}
    for size in range(0, 40_000, 500):
        out = tmp_path / str(size)
        try:
            with files_of_at_most(size), whole_or_absent(out) as part:
                save_folder(part, loaded.model, loaded.tokenizer)
            break
        except OSError as error:
            refused[size] = (error.errno, error.filename)
        assert not out.exists()
    else:
        raise AssertionError("nothing was written")
    assert len(refused) > 10
    # Errors of files that Python has already opened have no file name.
    assert {number for number, _ in refused.values()} == {errno.EFBIG}
    names = {size: name for size, (_, name) in refused.items() if name is not None}
    assert names == {size: str(tmp_path / str(size)) for size in names}
    assert len(names) > 5


@pytest.mark.slow
@pytest.mark.parametrize("command", ["prune", "train"])
def test_a_command_that_writes_a_model_onto_a_full_disk(command, tmp_path):
    model, text, heads = copied(tmp_path), tmp_path / "text.txt", tmp_path / "heads.txt"
    text.write_text("the cat sat .\nit slept .\n\n" * 20)
    heads.write_text("1-1\n")
    given = {"prune": ("--heads", heads), "train": ("--text", text, "--steps", 2, "--max-length", 16)}[command]
    # config.json is shorter than the limit, the weights are longer.
    with files_of_at_most(8000):
        code, _, err = run_command(command, "--model", model, "--out", tmp_path / "out", *given)
    assert code == 2, err
    last = err.splitlines()[-1]
    assert last.startswith("headscope: cannot read or write ")
    assert "File too large" in last
    assert str(tmp_path / "out") in last
    assert "headscope-part" not in last
    assert not list(tmp_path.rglob("model.safetensors"))[1:]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return small_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def found(run, tmp_path_factory):
    return measured_once(run, tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC], ids=errno.errorcode.get)
def test_a_run_that_is_refused_at_each_write_in_turn_keeps_what_is_finished(number, run, found, tmp_path, monkeypatch):
    """For every n, after a failure of the n-th write, files are whole, none is partial, and the next run resumes."""
    measured = remember(found, monkeypatch)
    settle, writes = atomic.settle, 0
    for failing in range(1, 100):
        left = [failing]

        def fail(path, left=left):
            left[0] -= 1
            if not left[0]:
                raise error_of(number, str(path))
            settle(path)

        out = tmp_path / str(failing)
        with monkeypatch.context() as patch:
            patch.setattr(atomic, "settle", fail)
            try:
                write_run(run, out)
            except OSError as error:
                said = in_words(error)
            else:
                writes = failing - 1
                break
        assert said
        assert str(out) in said
        assert "headscope-part" not in said
        assert [path for path in out.rglob("*") if "headscope" in path.name] == []
        before = list(measured)
        del measured[:]
        write_run(run, out)
        assert [*before, *measured][-3:] == STAGES or set(measured) < set(found)
        assert sorted(path.name for path in out.rglob("*.parquet")) == sorted(
            f"{table}.parquet" for result in found.values() for table in result.tables
        )
        del measured[:]
    assert writes >= 17


def test_a_run_in_a_place_that_is_no_folder(run, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises((OutputError, OSError)) as refused:
        write_run(run, tmp_path / "file")
    assert "file" in str(refused.value)
    with pytest.raises(NotADirectoryError) as refused:
        write_run(run, tmp_path / "file" / "out")
    assert in_words(refused.value).startswith("cannot read or write ")
