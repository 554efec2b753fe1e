"""Tables that an earlier version wrote and that say something else now: they are left out, the page is made."""

import pytest

from headscope.analyses.syntax.relations import noop_of
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.measured import with_parts
from support.mock_study import write_study
from support.mock_syntax import with_treebank

pytestmark = pytest.mark.slow


def test_rest_of_dependents_that_do_not_attend(tmp_path):
    inputs = with_treebank(mock_inputs.encoder())
    now = write_study(inputs, tmp_path / "now")
    assert noop_of(now).equals(inputs.tables.get("syntax_noop"))
    assert "table-syntax-noop" in render_report(now)
    before = inputs.tables.get("syntax_noop").rename(columns={"attending": "dependents"})
    then = write_study(with_parts(inputs, syntax_noop=before), tmp_path / "then")
    assert noop_of(then) is None
    assert "table-syntax-noop" not in render_report(then)
