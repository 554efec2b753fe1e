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
    assert (beside / "surface.csv").is_file()


def test_latex_and_excel(cli, study, tmp_path):
    assert cli("export", study.path, "--format", "latex", "--out", tmp_path / "a")[0] == 0
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["table-1.tex", "table-2.tex"]
    code, said, _ = cli("export", study.path, "--format", "xlsx", "--out", tmp_path / "b")
    assert (code, said) == (0, f"table: {tmp_path / 'b' / 'headscope.xlsx'}\n")


def test_a_format_that_there_is_not_is_refused(cli, study):
    assert cli("export", study.path, "--format", "word") == (
        2, "", "headscope: --format is 'word'; expected one of csv, latex, xlsx\n"
    )  # fmt: skip
