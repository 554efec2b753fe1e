"""Effects in the page and the terminal: sentences that their intervals support, a table read back, and the figure."""

import numpy as np
import pytest

from headscope.analyses.effects.head_effects import added_losses, effect_figure
from support import mock_inputs
from support.effect_pages import sections, sentences, terminal
from support.measured import only, with_parts
from support.mock_effects import added_loss, with_effects
from support.page_tables import Tables


def findings(inputs):
    return sentences(inputs, "effects", "effects_aside")


@pytest.fixture(scope="module")
def inputs():
    return with_effects(mock_inputs.encoder(2, 4))


def test_what_is_said(inputs):
    said = findings(inputs)
    assert [each.text for each in said] == [
        "Without head 1-1 the loss rises most: by 0.200 nats (95% interval 0.198 to 0.202).",
        "6 heads of 8 change the loss: 1-1, 1-2, 1-3 and 3 more; 2 do not (within 0.01 nats).",
        "Heads that change nothing alone may do so together: heads with the same function compensate for each other.",
        "The loss falls without 2-4.",
    ]
    assert [each.goes_on for each in said] == [False, False, True, False]
    assert {each.topic for each in said} == {"effects"}
    assert all(len(each.text.split()) <= 25 for each in said)


def test_other_interventions_have_words_of_their_own():
    for intervention, start, end in (
        ("zero", "Without head 1-1 the loss rises", "The output of each head in turn was set to zero."),
        ("uniform", "With uniform attention in head 1-1", "Each head in turn attended to all tokens uniformly."),
        ("sink", "With all attention of head 1-1 on a sink", "Each head in turn attended to a sink token alone."),
    ):  # fmt: skip
        run = with_effects(mock_inputs.encoder(2, 4), intervention=intervention)
        said = findings(run)
        assert said[0].text.startswith(start)
        assert end in [each.text for each in sentences(run, "effects_loss")]
        assert all(len(each.text.split()) <= 25 for each in said)
    last = findings(with_effects(mock_inputs.encoder(2, 4), intervention="sink"))[-1]
    assert last.text == "The loss falls with all attention on a sink in 2-4."


def test_where_nothing_is_shown_nothing_is_claimed():
    said = [each.text for each in findings(with_effects(mock_inputs.encoder(2, 4), width=1.0))]
    assert said == ["No head of 8 is shown to change the loss: 8 are undecided."]


def test_one_head_is_spoken_of_as_one():
    said = [each.text for each in findings(with_effects(mock_inputs.encoder(2, 4), width=0.15))]
    assert said[0] == "Without head 1-1 the loss rises by 0.200 nats (95% interval 0.050 to 0.350)."
    assert said[1] == "1 head of 8 changes the loss: 1-1; 7 are undecided."


def test_an_effect_that_is_shown_and_tiny_is_not_named():
    inputs = with_effects(mock_inputs.encoder(2, 4))
    table = inputs.table("effects").copy()
    table[["value", "ci_low", "ci_high"]] *= 1e-4
    assert (table.loc[table["measure"] == "loss", "q_value"] < 0.05).all()
    said = [each.text for each in findings(with_parts(inputs, effects=table))]
    assert said[0] == "No head of 8 is shown to change the loss: 8 do not (within 0.01 nats)."


def test_every_head_changes_the_loss_or_does_not_or_is_undecided():
    """Count the verdicts of 8 intervals: two far from 0, one around 0, five that reach beyond 0.01 nats."""
    inputs = with_effects(mock_inputs.encoder(2, 4))
    table = inputs.table("effects").copy()
    ends = [(0.2, 0.19, 0.21), (0.05, 0.04, 0.06), (0.001, -0.001, 0.003), *[(0.008, -0.02, 0.036)] * 5]
    loss = table["measure"] == "loss"
    table.loc[loss, ["value", "ci_low", "ci_high"]] = ends
    table.loc[loss, "q_value"] = [0.001, 0.001, *[0.5] * 6]
    said = [each.text for each in findings(with_parts(inputs, effects=table))]
    assert said[1] == "2 heads of 8 change the loss: 1-1 and 1-2; 1 does not (within 0.01 nats), 5 are undecided."


