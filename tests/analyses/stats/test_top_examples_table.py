"""The table `top_examples` of saved maps, and of a run that was finished before there was one."""

import numpy as np
import pytest

from headscope.analyses.stats.compute import StatsMeasurement
from headscope.maps.maps_source import MapsSource
from headscope.present.manifest import read_manifest, write_manifest
from headscope.present.study import open_study
from headscope.running.run_folder import damaged_files
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.commands import run_command
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5

LINES = [
    "The committee approved the proposal of the unhappily married commissioners, but nobody noticed it.",
    "A dog came by, looked at the cat, and left again without a sound.",
    "Warm.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("top_examples")
    (made / "text.txt").write_text("\n\n".join(LINES) + "\n")
    save_tiny_bert(made / "tiny")
    return made


@pytest.mark.parametrize("level", [(), ("--word-level",)])
def test_saved_maps_give_the_maps_own_weights(folder, level):
    out = folder / f"maps{len(level)}"
    code, _, err = run_command(
        "extract", "--text", folder / "text.txt", "--model", folder / "tiny", "--packing", "single",
        "--store", "float32", "--out", out, *level,
    )  # fmt: skip
    assert code == 0, err
    run = prepare(RunOptions(maps=out, stages=("stats",)))
    table = StatsMeasurement(run).measure().tables["top_examples"]
    source = MapsSource(out)
    entries = {(entry.document, entry.index): entry for entry in source.index.entries}
    heads = sum(part.layers * part.heads for part in source.layout)
    # The third input is too short to count.
    assert len(table) == 2 * heads
    for row in table.to_dict("records"):
        entry = entries[row["document"], row["segment"]]
        own = source.maps(entry)["encoder"][row["layer"] - 1, row["head"] - 1]
        n = len(row["tokens"])
        assert n == len(own) <= 32
        assert row["start"] == 0
        np.testing.assert_allclose(np.reshape(row["weights"], (n, n)), own, atol=1e-6)
        if not level:
            assert row["tokens"] == entry.input.tokens
        letters = "".join(character for character in row["text"].lower() if character.isalpha())
        expected = {"".join(c for c in line.lower() if c.isalpha()) for line in LINES}
        assert letters in expected


@pytest.mark.parametrize(
    ("save", "kinds"), [(save_tiny_t5, ["encoder", "decoder", "cross"]), (save_tiny_gpt2, ["decoder"])]
)
def test_every_kind_of_attention(folder, tmp_path, save, kinds):
    model = save(tmp_path / "model", LINES * 8)
    (tmp_path / "text.txt").write_text("\n\n".join([" ".join(LINES[:2] * 3), *LINES]) + "\n")
    options = RunOptions(model=str(model), text=(str(tmp_path / "text.txt"),), packing="single", stages=("stats",))
    run = prepare(options)
    table = StatsMeasurement(run).measure().tables["top_examples"]
    assert [part.kind for part in run.layout] == kinds
    for part in run.layout:
        own = table[table["kind"] == part.kind]
        assert set(zip(own["layer"], own["head"])) == {
            (layer, head) for layer in range(1, part.layers + 1) for head in range(1, part.heads + 1)
        }
    for row in table.to_dict("records"):
        weights = np.reshape(row["weights"], (len(row["tokens"]), len(row["keys"])))
        assert max(weights.shape) <= 32
        assert weights.sum(1).max() <= 1 + 1e-5
        if row["kind"] == "decoder":
            assert not np.triu(weights, 1).any()
        if max(weights.shape) < 20:  # nothing was cut off
            np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)
        assert row["text"]
        assert "</s>" not in row["text"]


def test_a_finished_run_without_the_table_is_measured_again(folder):
    options = RunOptions(
        model=str(folder / "tiny"), text=(str(folder / "text.txt"),), packing="single", stages=("stats",)
    )
    out = folder / "run"
    write_run(prepare(options), out)
    manifest = read_manifest(out).content
    stage = manifest["stages"]["stats"]
    assert damaged_files(out, stage) == []
    # As the version before wrote it: another signature, and no such table.
    (out / "tables" / "top_examples.parquet").unlink()
    stage["tables"].remove("top_examples")
    stage["signature"] = "of version 1"
    del stage["files"]["tables/top_examples.parquet"]
    write_manifest(out, manifest)
    write_run(prepare(options), out)
    assert "top_examples" in open_study(out).tables


def test_the_signature_of_a_stage_changes_with_its_version(folder):
    from dataclasses import replace

    from headscope.running.run_folder import stage_signature
    from headscope.scans.declarations.analysis_list import STAGES

    options = RunOptions(model=str(folder / "tiny"), text=(str(folder / "text.txt"),), stages=("stats",))
    run = prepare(options)
    ids = {
        version: stage_signature(replace(STAGES["stats"], version=version), run.signature, options, before={})
        for version in (STAGES["stats"].version - 1, STAGES["stats"].version)
    }
    assert len(set(ids.values())) == 2


def test_a_new_statistic_makes_a_finished_stage_stale(folder, monkeypatch):
    from headscope.running.run_folder import stage_signature
    from headscope.scans.declarations.analysis_list import STAGES
    from headscope.statistics import statistic_catalog as catalog

    options = RunOptions(model=str(folder / "tiny"), text=(str(folder / "text.txt"),), stages=("stats",))
    run = prepare(options)
    before = stage_signature(STAGES["stats"], run.signature, options, before={})
    monkeypatch.setattr(catalog, "NAMES", (*catalog.NAMES, "nearby"))
    assert stage_signature(STAGES["stats"], run.signature, options, before={}) != before
