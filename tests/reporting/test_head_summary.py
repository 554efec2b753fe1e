"""The line that names a head: its strongest supported fact, by the order of the rule."""

import numpy as np
import pytest

from headscope.reporting.head_summary import NOTHING_SUPPORTED, head_summaries
from headscope.statistics.roles import OTHERWISE
from support import mock_inputs
from support.measured import with_parts
from support.mock_behaviors import place_of, with_behaviors
from support.mock_explanation import with_explanation


@pytest.fixture(scope="module")
def relations():
    return mock_inputs.section_4()


def _finders(run):
    rows = run.roles
    return {
        (row["kind"], row["layer"], row["head"]): list(row["finds"])
        for row in rows.to_dict("records")
        if len(row["finds"])
    }


@pytest.mark.parametrize(
    "add", [lambda run: run, with_behaviors, with_explanation], ids=["alone", "behaviors", "explained"]
)
def test_what_a_head_finds_comes_first_whatever_else_is_known(relations, add):
    run = add(relations)
    summaries, finders = head_summaries(run), _finders(run)
    assert finders
    for head, names in finders.items():
        assert summaries[head].name.removeprefix("Finds ") in {name.removeprefix("nmod:") for name in names} | set(
            names
        )


def test_a_behavior_comes_before_the_role_unless_the_role_says_it_more_exactly():
    run = with_behaviors(mock_inputs.encoder())
    summaries = head_summaries(run)
    layer, head = place_of("induction", 6, 12)
    assert summaries["encoder", layer, head].text.startswith("Induction")
    # Where a head's role is the previous token, that it attends nearby is told by its role.
    layer, head = place_of("local", 6, 12)
    assert summaries["encoder", layer, head].name.startswith("Local")
    here = (run.roles["layer"] == layer) & (run.roles["head"] == head)
    changed = with_parts(run, roles=run.roles.assign(role=run.roles["role"].mask(here, "previous")))
    assert head_summaries(changed)["encoder", layer, head].name == "Previous token"


def test_what_an_explained_head_looks_at_comes_before_behaviors_and_roles():
    run = with_explanation(with_behaviors(mock_inputs.encoder(4, 8)))
    for head, summary in head_summaries(run).items():
        assert (summary.name, summary.rest.partition(" (")[0]) == ("Previous token", ": attends to [CLS]"), head


def test_a_role_is_told_with_its_number_and_none_where_there_is_none():
    run = mock_inputs.encoder()
    summaries = head_summaries(run)
    for row in run.roles.to_dict("records"):
        summary = summaries[row["kind"], row["layer"], row["head"]]
        if row["role"] == OTHERWISE:
            assert summary.text == NOTHING_SUPPORTED
        else:
            assert summary.name != NOTHING_SUPPORTED
            assert "95% interval" in summary.rest
    value, low, high = run.stats[
        (run.stats["layer"] == 1) & (run.stats["head"] == 2) & (run.stats["statistic"] == "previous")
    ][["value", "ci_low", "ci_high"]].to_numpy(np.float64)[0]
    assert summaries["encoder", 1, 2].text == (
        f"Previous token: {100 * value:.1f}% of its attention is on the previous token "
        f"(95% interval {100 * low:.1f} to {100 * high:.1f})"
    )


def test_every_head_of_every_kind_has_a_line():
    run = mock_inputs.t5()
    assert set(head_summaries(run)) == {
        (kind["kind"], layer, head)
        for kind in run.manifest["kinds"]
        for layer in range(1, kind["layers"] + 1)
        for head in range(1, kind["heads"] + 1)
    }