def test_few_documents_are_said_to_be_few():
    said = [each.text for each in findings(with_effects(mock_inputs.encoder(2, 4), intervals=False))]
    assert said == ["Which heads change the loss was not tested: an interval needs at least 10 documents."]


def test_kinds_are_told_apart():
    said = findings(with_effects(mock_inputs.t5()))
    assert {each.kind for each in said} == {"encoder", "decoder", "cross"}
    assert any("heads of 12 of cross attention change the loss" in each.text for each in said)
    assert all(len(each.text.split()) <= 25 for each in said)


def test_a_run_without_effects_has_no_section():
    plain = mock_inputs.encoder(2, 3)
    assert sections(plain, "effects") == []
    assert findings(plain) == []


def test_the_table_is_the_frame(inputs):
    page = Tables(only(sections(inputs, "effects")))
    rows = page.found["table-effects-encoder"]
    assert rows[1] == ["head", "nats", "95% interval", "q", "nats", "95% interval", "attribution", "gate"]
    frame = inputs.tables.get("effects").set_index(["layer", "head", "measure"])
    assert len(rows) == 2 + 8
    for row in rows[2:]:
        layer, head = map(int, row[0].split("-"))
        loss, divergence = frame.loc[layer, head, "loss"], frame.loc[layer, head, "kl"]
        read = [float(cell.replace("−", "-")) for cell in (row[1], *row[2].split(" to "), row[4])]
        expected = [loss["value"], loss["ci_low"], loss["ci_high"], divergence["value"]]
        assert read == pytest.approx(expected, rel=0.06, abs=5e-4)
        assert row[3] == "0.001"
    assert "The loss is that of masked language modeling: 3.46 nats a token with all heads unchanged" in page.text
    assert "Without head 1-1 the loss rises most" in page.text


def test_the_figure_has_a_point_a_head_at_its_effect(inputs):
    effects = added_losses(inputs.tables.get("effects"), "encoder")
    assert [each.added.value for each in effects] == sorted((each.added.value for each in effects), reverse=True)
    figure = effect_figure(effects, kind="encoder", roles=inputs.roles)
    (ax,) = figure.axes
    points = np.concatenate(
        [each.get_offsets() for each in ax.collections if (each.get_gid() or "").startswith("heads--")]
    )
    drawn = sorted(points[:, 1].tolist())
    expected = sorted(added_loss(layer, head, 4) for layer in (1, 2) for head in (1, 2, 3, 4))
    np.testing.assert_allclose(drawn, expected)
    low, high = ax.get_ylim()
    assert low < min(expected)
    assert high > max(expected)
    assert ax.get_ylabel() == "added loss, nats"


def test_in_the_terminal_the_largest_come_first(inputs):
    (grid, _), lines = terminal(inputs)
    assert [row[0] for row in grid.rows][:3] == ["1-1", "1-2", "1-3"]
    assert grid.rows[0] == ["1-1", "0.200", "0.198 to 0.202", "0.001", "0.067", "0.065 to 0.069", "0.160", "0.210"]
    assert lines[0] == (
        "- The loss is that of masked language modeling: 3.46 nats a token with all heads unchanged, over 96 inputs, "
        "864 tokens predicted."
    )
    assert lines[2] == "  Detecting an effect of 0.01 nats takes about 91 documents."
    assert "- Effects on single logits are not known here: direct effects are of decoders alone." in lines
    facts = {**inputs.manifest["effects"], "documents_needed": None}
    _, without = terminal(with_parts(inputs, manifest={**inputs.manifest, "effects": facts}))
    assert not [line for line in without if "Detecting" in line]


def test_a_model_without_a_gradient_says_why():
    inputs = with_effects(mock_inputs.encoder(2, 4), gradient=False)
    line = "First-order estimates are not known here: no gradient passes through its QuantLinear."
    assert f"  {line}" in terminal(inputs)[1]
    assert line in Tables(only(sections(inputs, "effects"))).text


def test_a_table_without_its_kind_has_no_finding():
    inputs = with_effects(mock_inputs.t5())
    table = inputs.tables.get("effects")
    fewer = with_parts(inputs, effects=table[table["kind"] == "cross"])
    assert {each.kind for each in findings(fewer)} == {"cross"}
