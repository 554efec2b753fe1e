"""Which heads a model's configuration calls guided, and what is not believed of it."""

from types import SimpleNamespace

import pytest

from headscope.declarations.run_options import RunOptions
from headscope.models.identity import GUIDED, guided_heads
from headscope.prepare.prepared_run import prepare

FIELD = {"heads": ["1-1", "2-8"], "share": 0.2}


def test_the_field_is_read_as_it_is_written():
    assert guided_heads(SimpleNamespace(guided_heads=FIELD)) == FIELD
    assert guided_heads(SimpleNamespace()) is None


@pytest.mark.parametrize(
    "field",
    [
        "1-1",
        ["1-1"],
        {"heads": "1-1", "share": 0.2},
        {"heads": [], "share": 0.2},
        {"heads": ["<b>"], "share": 0.2},
        {"heads": ["1-1", 3], "share": 0.2},
        {"heads": ["0-1"], "share": 0.2},
        {"heads": ["1-1"]},
        {"heads": ["1-1"], "share": "0.2"},
        {"heads": ["1-1"], "share": 0.0},
        {"heads": ["1-1"], "share": float("nan")},
    ],
)
def test_what_is_not_as_it_should_be_is_not_read(field):
    assert guided_heads(SimpleNamespace(guided_heads=field)) is None


def test_a_run_s_manifest_names_them():
    run = prepare(RunOptions(model="headscope-decoder", max_inputs=2, stages=("stats",)))
    setattr(run.loaded.model.config, GUIDED, FIELD)
    assert run.facts()[GUIDED] == FIELD
    setattr(run.loaded.model.config, GUIDED, None)
    assert GUIDED not in run.facts()
