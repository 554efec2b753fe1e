"""The page of a comparison in a browser: linked grids, cards on the same sentences, keyboard, phone."""

import base64
import json
import re

import numpy as np
import pytest
import torch

from headscope.analyses.compare.pair_page import render_comparison, write_page
from headscope.models.load_model import load_model
from headscope.present.study import open_study
from headscope.reporting.study_words import STUDY_WORDS
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.views.quantize import read_weights
from support import mock_inputs
from support.axe import violations
from support.mock_compare import with_comparison

WORDS = ("cat", "sat", "on", "mat", "and", "it", "slept", "while", "rain", "fell", "over", "old", "stone", "walls")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A run that compares the embedded model with a copy whose head 3-5 has other queries."""
    folder, draw = tmp_path_factory.mktemp("compare"), np.random.default_rng(0)
    loaded = load_model(None)
    with torch.no_grad():
        query = loaded.model.encoder.layer[2].attention.self.query.weight.view(12, 32, -1)
        query[4] = query[4].flip(0)
    loaded.model.save_pretrained(folder / "other")
    loaded.tokenizer.save_pretrained(folder / "other")
    lines = [f"{' '.join(draw.choice(WORDS, 12))}.\n{' '.join(draw.choice(WORDS, 9))}." for _ in range(12)]
    (folder / "text.txt").write_text("\n\n".join(lines))
    options = RunOptions(text=(str(folder / "text.txt"),), other=str(folder / "other"), stages=("compare",), controls=0)
    write_run(prepare(options), folder / "run")
    return open_study(folder / "run", words=STUDY_WORDS)


def test_the_page_holds_the_numbers_of_the_tables(study):
    page = write_page(study).read_text(encoding="utf-8")
    data = json.loads(re.search(r'id="comparison">(.*?)</script>', page, re.DOTALL).group(1))
    (kind,) = data["kinds"]
    table = study.tables["head_changes"].set_index(["layer", "head"])
    assert len(kind["pairs"]) == len(table) == 72
    for pair in kind["pairs"]:
        row = table.loc[pair["first"] // 12 + 1, pair["first"] % 12 + 1]
        assert pair["second"] == pair["first"]
        assert pair["change"] == pytest.approx(row["change"], abs=1e-6)
        assert pair["framed"] == (row["verdict"] == "changed")
    first = kind["pairs"][0]
    assert first["first"] == 2 * 12 + 4
    examples = study.tables["compare_examples"]
    example = examples[(examples["layer"] == 3) & (examples["head"] == 5) & (examples["rank"] == 1)].iloc[0]
    for side, prefix in (("first", ""), ("second", "other_")):
        shown = first["sentences"][0][side]
        assert shown["queries"] == list(example[f"{prefix}tokens"])
        size = len(shown["queries"]), len(shown["keys"])
        weights = np.reshape(example[f"{prefix}weights"], size)
        assert np.allclose(weights.sum(1), 1, atol=1e-5)
        assert np.allclose(read_weights(base64.b64decode(shown["bytes"]), size), weights, atol=1 / 255)


@pytest.mark.browser
def test_the_grids_are_linked_and_a_pair_opens(study, visit_file):
    page = visit_file(write_page(study))
    grids = [page.locator(f"#grid-{side} button[role=gridcell]") for side in "AB"]
    assert [grid.count() for grid in grids] == [72, 72]
    grids[0].nth(17).hover()
    assert grids[1].nth(17).get_attribute("data-lit") == "yes"
    assert "Head 2-6 of A and 2-6 of B" in page.locator("#readout").inner_text()
    grids[1].nth(20).click()
    assert "2-9 in A, 2-9 in B" in page.locator("#pair h2").inner_text()
    assert grids[0].nth(20).get_attribute("aria-selected") == "true"
    assert page.locator("#pair .drawn svg").count() == 3
    page.locator("#pair .key").nth(1).click()
    assert page.locator("#pair .key").nth(1).get_attribute("aria-pressed") == "true"
    grids[0].nth(0).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "2-2 in A" in page.locator("#pair h2").inner_text()
    assert page.url.endswith("#encoder-2-2")
    assert violations(page) == []


@pytest.mark.browser
def test_each_kind_of_attention_has_its_grids(visit_file, tmp_path):
    run = with_comparison(mock_inputs.two_kinds())
    path = tmp_path / "compare.html"
    path.write_text(render_comparison(run), encoding="utf-8")
    page = visit_file(path)
    for part in run.manifest["kinds"]:
        page.locator(f"#kinds button[data-kind={part['kind']}]").click()
        assert page.locator("#grid-A button[role=gridcell]").count() == part["layers"] * part["heads"]
        assert page.locator(f"#{part['kind']}-1-1").count() == 1


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_page_without_scrolling_sideways(study, visit_file, scheme):
    page = visit_file(write_page(study), width=390, height=844, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    sizes = page.evaluate(
        "[...document.querySelectorAll('.sides button')].map(cell => cell.getBoundingClientRect().width)"
    )
    assert min(sizes) >= 16
