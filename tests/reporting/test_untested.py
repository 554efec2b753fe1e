"""What was not tested is not negative: runs of few documents, through the findings of every analysis."""

import re

import numpy as np
import pytest

from headscope.analyses.for_report import every_part
from headscope.reporting.story import findings, headline
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_distances import with_distances
from support.mock_importance import with_importance
from support.mock_probes import with_probes

# What only a test can say: that something is absent, not better, not different, or not trusted.
NEGATIVE = re.compile(
    r"\bfor none\b|\bnone of\b|\bnot shown\b|\bno head\b|\bcannot be told\b|\bno difference\b|\bno more than\b|"
    r"\bdo not trust\b|\bno relation\b",
    re.IGNORECASE,
)


def few(documents=4):
    """A run of every analysis on so few documents that nothing is tested."""
    run = mock_inputs.section_4(2, 3, documents=documents)
    run = with_probes(with_importance(run, intervals=False), documents=documents)
    run = with_distances(run, groups=documents)
    # Where two heads of a layer cannot be told from others is by permutations of heads, which few documents allow.
    return with_parts(run, layer_effect=None)


def one_document():
    """A run on one document: it has no halves, and no head is chosen on one and scored on the other."""
    run = few(1)
    return with_parts(
        run,
        **{
            name: run.tables.get(name)[run.tables.get(name)["selection"] != "held-out"].reset_index(drop=True)
            for name in ("syntax_best", "coref")
        },
    )


@pytest.mark.parametrize("run", [few(), one_document(), mock_inputs.random_weights(1, 2, documents=3)],
                         ids=["few", "one", "random"])  # fmt: skip
def test_nothing_negative_is_said_of_few_documents(run):
    said = [one.text for one in findings(run)]
    assert said
    wrong = [text for text in said if NEGATIVE.search(text)]
    assert not wrong
    assert "needs at least 10 documents" in headline(findings(run))[-1].text


def test_what_would_test_it_is_said_where_no_head_could_be_chosen():
    said = [one.text for one in findings(one_document())]
    untested = (
        "Whether a head beats the best fixed offset was not tested for the 23 relations: that needs at least 10 "
        "documents."
    )
    assert said[said.index(untested) + 1] == (
        "A head is selected on one half of the documents and scored on the other."
    )
    assert (
        "Which head finds antecedents was not tested: it is selected and scored on different halves of at least 10 "
        "documents."
    ) in said


def test_the_search_sees_what_it_looks_for():
    none = mock_inputs.section_4(2, 3)
    best = none.table("syntax_best").assign(q_value=0.2)
    said = [one.text for one in findings(with_parts(none, syntax_best=best))]
    assert [text for text in said if NEGATIVE.search(text)]


def test_a_hollow_dot_is_not_said_to_be_a_negative_result():
    run = mock_inputs.section_4(2, 3)
    best = run.tables.get("syntax_best").assign(q_value=np.nan)
    context = about(with_parts(run, syntax_best=best))
    pages = "".join(one.html for parts in every_part() for one in parts.sections(context))
    assert "○ if it is not shown to beat every offset, or was not tested" in pages
    assert "Not shown to beat every fixed offset" not in pages
