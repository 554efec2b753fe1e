"""A report as one file: what it holds, and that no link in it is dead."""

import re
import zipfile
from posixpath import dirname, join, normpath

import pytest

from headscope.reporting.atlas_files import draw, write_bundle
from support import mock_inputs
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_study import write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundles") / "my run"
    one = write_study(with_distribution(with_distances(mock_inputs.section_4(2, 3))), folder)
    (folder / "state").mkdir()
    (folder / "figures").mkdir()  # of an earlier version
    (folder / "figures" / "figure-1.svg").write_text("<svg/>")
    (folder / "state" / "sums.safetensors").write_bytes(b"of no use to who reads")
    draw(one)
    return one


def test_without_a_page_there_is_nothing_to_send(tmp_path):
    study = write_study(mock_inputs.encoder(1, 2), tmp_path / "run")
    with pytest.raises(FileNotFoundError, match=r"report\.html is not there; write the report before it is bundled$"):
        write_bundle(study)


def test_no_link_of_the_bundle_is_dead(study):
    place = write_bundle(study)
    assert place == study.path.with_name("my run.zip")
    with zipfile.ZipFile(place) as packed:
        names = set(packed.namelist())
        assert packed.testzip() is None
        pages = {name: packed.read(name).decode("utf-8") for name in names if name.endswith(".html")}
    assert set(pages) == {"my run/report.html", "my run/atlas/index.html"}
    checked = {}
    for page, markup in pages.items():
        links = re.findall(r'(?:href|src|data-atlas)="([^"#]+)', markup)
        links += re.findall(r'"report":"([^"]+)"', markup)
        for link in links:
            assert not re.match(r"[a-z]+:", link), link
            assert normpath(join(dirname(page), link)) in names, link
            checked.setdefault(page, set()).add(link)
    assert checked == {"my run/report.html": {"atlas/index.html"}, "my run/atlas/index.html": {"../report.html"}}
    assert "my run/tables/stats.parquet" in names
    assert "my run/manifest.json" in names
    assert not any(name.startswith(("my run/state", "my run/figures")) for name in names)


def test_a_second_bundle_takes_the_place_of_the_first(study):
    first = write_bundle(study).read_bytes()
    assert write_bundle(study).read_bytes() == first
