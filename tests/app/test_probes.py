"""`headscope probes`: table 3 for a terminal, the tables on disk, wrong options; run twice gives the same."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.probes.tables import SYSTEMS
from support.commands import run_command
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_bert
from support.quick_probes import quick_probes

pytestmark = pytest.mark.slow

SCHEMAS = {
    "probes": "probe measure model vectors seed value ci_low ci_high n_cases spread",
    "probe_relations": "probe model vectors relation n_cases value ci_low ci_high",
    "probe_by_distance": "probe model vectors distance n_cases value ci_low ci_high",
    "probe_weights": "probe kind layer head direction weight",
    "probe_layers": "layer measure value ci_low ci_high n_cases held_out chosen",
}


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quick_probes(passes=1):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("probes")


@pytest.fixture(scope="module")
def treebanks(folder):
    paths = []
    for name, first, last in (("train", 1, 6), ("dev", 7, 16)):
        paths.append(folder / f"{name}.conllu")
        paths[-1].write_text(demo_conllu(first, last), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def model(folder):
    return save_tiny_bert(folder / "tiny")


@pytest.fixture(scope="module")
def found(folder, treebanks, model):
    """What the command says, with vectors of a file, and the folder of its tables."""
    vectors = folder / "small.vec"
    rng = np.random.default_rng(0)
    lines = [f"{word} {' '.join(map(str, rng.normal(size=6).round(3)))}" for word in ("the", "a", "she", "saw")]
    vectors.write_text("4 6\n" + "\n".join(lines) + "\n")
    train, dev = treebanks
    out = folder / "out"
    code, said, err = run_command(
        *("probes", "--model", model, "--treebank", dev, "--treebank-train", train, "--vectors", vectors),
        *("--seeds", 2, "--quiet", "--out", out),
    )
    assert (code, err) == (0, "")
    return said, out


def table(out, name):
    return pd.read_parquet(out / "tables" / f"{name}.parquet")


def shown(value):
    return "-" if value != value else f"{100 * value:.1f}"


def test_table_3_for_a_terminal(found):
    said, out = found
    lines = said.splitlines()
    start = lines.index("Heads found by each probe:") + 1
    assert " ".join(lines[start].split()) == ("probe heads found seeds as a tree with label control task selectivity n")
    probes = table(out, "probes")
    means = probes[probes["seed"].isna()]
    order = [key for key in SYSTEMS if key[0] != "structural"] + [("structural", "trained")]
    for line, key in zip(lines[start + 1 :], order):
        own = means[(means["probe"] == key[0]) & (means["model"] == key[1])].set_index("measure")
        row = own.loc[SYSTEMS[key].measure]
        name = "Structural probe (UUAS)" if key[0] == "structural" else SYSTEMS[key].name
        assert line.startswith(name)
        spread = [] if np.isnan(row["spread"]) else ["±", f"{100 * row['spread']:.1f}"]
        inside = " ".join(
            [*([] if np.isnan(row["ci_low"]) else [f"{shown(row['ci_low'])}-{shown(row['ci_high'])}"]), *spread]
        )
        more = [own["value"].get(m, np.nan) for m in ("UAS tree", "LAS", "control accuracy", "selectivity")]
        assert line.removeprefix(name).split() == [
            *(shown(row["value"]), *(f"({inside})".split() if inside else [])),
            *("-" if key[0] == "right-branching" else "2", *map(shown, more), f"{row['n_cases']:,}"),
        ]
    facts = json.loads((out / "manifest.json").read_text())["probes"]
    assert lines[start - 2] == (
        f"Trained on {facts['train']['sentences']:,} sentences of train.conllu, scored on "
        f"{facts['dev']['sentences']:,} sentences of dev.conllu. Word vectors: small.vec. No measured sentence is in "
        "train."
    )
    assert lines[-1] == f"tables: {out / 'tables'}"


def test_the_tables_on_disk(found):
    _, out = found
    for name, columns in SCHEMAS.items():
        assert list(table(out, name).columns) == columns.split(), name
    probes = table(out, "probes")
    assert set(probes["seed"].dropna()) == {0, 1}
    assert set(zip(probes["probe"], probes["model"])) == set(SYSTEMS)
    # Two layers and the embeddings; two layers of two heads, both ways, two probes.
    assert sorted(table(out, "probe_layers")["layer"].unique()) == [0, 1, 2]
    assert len(table(out, "probe_weights")) == 2 * 2 * 2 * 2
    assert ((probes["value"] >= -1) & (probes["value"] <= 1)).all()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--treebank", "DEV"), "--treebank-train"),
        (("--treebank-train", "TRAIN"), "--treebank"),
        (("--treebank", "DEV", "--treebank-train", "TRAIN", "--vectors", "nothing.txt"), "nothing.txt"),
    ],
)
def test_what_is_missing_is_named(treebanks, model, arguments, told):
    given = [{"TRAIN": treebanks[0], "DEV": treebanks[1]}.get(each, each) for each in arguments]
    code, said, err = run_command("probes", "--model", model, "--quiet", *given)
    assert (code, said) == (2, "")
    assert told in err
    assert err.startswith("headscope: ")


def test_a_treebank_it_was_trained_on_is_refused_under_any_name(treebanks, model, folder):
    train, dev = treebanks
    copy = folder / "another.conllu"
    copy.write_text(train.read_text())
    code, said, err = run_command(
        *("probes", "--model", model, "--quiet", "--treebank-train", train, "--treebank", dev, "--treebank", copy)
    )
    assert (code, said) == (2, "")
    assert err == (
        f"headscope: --treebank-train and --treebank hold the same sentences ({train} and {copy}): probes would be "
        "measured on their training data; give one of the two other files, or --allow-overlap to measure them "
        "all the same\n"
    )


def test_sentences_it_was_trained_on_are_counted_everywhere(treebanks, model, folder):
    """Of 16 sentences 12 were trained on: 4 that a file of both treebanks holds, and 8 that stand in both."""
    train, dev = ([block for block in path.read_text().split("\n\n") if block] for path in treebanks)
    plain = [re.sub("# newdoc.*\n", "", block) for block in train]
    parts = {"mine": train[:20], "both": plain[20:24], "theirs": [*plain[:8], *dev[-4:]]}
    paths = {name: folder / f"{name}.conllu" for name in parts}
    for name, blocks in parts.items():
        paths[name].write_text("\n\n".join(blocks) + "\n\n")
    out = folder / "shared"
    code, said, err = run_command(
        *("probes", "--model", model, "--quiet", "--seeds", 1, "--out", out, "--allow-overlap"),
        *("--treebank-train", paths["mine"], "--treebank-train", paths["both"]),
        *("--treebank", paths["theirs"], "--treebank", paths["both"]),
    )
    assert (code, err) == (0, "")
    manifest = json.loads((out / "manifest.json").read_text())
    overlap = manifest["probes"]["overlap"]
    assert (overlap["sentences"], overlap["share"]) == (12, 12 / 16)
    assert overlap["files"] == [["both.conllu"] * 2]
    note = (
        f"probes: 12 of the measured sentences (75.0%, {100 * overlap['words_share']:.1f}% of the words) are in train "
        f"too, word for word; train holds the sentences of both.conllu, which --allow-overlap let in"
    )
    assert f"note: {note}" in said.splitlines()
    assert "No measured sentence is in train" not in said
    assert note in manifest["notes"]
