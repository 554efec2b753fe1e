"""Each command refuses to write its output to devices, the current folder and its own inputs."""

import os
import shutil
from pathlib import Path

from support.commands import run_command
from support.hostile_model_folders import whole_folder

TREEBANK = "1\tA\ta\tDET\t_\t_\t0\troot\t_\t_\n\n"


def inputs(folder):
    """Make a model, a text, a treebank and a list of heads in a folder."""
    (folder / "my.txt").write_text("One line.\nAnother line.\n")
    (folder / "my.conllu").write_text(TREEBANK)
    (folder / "heads.txt").write_text("1-1\n")
    model = folder / "models" / "own"
    shutil.copytree(whole_folder(), model)
    return {
        "prune": ("--model", model, "--heads", folder / "heads.txt", "--text", folder / "my.txt", "--force", "--out"),
        "extract": ("--model", model, "--text", folder / "my.txt", "--force", "--out"),
        "segments": ("--model", model, "--text", folder / "my.txt", "--force", "--out"),
        "convert": (folder / "my.conllu", "--force"),
        "view": ("--model", model, folder / "my.txt", "--overwrite", "--out"),
        "train": ("--text", folder / "my.txt", "--out"),
        "report": ("--model", model, folder / "my.txt", "--out"),
        "syntax": ("--model", model, "--treebank", folder / "my.conllu", "--out"),
    }


def snapshot(folder):
    return {
        path: (path.stat().st_ino, path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


def test_what_no_command_writes_over(tmp_path, monkeypatch):
    work = tmp_path / "a folder"
    work.mkdir()
    commands = inputs(work)
    os.mkfifo(work / "fifo")
    (work / "device").symlink_to("/dev/zero")
    monkeypatch.chdir(work)
    before, failed = snapshot(work), []
    for command, arguments in commands.items():
        for place in ("fifo", "device", ".", "/", str(work), "models", "models/own", "my.txt"):
            if (command, place) in {("convert", "my.txt"), ("train", "models"), ("train", "models/own")}:
                continue  # not an input of the command, though refused if it is not a possible output
            code, out, err = run_command(command, *arguments, Path(place))
            if (code, out) != (2, "") or not err.startswith("headscope: ") or "Traceback" in err:
                failed.append((command, place, code, err[-200:]))
            if snapshot(work) != before:
                failed.append((command, place, "changed"))
                before = snapshot(work)
    assert not failed
