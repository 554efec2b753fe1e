"""What the page, the atlas and the terminal say of jobs, against tables made by hand."""

import json

import pytest

from headscope.analyses.jobs.findings import job_findings
from headscope.analyses.jobs.in_terminal import render_results
from headscope.analyses.jobs.on_cards import job_cards
from headscope.analyses.jobs.section import IN_TREES, job_section
from headscope.analyses.jobs.tables import COUNTS, EXAMPLES, JOBS, TOKENS
from headscope.analyses.stage_result import StageResult
from headscope.report_kit.kinds import kinds_of
from headscope.views.markup import json_text
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_jobs import with_jobs_in_trees
from support.stand_ins import table_of


def tables():
    """Head 1-1 has one job, head 2-3 two; no other is active."""
    rows, tokens, examples = [], [], []
    for layer, head, job, jobs, share, description in (
        (1, 1, 1, 1, 1.0, "looks back one token"),
        (2, 3, 1, 2, 0.75, "looks at an earlier copy, about 20 tokens back"),
        (2, 3, 2, 2, 0.25, "looks ahead one token"),
    ):
        place = {"corpus": "text", "kind": "encoder", "layer": layer, "head": head, "job": job}
        told = {
            "jobs": jobs,
            "q_value": 0.3 if jobs == 1 else 0.001,
            "share": share,
            "ci_low": 0.9 * share,
            "ci_high": min(1, 1.1 * share),
        }
        rows.append({**place, **told, "description": description, "n_rows": 400, "active": 0.5})
        if jobs > 1:
            rows[-1]["agreement"] = 0.9
            token = {"side": "key", "rank": 1, "token": f"word{job}", "log_odds": 1.5, "z": 4.0, "n_rows": 30}
            tokens.append({**place, **token})
        row = {"document": "a", "segment": 0, "row": 12, "key": 11, "weight": 0.5, "start": 11}
        row["continues_word"] = []
        row |= {"row_tag": "", "key_tag": ""}
        examples.append({**place, "rank": 1, **row, "tokens": ["the", "cat"], "key_token": "the"})
    return {
        "jobs": table_of(JOBS, rows),
        "job_tokens": table_of(TOKENS, tokens),
        "job_examples": table_of(EXAMPLES, examples),
        "job_counts": table_of(
            COUNTS, [("text", "encoder", "trained", 2, 2, 1, 800), ("text", "encoder", "control", 6, 6, 0, 900)]
        ),
    }


@pytest.fixture(scope="module")
def run():
    return with_parts(mock_inputs.encoder(2, 3), **tables())


def test_the_page_says_which_heads_have_several(run):
    assert [finding.text for finding in job_findings(about(run))] == [
        "1 of 2 heads has several jobs: 2-3.",
        "Heads active in at least 100 rows are counted; with random weights 0 of 6 have several jobs.",
    ]
    (section,) = job_section(about(run))
    page = str(section.html)
    for words in ("2 of 2", "25.0", "22.5 to 27.5", "Looks ahead one token", "word2", "90.0 to 100.0"):
        assert f">{words}<" in page


def test_what_was_not_tested_is_called_so(run):
    untested = run.tables.get("jobs").assign(q_value=float("nan"), jobs=1)
    untested = untested[untested["job"] == 1]
    (finding,) = job_findings(about(with_parts(mock_inputs.encoder(2, 3), jobs=untested)))
    assert finding.text == (
        "Whether heads have several jobs was not tested, which needs rows of at least 10 documents."
    )
    counts = table_of(COUNTS, [("text", "encoder", "trained", 2, 0, 0, 800)])
    result = StageResult(name="jobs", tables={**tables(), "job_counts": counts})
    _, line, _ = render_results(result)
    assert line == "no head was tested for several jobs, which needs rows of 10 documents"


def test_a_run_that_looked_for_no_jobs_says_nothing():
    bare = mock_inputs.encoder(2, 3)
    assert (job_findings(about(bare)), job_section(about(bare))) == ([], [])
    assert job_cards(bare, kinds_of(bare)[0]) == {"jobs": {"text": None, "treebank": None}}


def test_a_card_has_its_jobs(run):
    told = json.loads(json_text(job_cards(run, kinds_of(run)[0])))["jobs"]["text"]
    assert set(told["heads"]) == {"0", "5"}
    first, second = told["heads"]["5"]
    assert (first["share"], second["low"], second["description"]) == (0.75, 0.225, "looks ahead one token")
    assert [told["words"][word][0] for word in first["at"]] == ["word1"]
    weight, key, apart, at, words = second["rows"][0]
    assert (weight, apart, at) == (0.5, 1, 1)
    assert [told["words"][word][0] for word in (key, *words)] == ["the", "the", "cat"]


def test_jobs_in_a_treebank_stand_by_themselves():
    run = with_jobs_in_trees(mock_inputs.encoder(2, 3))
    found = job_findings(about(run))
    in_text, _, in_trees, _ = found
    assert in_trees.text == in_text.text.replace("several jobs", "several jobs in the treebank")
    assert not any("random weights" in one.text for one in found)  # of which nothing was measured
    (section,) = job_section(about(run, found=found))
    page = str(section.html)
    assert page.index(in_text.parts[0]) < page.index(IN_TREES) < page.index(in_trees.parts[0])
    assert "Table: the jobs of every head in the treebank" in page
    assert page.count("Looks back one token, from nouns") == page.count(">Looks back one token<")
    cards = job_cards(run, kinds_of(run)[0])
    assert cards["jobs"]["treebank"]["heads"][0][0]["description"] == "looks back one token, from nouns"
    both = {schema.name: run.tables.get(schema.name) for schema in (JOBS, TOKENS, EXAMPLES)}
    counts = tables()["job_counts"]
    result = StageResult(name="jobs", tables={**both, "job_counts": counts})
    first, _, _, second, grid, _ = render_results(result)
    assert (first, second) == ("In the text", "In the treebank")
    assert grid.rows[0][3] == "looks back one token, from nouns"


def test_a_terminal_has_a_line_a_job():
    grid, counts, legend = render_results(StageResult(name="jobs", tables=tables()))
    assert counts == "1 of 2 heads have several jobs; with random weights 0 of 6"
    assert [row[:3] for row in grid.rows] == [
        *(["1-1", "1 of 1", "100%"], ["2-3", "1 of 2", "75%"], ["2-3", "2 of 2", "25%"])
    ]
    assert grid.rows[2][5] == "word2"
    assert "fewer than 100" in legend
