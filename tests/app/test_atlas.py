"""`headscope atlas`: a site from a finished run; wrong places give one sentence, and nothing is written."""

import json
import re

import pytest

import headscope as hs
from headscope.errors import OutputError
from headscope.present.manifest import write_manifest
from support import mock_inputs
from support.mock_study import write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(mock_inputs.encoder(2, 3), tmp_path_factory.mktemp("run") / "study")


def refused(result, sentence):
    assert result[2] == f"headscope: {sentence}\n"
    assert (result[0], result[1]) == (2, "")


def test_a_site_of_one_page(cli, study, tmp_path):
    site = tmp_path / "new" / "site"
    code, said, err = cli("atlas", study.path, "--out", site)
    assert (code, err) == (0, "")
    assert re.fullmatch(rf"atlas: {re.escape(str(site / 'index.html'))} \(\d+\.\d MB\)\n", said)
    assert [path.name for path in site.iterdir()] == ["index.html"]
    page = (site / "index.html").read_text(encoding="utf-8")
    (block,) = re.findall(r'<script type="application/json" id="atlas">(.*?)</script>', page, re.DOTALL)
    assert json.loads(block)["model"] == "minilm-mlm"
    assert re.findall(r"https?://[^\s\"]+", page) == ["http://www.w3.org/2000/svg"]
    # The same folder again: the page is written over.
    assert cli("atlas", study.path, "--out", site)[0] == 0


def test_without_a_place_it_lies_beside_the_run(cli, study):
    code, said, _ = cli("atlas", study.path)
    beside = study.path.with_name("study-atlas") / "index.html"
    assert (code, said.split(" (")[0]) == (0, f"atlas: {beside}")
    assert beside.is_file()


def test_from_python(study, tmp_path):
    assert hs.head_atlas(study, out=tmp_path / "a") == tmp_path / "a" / "index.html"
    by_name = hs.head_atlas(str(study.path), out=str(tmp_path / "b"))
    assert by_name.read_bytes() == (tmp_path / "a" / "index.html").read_bytes()


def test_what_is_no_study_is_refused(cli, tmp_path):
    refused(
        cli("atlas", tmp_path / "none", "--out", tmp_path / "site"),
        f"{tmp_path / 'none'} holds no headscope run: expected a manifest.json, as headscope report --out writes it",
    )
    (tmp_path / "manifest.json").write_text('{"a": 1}')
    refused(
        cli("atlas", tmp_path, "--out", tmp_path / "site"),
        f"{tmp_path / 'manifest.json'} is not the manifest of a headscope run; give a folder that headscope report "
        "wrote",
    )
    assert not (tmp_path / "site").exists()


def test_a_run_without_statistics_is_refused(cli, study, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    write_manifest(bare, {**study.manifest, "stages": {}})
    refused(
        cli("atlas", bare, "--out", tmp_path / "site"),
        f"{bare} has no table 'stats', which the atlas needs; it has no table. Give the folder of a headscope report",
    )
    assert not (tmp_path / "site").exists()


def test_places_that_are_no_site_are_refused(cli, study, tmp_path):
    file = tmp_path / "file"
    file.write_text("x")
    refused(
        cli("atlas", study.path, "--out", file),
        f"{file} is a file; --out expects a folder, new or empty, or that of an earlier atlas",
    )
    refused(
        cli("atlas", study.path, "--out", study.path),
        f"{study.path} holds a run; give --out a folder of its own, such as {study.path / 'atlas'}",
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.html").write_text("<h1>my site</h1>")
    refused(
        cli("atlas", study.path, "--out", other),
        f"{other} holds other files and no atlas; give --out a new or empty folder",
    )
    assert (other / "index.html").read_text() == "<h1>my site</h1>"
    with pytest.raises(OutputError, match="holds other files and no atlas"):
        hs.head_atlas(study, out=other)


@pytest.mark.slow
def test_the_report_writes_its_atlas_and_links_it(study):
    from headscope.reporting.atlas_files import draw

    draw(study)
    report = study.report_path.read_text(encoding="utf-8")
    assert '<a href="atlas/index.html" id="atlas-link">Head atlas</a>' in report
    assert 'data-atlas="atlas/index.html"' in report
    page = (study.path / "atlas" / "index.html").read_text(encoding="utf-8")
    (block,) = re.findall(r'<script type="application/json" id="atlas">(.*?)</script>', page, re.DOTALL)
    assert json.loads(block)["report"] == "../report.html"
    assert (study.path / "report.html").is_file()
