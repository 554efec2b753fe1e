"""`headscope report --shard` and `headscope merge`: a run in parts, from the command line."""

import pytest

from headscope.encoding import shards as cutting
from headscope.present.study import open_study
from support.commands import run_command
from support.model_folders import save_tiny_masked_lm
from support.undrawn import leave_drawing_out


@pytest.fixture
def given(tmp_path, monkeypatch):
    monkeypatch.setattr(cutting, "SHARD_TOKENS", 75)
    (tmp_path / "text.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n\n" * 10)
    model = save_tiny_masked_lm(tmp_path / "tiny")
    return ("report", tmp_path / "text.txt", "--model", model, "--max-length", 32, "--quiet")


@pytest.mark.slow
def test_parts_are_scanned_and_joined(given, tmp_path, monkeypatch):
    leave_drawing_out(monkeypatch)
    for number in (1, 2):
        code, out, err = run_command(*given, "--shard", f"{number}/2", "--out", tmp_path / f"part-{number}")
        assert (code, err) == (0, "")
        shards = len([*(tmp_path / f"part-{number}" / "shards").iterdir()])
        assert out.splitlines() == [
            f"part {number} of 2: {shards} shards in {tmp_path / f'part-{number}'}",
            "when all parts are finished: headscope merge DIR ... --out REPORT, with the folders of all of them",
        ]
    folders = (tmp_path / "part-1", tmp_path / "part-2")
    code, out, err = run_command("merge", *folders, "--out", tmp_path / "joined", "--quiet")
    assert (code, err) == (0, "")
    assert f"report: {tmp_path / 'joined' / 'report.html'}" in out.splitlines()
    study = open_study(tmp_path / "joined")
    assert study.manifest["complete"] is True
    assert study.manifest["counts"]["documents_used"] == 20


def test_what_a_part_cannot_do_without(given, tmp_path):
    cases = [
        (("--shard", "1/2"), "--shard needs --out: a folder of its own for each part"),
        (
            ("--shard", "3/2", "--out", tmp_path / "x"),
            "--shard '3/2' is not a part of a run; expected the number of one and of all, as 2/8",
        ),
    ]
    for extra, words in cases:
        code, out, err = run_command(*given, *extra)
        assert (code, out, err) == (2, "", f"headscope: {words}\n")
    none = tmp_path / "none"
    code, out, err = run_command("merge", none, "--out", tmp_path / "x")
    assert (code, out) == (2, "")
    assert err == (f"headscope: {none} holds no part of a run; expected a folder that headscope report --shard wrote\n")
