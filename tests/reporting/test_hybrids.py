"""Layers of a model of which some have no attention: counted within their kind, told with the model's own number."""

import pytest

from headscope.present.kinds import kinds_of
from headscope.present.manifest import _misshapen
from headscope.reporting.payload import data_block
from headscope.reporting.report_page import render_report
from support import mock_inputs
from support.measured import with_parts


@pytest.fixture(scope="module")
def run():
    made = mock_inputs.decoder(2, 3)
    (kind,) = made.manifest["kinds"]
    return with_parts(made, manifest={**made.manifest, "kinds": [{**kind, "own": [3, 7]}]})


def test_layers_are_told_by_the_models_number(run):
    (kind,) = kinds_of(run)
    assert [kind.layer_name(layer) for layer in (1, 2)] == ["1 (model’s 3)", "2 (model’s 7)"]
    assert data_block(run)["kinds"][0]["own"] == [3, 7]
    page = render_report(run)
    assert page.count('<th scope="row">1 (model’s 3)</th>') == page.count('<th scope="row">2 (model’s 7)</th>') > 2


def test_other_models_layers_have_one_number():
    plain = mock_inputs.decoder(2, 3)
    (kind,) = kinds_of(plain)
    assert kind.layer_name(2) == "2"
    assert "own" not in data_block(plain)["kinds"][0]


@pytest.mark.parametrize("own", [[3], "37", [3, "7"], None])
def test_numbers_that_do_not_fit_are_damage(run, own):
    (kind,) = run.manifest["kinds"]
    content = {**run.manifest, "kinds": [{**kind, "own": own}]}
    assert _misshapen(run.manifest) is None
    assert _misshapen(content) == "kinds"
