"""Contracts of every finding of every analysis: short, one claim, each number with its interval, never repeated."""

import re
from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from headscope.analyses.for_report import every_part
from headscope.present.linked_sentences import MOST_LISTED, HeadRef
from headscope.present.report_parts import Context, Parts
from headscope.reporting.story import all_findings, headline, leads_of_groups
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_behaviors import with_behaviors
from support.mock_compare import with_comparison
from support.mock_distances import with_distances
from support.mock_effect_kept import with_effect_kept
from support.mock_effects import with_effects
from support.mock_explanation import with_explanation
from support.mock_importance import FACTOR, with_importance
from support.mock_joint import with_joint_effects
from support.mock_norms import with_norms
from support.mock_probes import with_probes
from support.mock_why import with_why

MOST_WORDS, MOST_INTERVALS = 25, 2
INTERVAL = re.compile(r"\([^()]*\d to [−\d][^()]*\)")


def everything(run, *, documents=40):
    """Return the run with the tables of every analysis that has findings, without intervals for few documents."""
    tested = documents >= 10
    run = with_probes(with_importance(run, intervals=tested), documents=documents)
    run = with_behaviors(with_norms(run, intervals=tested), interval=tested)
    run = with_effects(with_explanation(with_distances(run)), intervals=tested, intervention="zero", direct=True)
    run = with_effect_kept(run, intervals=tested, kept={(1, 2): 0.1})
    run = with_why(run, established=True if tested else None, intervals=tested)
    return with_comparison(with_joint_effects(run, intervals=tested), intervals=tested)


def nothing_shown():
    """Return a run without positive findings: no relation beats its offset, no behavior, no stable cluster, no
    agreement.
    """
    run = with_importance(mock_inputs.section_4(4, 8), weighted={**FACTOR, "cls": 5.0})
    run = with_distances(with_behaviors(run, shown=False))
    return with_parts(
        run,
        syntax_best=run.tables.get("syntax_best").assign(q_value=0.2),
        coref_differences=run.tables.get("coref_differences").assign(ci_low=-0.1, ci_high=0.1),
        head_clusters=run.tables.get("head_clusters").assign(stability=0.5),
        layer_effect=run.tables.get("layer_effect").assign(p=0.5),
    )


def all_sinks():
    """Return a run in which every other layer attends to every special token, so that lists of layers are longest."""
    run = mock_inputs.two_kinds()
    stats = run.stats.copy()
    means = stats["head"].isna() & stats["statistic"].isin(["cls", "sep", "period_comma"])
    odd = means & (stats["layer"] % 2 == 1)
    stats.loc[odd, ["value", "ci_low", "ci_high", "uniform", "n_inputs"]] = [0.4, 0.35, 0.45, 0.01, 200]
    return with_importance(with_parts(run, stats=stats))


RUNS = {
    "encoder": lambda: everything(mock_inputs.section_4(6, 12)),
    "decoder": lambda: everything(mock_inputs.decoder(4, 8)),
    "three kinds": lambda: everything(mock_inputs.t5()),
    "two kinds": lambda: everything(mock_inputs.two_kinds()),
    "random weights": lambda: everything(mock_inputs.random_weights()),
    "few documents": lambda: everything(mock_inputs.section_4(2, 3, documents=4), documents=4),
    "nothing shown": nothing_shown,
    "all sinks": all_sinks,
}


@cache
def of_run(name):
    """Return the context of a run with its findings."""
    context = Context.of(RUNS[name]())
    return about(context.run, found=all_findings(context))


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_a_finding_is_a_short_sentence_with_few_numbers(run):
    findings = of_run(run).findings
    assert len(findings) > 8
    for each in findings:
        assert len(each.text.split()) <= MOST_WORDS, each.text
        assert len(INTERVAL.findall(each.text)) <= MOST_INTERVALS, each.text
        assert each.text.endswith("."), each.text
        # A finding is one sentence; conditions and additions go into a following finding.
        assert not re.search(r"[a-z)%]\. [A-Z]", each.text), each.text
        assert sum(isinstance(part, HeadRef) for part in each.parts) <= MOST_LISTED, each.text


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_no_finding_stands_twice_and_none_that_goes_on_stands_first(run):
    context = of_run(run)
    texts = [each.text for each in context.findings]
    assert sorted(set(texts)) == sorted(texts)
    first = headline(context.findings)
    leads = leads_of_groups(context, first).values()
    assert first
    assert not [each.text for each in (*first, *leads) if each.goes_on]
    before = set()
    for each in context.findings:
        # A continuation follows a finding of the same topic and kind.
        assert not each.goes_on or (each.topic, each.kind) in before, each.text
        before.add((each.topic, each.kind))


@pytest.mark.slow
def test_every_analysis_that_has_findings_is_among_them():
    (none,) = [field.default for field in fields(Parts) if field.name == "findings"]
    runs = [of_run(name) for name in RUNS]
    for parts in every_part():
        if parts.findings is not none:
            assert any(parts.findings(run) for run in runs), parts.terms


def test_the_search_for_intervals_finds_them():
    text = "Head 1-2 has 41.0% (95% interval 40.1 to 42.0), then −1.0 points (−2.0 to −0.1), of 12 (3 to 4 seeds)."
    assert len(INTERVAL.findall(text)) == 3
    assert INTERVAL.findall("Heads of layers 2 to 5 (q < 0.05).") == []
    assert np.isfinite(MOST_LISTED)
