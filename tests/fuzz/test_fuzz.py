"""The fuzzer itself: targets accept inputs, seeds reproduce them, and planted faults are found, minimized and kept."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fuzz import canary
from fuzz.hunt import hunt
from fuzz.judging import judge
from fuzz.run import keep, tell
from fuzz.sample import pack, read_sample, unpack, write_sample
from fuzz.target import NAMES, Target, target_named
from headscope.corpora.reading import read_corpus
from headscope.errors import InputError

SLOW = {"runs", "report", "atlas", "resume", "models"}  # each input takes part of a second


def tried(target, folder, *, inputs, seed=0):
    """Return the counts of a hunt, its findings, and its last input."""
    found = []
    tally = hunt(target, folder, seed=seed, enough=lambda tally: tally.inputs >= inputs, found=found.append)
    return tally, found, read_sample(folder / "input")


@pytest.mark.parametrize("name", NAMES)
def test_every_target_takes_inputs(name, tmp_path, monkeypatch):
    """Targets run and accept valid inputs; only `make fuzz` reports findings."""
    target = target_named(name)
    monkeypatch.setattr("fuzz.hunt.MOST_TRIES", 0)
    inputs = 4 if name in SLOW else 20
    tally, found, last = tried(target, tmp_path, inputs=inputs)
    assert tally.inputs == inputs
    assert tally.taken
    assert last
    assert tally.findings == len(found)


def planted(check):
    return Target(
        name="planted",
        seeds=lambda folder: [{"corpus.txt": b"The cat sat.\nIt slept.\n\nA dog came.\n" * 3}],
        prepare=lambda folder: check,
    )


def test_a_seed_gives_the_same_inputs(tmp_path):
    def run(folder):
        list(read_corpus(folder / "corpus.txt"))

    first = tried(planted(run), tmp_path / "a", inputs=40)
    again = tried(planted(run), tmp_path / "b", inputs=40)
    other = tried(planted(run), tmp_path / "c", inputs=40, seed=1)
    assert first == again
    assert first != other


def test_a_planted_bug_is_found_and_made_small(tmp_path):
    def run(folder):
        if b"\0" in (folder / "corpus.txt").read_bytes():
            raise IndexError("planted")

    tally, (finding,), _ = tried(planted(run), tmp_path, inputs=400)
    assert tally.findings == 1
    assert finding.place == "IndexError planted"
    assert "IndexError: planted" in finding.why
    assert finding.sample == {"corpus.txt": b"\0"}


def test_hashes_of_maps_are_forged(tmp_path):
    """Checks of the rows follow the hash check: without forging none of them would be reached."""
    target = target_named("maps")
    sample = target.seeds(tmp_path)[0]
    name = next(name for name in sample if name.startswith("maps-"))
    assert target.forged(sample)[name] == sample[name]
    assert json.loads(target.forged(sample)["index.json"]) == json.loads(sample["index.json"])
    changed = target.forged({**sample, name: b"x"})
    assert json.loads(changed["index.json"])["shards"][0]["bytes"] == 1
    assert target.forged({"index.json": b"{"}) == {"index.json": b"{"}


def refuse(message):
    def run(folder):
        raise InputError(message)

    return run


def endless(folder):
    while True:
        pass


def asking(folder):
    assert input("run it? ") == "y"


def printing(folder):
    print("hello")


def raising(error):
    def run(folder):
        raise error

    return run


@pytest.mark.parametrize(
    ("check", "place"),
    [
        (refuse("\x1b[2J is no word"), "not printable"),
        (refuse("\u202e is no word"), "not printable"),
        (refuse("x" * 4001), "endless message"),
        (refuse(" "), "no message"),
        (endless, "TooSlow"),
        (asking, "standard input"),
        (printing, "printed"),
        (canary.sing, "code ran"),
        (raising(MemoryError()), "MemoryError"),
        (raising(SystemExit(0)), "SystemExit"),
        (raising(AssertionError("other words")), "AssertionError other words"),
    ],
)
def test_what_is_a_finding(check, place, tmp_path, monkeypatch):
    monkeypatch.setattr("fuzz.judging.PROCESSOR", 0.1)
    began = time.monotonic()
    verdict = judge(check, tmp_path)
    assert verdict.kind == "finding"
    assert verdict.place.startswith(place)
    assert time.monotonic() - began < 5


def test_what_is_none(tmp_path):
    assert judge(lambda folder: None, tmp_path).kind == "taken"
    assert judge(refuse("expected a word, found none; give one"), tmp_path).kind == "refused"


def test_a_sample_is_a_folder_and_a_file(tmp_path):
    sample = {"a.json": b"{}", "b/c.bin": bytes(range(256))}
    assert read_sample(write_sample(sample, tmp_path / "x")) == sample
    assert unpack(pack(sample)) == sample
    assert pack(sample) == pack(dict(reversed(sample.items())))


def test_a_finding_is_kept_with_the_way_to_try_it_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("fuzz.run.FINDINGS", tmp_path / "findings")
    _, (finding,), _ = tried(planted(raising(KeyError("x"))), tmp_path / "hunt", inputs=5)
    path = keep("text", finding)
    assert path.parent == tmp_path / "findings"
    assert path.with_suffix(".txt").read_text().startswith(f"python tests/fuzz/run.py --replay {path}\n")
    run = Path(__file__).parents[1] / "fuzz" / "run.py"
    again = subprocess.run([sys.executable, run, "--replay", path], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("refused plain.py")  # text itself does not have this bug


def test_the_table_says_what_was_tried(capsys):
    counts = {"inputs": 1200, "taken": 200, "refused": 1000, "findings": 0}
    assert tell([("text", counts, 2.0)], 4.0, seed=7) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[1].split() == ["text", "1,200", "600", "200", "1,000", "0"]
    assert out[2].split() == ["all", "1,200", "300", "200", "1,000", "0"]
    assert out[3] == "seed 7, 0.1 minutes"
    assert tell([("text", {**counts, "findings": 1}, 2.0)], 4.0, seed=7) == 1
