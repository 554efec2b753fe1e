"""Wrong things typed: one clear sentence, exit code 2, no traceback; Ctrl-C leaves nothing half-written."""

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headscope.present.study import open_study
from headscope.reporting import atlas_files
from headscope.scans.declarations.analysis_list import BY_NAME
from support.model_folders import save_tiny_bert
from support.undrawn import leave_drawing_out

STORY = "The cat sat on the mat. It slept, and dreamt.\nA dog came by, looked at it, and left.\n\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(STORY * 12)
    return path


def refused(result, sentence):
    code, out, err = result
    assert err == f"headscope: {sentence}\n"
    assert code == 2
    assert out == ""


def test_no_such_file(cli, tmp_path):
    missing = tmp_path / "no.txt"
    refused(
        cli("stats", "--text", missing),
        f"no such file: {missing}; give a text file, a .json features file, a directory of them, or - for standard "
        "input",
    )


def test_a_head_that_the_model_lacks_is_refused_before_anything_is_measured(cli, text, model):
    typed = ("why", "--text", text, "--model", model, "--heads")
    refused(cli(*typed, "1-1,9-9", "--quiet"), "the model has no head 9-9; it has 2 layers of 2 encoder heads")
    code, _, err = cli(*typed, "nine")
    assert (code, "stage 1 of 1" in err) == (2, False)
    assert err.endswith("headscope: 'nine' is not a head; expected layer-head from 1, as 8-10 or cross 8-10\n")


def test_an_empty_file(cli, tmp_path):
    path = tmp_path / "empty.txt"
    path.touch()
    code, _, err = cli("report", "--text", path, "--out", tmp_path / "out", "-q")
    assert code == 2
    assert err.startswith(f"headscope: {path} is empty: expected ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("zipped", [False, True])
def test_a_file_that_is_not_utf8_names_the_byte(cli, tmp_path, zipped):
    path = tmp_path / ("latin.txt.gz" if zipped else "latin.txt")
    content = b"a caf\xe9 in Paris\n"
    path.write_bytes(gzip.compress(content) if zipped else content)
    code, _, err = cli("stats", "--text", path)
    assert code == 2
    assert "at offset 5" in err
    assert "UTF-8" in err


def test_malformed_json_names_the_entry(cli, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('[{"text": "fine"}, {"text": 3}]')
    code, _, err = cli("stats", "--text", path)
    assert code == 2
    assert "entry 2" in err
    path.write_text('[{"text": "fine"}, {"text": ]')
    code, _, err = cli("stats", "--text", path)
    assert code == 2
    assert "line 1" in err


def test_a_document_over_the_limit(cli, tmp_path, model):
    path = tmp_path / "long.json"
    path.write_text(json.dumps([{"text": "word " * 40}]))
    refused(
        cli("stats", "--model", model, "--text", path, "--max-length", 16, "--too-long", "error", "-q"),
        f"{path}, entry 1: 42 tokens, expected at most 16; raise --max-length, or let --too-long truncate or skip "
        "such inputs",
    )


def test_nothing_left_to_read_says_why(cli, tmp_path, model):
    path = tmp_path / "lines.txt"
    path.write_text("One line only.\n\nAnother one, which is longer.\n")
    refused(
        cli("stats", "--model", model, "--text", path, "--packing", "pretraining", "-q"),
        "no input could be built from 2 documents with packing pretraining (no second line to pair with: 2); use "
        "--packing single for texts of one line",
    )
    refused(
        cli(
            "stats",
            "--model",
            model,
            "--text",
            path,
            "--packing",
            "single",
            "--max-length",
            5,
            "--too-long",
            "skip",
            "--quiet",
        ),
        "no input could be built from 2 documents with packing single (over the limit: 2); raise --max-length or use "
        "--too-long truncate",
    )


def test_what_is_asked_for_beside_is_known(cli, text):
    code, _, err = cli("report", text, "--include", "pca", "--include", "direction")
    known = ", ".join(BY_NAME)
    assert (code, err) == (2, f"headscope: --include 'direction' is not known; choose one of {known}\n")


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        (
            "--packing",
            "paragraph",
            "--packing 'paragraph' is not known; choose one of pretraining, paragraphs, joined, single; did you "
            "mean paragraphs?",
        ),
        ("--too-long", "drop", "--too-long 'drop' is not known; choose one of truncate, skip, error"),
        ("--token-types", "none", "--token-types 'none' is not known; choose one of own, zero"),
        (
            "--dtype",
            "float8",
            "--dtype 'float8' is not known; choose one of auto, float32, float64, bfloat16, float16; did "
            "you mean float64?",
        ),
        ("--batch-size", "many", "--batch-size 'many' is not known; give a number from 1, or auto"),
    ],
)
def test_unknown_values_name_the_known_ones(cli, text, option, value, sentence):
    code, _, err = cli("stats", "--text", text, option, value)
    assert code == 2
    assert err.startswith(f"headscope: {sentence.split(';')[0]}")
    assert err == f"headscope: {sentence}\n" or "float8" in str(value)


