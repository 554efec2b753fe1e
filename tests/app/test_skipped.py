"""A report without what can be skipped: the statistics of attention, and the page that stands on them."""

import pytest

import headscope as hs
from headscope.scans.declarations.analysis_list import SKIPPABLE
from support.model_folders import save_tiny_bert

pytestmark = pytest.mark.slow


def test_a_report_without_all_that_can_be_skipped(tmp_path):
    model = save_tiny_bert(tmp_path / "tiny")
    text = ["the cat sat", "the dog ran"]
    study = hs.report(str(model), text=text, max_length=32, skip=SKIPPABLE, out=tmp_path / "out")
    assert [*study.manifest["stages"]] == ["stats"]
    assert 'id="section-position"' in study.report_path.read_text(encoding="utf-8")
