"""`headscope distances`: distances, clusters and the effect of layers in a terminal, as tables, and as a matrix."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.distances.compute import DistancesMeasurement
from headscope.analyses.stats.compute import StatsMeasurement
from headscope.present.numbers import nats, span
from support.commands import run_command
from support.model_folders import save_tiny_bert, save_tiny_t5
from support.sharp_models import sharpen

SINGLE = ("--packing", "single", "--quiet")

SCHEMAS = {
    "head_distances": "kind_a layer_a head_a kind_b layer_b head_b divergence ci_low ci_high sampling_error n_rows",
    "head_map": "kind layer head x y cluster role finds",
    "head_clusters": "kind cluster size stability ci_low ci_high silhouette medoid_layer medoid_head divergence n_rows",
    "layer_effect": "kind within between effect ci_low ci_high p n_rows stress clusters silhouette adjusted_rand "
    "adjusted_rand_low adjusted_rand_high reason",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("distances")


@pytest.fixture(scope="module")
def text(folder):
    path = folder / "text.txt"
    path.write_text("\n".join(f"Number {n} is one more than {n - 1}, they say.\nSo it is.\n" for n in range(12)))
    return path


@pytest.fixture(scope="module")
def model(folder):
    return sharpen(save_tiny_bert(folder / "tiny", heads=4, layers=3))


@pytest.fixture(scope="module")
def done(folder, model, text):
    """The command once, into a folder, with the matrix."""
    out, matrix = folder / "out", folder / "all.npy"
    code, said, err = run_command(
        "distances", "--model", model, "--text", text, "--out", out, "--matrix", matrix, *SINGLE
    )
    assert (code, err) == (0, "")
    return said, out, matrix


def table(out, name):
    return pd.read_parquet(out / "tables" / f"{name}.parquet")


def test_tables_have_their_columns(done):
    _, out, _ = done
    for name, columns in SCHEMAS.items():
        assert list(table(out, name).columns) == columns.split()
    assert len(table(out, "head_distances")) == 66
    assert len(table(out, "head_map")) == 12
    manifest = json.loads((out / "manifest.json").read_text())
    assert list(manifest["stages"]) == ["stats", "distances", "map"]
    assert manifest["distances"]["encoder"]["rows"] == table(out, "head_distances")["n_rows"].iloc[0]


def test_the_matrix_is_the_table(done):
    said, out, path = done
    matrix = np.load(path)
    assert matrix.shape == (12, 12)
    assert np.array_equal(matrix, matrix.T)
    assert not matrix.diagonal().any()
    for row in table(out, "head_distances").to_dict("records"):
        a, b = ((row[f"layer_{side}"] - 1) * 4 + row[f"head_{side}"] - 1 for side in "ab")
        assert matrix[a, b] == row["divergence"]
    assert f"matrix: {path} (12 x 12)" in said.splitlines()
    assert said.splitlines()[-1] == f"tables: {out / 'tables'}"


def grid(lines, title):
    """The rows of a printed table, cells two or more spaces apart."""
    first = lines.index(title) + 2
    end = lines.index("", first)
    return [re.split(r"\s{2,}", line.strip()) for line in lines[first:end]]


def test_what_the_terminal_says(done):
    said, out, _ = done
    lines = said.splitlines()
    effect = table(out, "layer_effect").iloc[0]
    assert lines[0].startswith("- Heads of a layer are ")
    assert lines[1] == (
        f"  On average two heads of a layer are {effect['within']:.3f} nats apart, two of different layers "
        f"{effect['between']:.3f}."
    )
    clusters, heads = table(out, "head_clusters"), table(out, "head_map")
    shown = grid(lines, "Clusters of heads:")
    assert len(shown) == len(clusters)
    for cells, row in zip(shown, clusters.to_dict("records")):
        own = heads[heads["cluster"] == row["cluster"]]
        stability = "-" if len(own) == 1 else f"{row['stability']:.2f}"
        assert (cells[0], cells[1], cells[4]) == (str(row["cluster"]), str(len(own)), stability)
        assert cells[-1] == " ".join(f"{layer}-{head}" for layer, head in zip(own["layer"], own["head"]))
        for number in own["role"].value_counts():
            assert f"({number})" in cells[6]
    nearest = table(out, "head_distances").nsmallest(10, "divergence").to_dict("records")
    for cells, row in zip(grid(lines, "Pairs of heads most alike:"), nearest, strict=True):
        assert cells[0] == f"{row['layer_a']}-{row['head_a']} and {row['layer_b']}-{row['head_b']}"
        assert cells[1:4] == [nats(row["divergence"]), span(row["ci_low"], row["ci_high"]), f"{row['n_rows']:,}"]


def test_run_again_it_says_the_same_and_measures_nothing(done, model, text, monkeypatch):
    said, out, path = done
    for stage in (StatsMeasurement, DistancesMeasurement):
        monkeypatch.setattr(stage, "compute", lambda *_: pytest.fail("measured again"))
    again = run_command("distances", "--model", model, "--text", text, "--out", out, "--matrix", path, *SINGLE)
    assert again == (0, said, "")


def test_without_a_folder_it_says_the_same(done, model, text):
    said, _, _ = done
    code, plain, err = run_command("distances", "--model", model, "--text", text, *SINGLE)
    assert (code, err) == (0, "")
    assert plain.splitlines() == said.splitlines()[:-2]


@pytest.mark.slow
def test_saved_maps_give_the_same_distances(done, model, text, folder):
    path = done[2]
    maps = folder / "maps"
    code, _, err = run_command(
        *("extract", "--model", model, "--text", text, "--out", maps, "--store", "float32", "--packing", "single")
    )
    assert (code, err) == (0, "")
    target, matrix = folder / "from-maps", folder / "maps.npy"
    code, said, err = run_command("distances", "--maps", maps, "--out", target, "--matrix", matrix, "--quiet")
    assert (code, err) == (0, "")
    assert np.load(matrix) == pytest.approx(np.load(path), rel=1e-4, abs=1e-7)
    assert "note: read from saved maps" in said
    assert list(table(target, "head_map").columns) == SCHEMAS["head_map"].split()


def test_a_model_of_several_kinds_writes_a_matrix_for_each(folder, text):
    model = save_tiny_t5(folder / "t5", text.read_text().split("\n"))
    matrix = folder / "t5.npy"
    code, said, err = run_command(
        "distances", "--model", model, "--text", text, "--packing", "single", "--matrix", matrix, "--quiet"
    )
    assert (code, err) == (0, "")
    kinds = re.findall(r"^Clusters of heads \((encoder|decoder|cross)\):$", said, flags=re.M)
    assert kinds == ["encoder", "decoder", "cross"]
    for kind in kinds:
        path = folder / f"t5-{kind}.npy"
        heads = len(np.load(path))
        assert f"matrix: {path} ({heads} x {heads})" in said
    assert not matrix.exists()


def test_few_documents_have_no_interval_and_say_so(model, folder):
    few = folder / "few.txt"
    few.write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n")
    code, said, err = run_command("distances", "--model", model, "--text", few, "--quiet")
    assert (code, err) == (0, "")
    lines = said.splitlines()
    assert re.fullmatch(r"- Heads of a layer are not shown to be more alike than heads of different layers\.", lines[0])
    assert "resampled documents: adjusted Rand" not in said
    assert [row[4] for row in grid(lines, "Clusters of heads:") if row[1] != "1"] == ["not tested"] * sum(
        row[1] != "1" for row in grid(lines, "Clusters of heads:")
    )
    none = (
        "- The tree of heads shows no clusters: the best of its cuts has no cluster with a mean silhouette above 0.25."
    )
    assert none in lines
    assert "note: intervals need at least 10 documents; this run has 2" in lines


def test_one_layer_is_said_to_be_nothing_to_compare(text, folder):
    flat = save_tiny_bert(folder / "flat", heads=4, layers=1)
    code, said, err = run_command("distances", "--model", flat, "--text", text, "--quiet")
    assert (code, err) == (0, "")
    assert said.splitlines()[0] == (
        "- Whether heads of a layer are alike cannot be said: there is one layer, and no pair of heads of different "
        "layers."
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--matrix", "heads.csv"), "--matrix heads.csv does not end in .npy; expected a file for a numpy array"),
        (
            ("--matrix", "nowhere/heads.npy"),
            "--matrix nowhere/heads.npy cannot hold a file; give a file in a folder that exists",
        ),
        (("--packing", "pair"), "--packing 'pair' is not known; choose one of pretraining, paragraphs, joined, single"),
    ],
)
def test_wrong_options_in_one_sentence(cli, model, text, tmp_path, monkeypatch, options, sentence):
    monkeypatch.chdir(tmp_path)
    arguments = ("distances", "--model", model, "--text", text, "--quiet", *options)
    assert cli(*arguments) == (2, "", f"headscope: {sentence}\n")
    assert list(tmp_path.iterdir()) == []
