"""Tables that an earlier version wrote and that say something else now: they are left out, the page is made."""

from pathlib import Path

from headscope.reporting.page import render_report
from headscope.reporting.run import inputs_of
from headscope.study.study import Study
from support import mock_inputs
from support.mock_syntax import with_treebank


class Kept(Study):
    """A study that holds the tables of these inputs, some of them changed."""

    def __init__(self, inputs, **changed):
        super().__init__(Path("nowhere"), inputs.manifest)
        self.kept = vars(inputs) | changed
        self.surface, self.roles, self.examples = inputs.surface, inputs.roles, inputs.examples

    def optional_table(self, name):
        return self.kept.get(name)


def test_rest_of_dependents_that_do_not_attend():
    inputs = with_treebank(mock_inputs.encoder())
    now = inputs_of(Kept(inputs))
    assert now.dependency_noop is inputs.dependency_noop
    assert "table-syntax-noop" in render_report(now)
    before = inputs.dependency_noop.rename(columns={"attending": "dependents"})
    then = inputs_of(Kept(inputs, dependency_noop=before))
    assert then.dependency_noop is None
    assert "table-syntax-noop" not in render_report(then)