@pytest.mark.parametrize(
    ("length", "sentence"),
    [
        (1000, "--max-length 1000 is more than headscope-minilm can read; expected at most 512 tokens"),
        (3, "--max-length 3 leaves no room beside the special tokens; expected at least 5 tokens"),
    ],
)
def test_a_length_that_does_not_suit_the_model(cli, text, length, sentence):
    refused(cli("stats", "--text", text, "--max-length", length, "-q"), sentence)


def test_a_table_of_an_unknown_form(cli, text):
    refused(
        cli("stats", "--text", text, "--out", "table.xls"),
        "--out with the ending '.xls' is not known; choose one of .csv, .json, .parquet",
    )


@pytest.mark.slow
def test_a_folder_that_holds_another_run(cli, text, model, tmp_path, monkeypatch):
    out = tmp_path / "out"
    monkeypatch.setattr(atlas_files, "draw", lambda study: None)
    leave_drawing_out(monkeypatch)
    code, said, _ = cli("report", "--model", model, "--text", text, "--out", out, "-q")
    assert (code, said.splitlines()[-1]) == (0, f"report: {out}/report.html")
    first = open_study(out).manifest
    other = tmp_path / "other.txt"
    other.write_text("Another text.\nIt is short.\n")
    code, _, err = cli("report", "--model", model, "--text", other, "--out", out, "-q")
    assert code == 2
    assert err == (
        f"headscope: {out} already holds a different run (tiny; {Path(text).name}; signature "
        f"{first['signature']['id']}); give another --out, or delete that folder\n"
    )
    # The same run again is no error; it is not computed a second time.
    code, _, _ = cli("report", "--model", model, "--text", text, "--out", out, "-q")
    assert code == 0
    assert open_study(out).manifest == first


def test_a_folder_of_something_else(cli, text, model, tmp_path):
    out = tmp_path / "precious"
    out.mkdir()
    (out / "thesis.doc").write_text("years of work")
    refused(
        cli("report", "--model", model, "--text", text, "--out", out, "-q"),
        f"{out} holds other files and no headscope run; give --out a new or empty folder",
    )
    (tmp_path / "file").write_text("")
    refused(
        cli("report", "--model", model, "--text", text, "--out", tmp_path / "file", "-q"),
        f"{tmp_path / 'file'} is a file; --out expects a folder, new or empty",
    )


@pytest.mark.slow
def test_no_room_on_disk(cli, text, model, tmp_path, monkeypatch):
    from headscope.storage import atomic

    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(atomic, "settle", full)
    out = tmp_path / "out"
    code, _, err = cli("report", "--model", model, "--text", text, "--out", out, "-q")
    assert code == 2
    assert err.startswith(f"headscope: cannot read or write {out}")
    assert "No space left on device; what was finished is kept: free space" in err
    assert not out.exists() or not list(out.rglob("*"))
    # The disk has room again: what the full disk left does not stand in the way.
    monkeypatch.undo()
    monkeypatch.setattr(atlas_files, "draw", lambda study: None)
    leave_drawing_out(monkeypatch)
    assert cli("report", "--model", model, "--text", text, "--out", out, "-q")[0] == 0


def test_model_and_maps_together(cli, tmp_path):
    refused(
        cli("stats", "--maps", tmp_path, "--model", "x/y"),
        "--maps already holds a model's attention; leave --model and --revision out",
    )
    refused(
        cli("stats", "--maps", tmp_path, "--text", "t.txt"),
        "both a corpus and saved maps were given; a run reads one of them",
    )


@pytest.mark.slow
def test_ctrl_c_leaves_no_half_written_file(tmp_path, model):
    text = tmp_path / "big.txt"
    text.write_text(STORY * 6_000)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "headscope", "report", "--model", model, "--text", text, "--out", out]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 600
    seen = ""
    while "reading heads" not in seen and time.monotonic() < deadline:
        seen = process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    out_text, err = process.communicate(timeout=200)
    assert process.returncode == 130, err
    assert err.endswith("headscope: stopped; nothing half-written was left, and finished results are kept\n")
    assert "Traceback" not in err
    assert out_text == ""
    assert not out.exists() or not any(Path(out).rglob("*"))
