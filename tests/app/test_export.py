"""`headscope export`: a study's tables beside it, as it was asked for."""

import pytest

from support import mock_inputs
from support.mock_study import write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(mock_inputs.section_4(2, 3), tmp_path_factory.mktemp("runs") / "study")


def test_beside_the_study_where_nothing_is_said(cli, study):
    code, said, err = cli("export", study.path)
    assert (code, err) == (0, "")
    beside = study.path.with_name("study-export")
    assert said.splitlines()[0] == f"table: {beside / 'table-1.csv'}"
    assert said.splitlines()[-1].endswith(f" more tables in {beside}")
    assert (beside / "stats.csv").is_file()


def test_latex_and_excel(cli, study, tmp_path):
    assert cli("export", study.path, "--format", "latex", "--out", tmp_path / "a")[0] == 0
    names = [table.name for table in study.paper_tables()]
    assert sorted(path.stem for path in (tmp_path / "a").iterdir()) == names
    assert names[:2] == ["table-1", "table-2"]
    code, said, _ = cli("export", study.path, "--format", "xlsx", "--out", tmp_path / "b")
    assert (code, said) == (0, f"table: {tmp_path / 'b' / 'headscope.xlsx'}\n")


def test_a_format_that_there_is_not_is_refused(cli, study):
    assert cli("export", study.path, "--format", "word") == (
        2, "", "headscope: --format is 'word'; expected one of csv, latex, xlsx\n"
    )  # fmt: skip


@pytest.mark.slow
def test_figures_for_a_paper(cli, study, tmp_path):
    """Alone where no format is asked for; as wide as they are said to be."""
    code, said, err = cli("export", study.path, "--figures", "one", "--out", tmp_path / "a")
    assert (code, err) == (0, "")
    folder = tmp_path / "a" / "figures-one"
    names = {path.name for path in folder.iterdir()}
    assert said == f"figures: {len(names)} files in {folder}\n"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["figures-one"]
    stems = {name.rpartition(".")[0] for name in names}
    assert names == {f"{stem}.{form}" for stem in stems for form in ("pdf", "svg")}
    assert {"figure-1", "figure-2", "figure-4", "figure-5", "relations-by-layer"} <= stems
    for path in folder.glob("*.svg"):
        assert 'width="237.6pt"' in path.read_text(encoding="utf-8"), path.name
    for path in folder.glob("*.pdf"):
        assert b"/MediaBox [ 0 0 237.6 " in path.read_bytes(), path.name


@pytest.mark.slow
def test_figures_for_slides(cli, study, tmp_path):
    """As wide as in the pages, as PNG too."""
    code, said, err = cli("export", study.path, "--figures", "screen", "--out", tmp_path)
    assert (code, err) == (0, "")
    folder = tmp_path / "figures-screen"
    names = {path.name for path in folder.iterdir()}
    assert said == f"figures: {len(names)} files in {folder}\n"
    stems = {name.rpartition(".")[0] for name in names}
    assert names == {f"{stem}.{form}" for stem in stems for form in ("pdf", "png", "svg")}
    assert {"figure-1", "figure-2", "figure-4", "figure-5", "relations-by-layer"} <= stems
    assert (folder / "figure-2.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_figures_in_the_style_of_a_conference(cli, study, tmp_path):
    """As wide as its text, in a type like Times, in no font of type 3, which conferences refuse."""
    code, _, err = cli("export", study.path, "--figures", "one", "--style", "neurips", "--out", tmp_path / "a")
    assert (code, err) == (0, "")
    folder = tmp_path / "a" / "figures-one"
    for path in folder.glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        assert 'width="396pt"' in text, path.name
        assert "STIXGeneral" in text, path.name
    for path in folder.glob("*.pdf"):
        assert b"/Subtype /Type3" not in path.read_bytes(), path.name


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--style", "acl"), "--style is of figures; give --figures one or two with it"),
        (
            ("--figures", "screen", "--style", "acl"),
            "--style applies to paper widths; leave it out with --figures screen",
        ),
        (
            ("--figures", "one", "--style", "neurip"),
            "--style 'neurip' is not known; choose one of plain, neurips, acl; did you mean neurips?",
        ),
    ],
)
def test_another_style_is_refused(cli, study, tmp_path, given, words):
    assert cli("export", study.path, *given, "--out", tmp_path / "a") == (2, "", f"headscope: {words}\n")
    assert not (tmp_path / "a").exists()


def test_another_width_is_refused(cli, study, tmp_path):
    assert cli("export", study.path, "--figures", "3", "--out", tmp_path) == (
        2, "", "headscope: --figures is '3'; expected one, two (columns of a page) or screen\n"
    )  # fmt: skip
    (tmp_path / "file").touch()
    code, _, err = cli("export", study.path, "--figures", "one", "--out", tmp_path / "file")
    assert (code, err) == (2, f"headscope: {tmp_path / 'file'} is a file; --out expects a folder, new or not\n")
