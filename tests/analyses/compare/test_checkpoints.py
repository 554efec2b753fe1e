"""Checkpoints compared with the last of them: when a head settles, the table, and the page in a browser."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.compare.checkpoints import Checkpoints, first_of_the_last_run, render_checkpoints
from headscope.app.cli.program import main
from headscope.errors import OptionError
from headscope.present.report_parts import Context
from headscope.present.words import capital
from support.axe import violations


def test_a_head_settles_where_every_later_comparison_says_same():
    draw = np.random.default_rng(0)
    same = draw.random((200, 5)) < 0.7
    for row, first in zip(same, first_of_the_last_run(same), strict=True):
        settled = [at for at in range(6) if row[at:].all()]  # after the last column nothing differs
        assert first == settled[0], row


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """Comparisons of two changed copies of the embedded model with the model itself, by the command."""
    import torch

    from headscope.models.load_model import load_model
    from headscope.present.study import open_study
    from headscope.reporting.study_words import STUDY_WORDS

    folder, draw = tmp_path_factory.mktemp("checkpoints"), np.random.default_rng(0)
    words = ["cat", "sat", "on", "mat", "and", "it", "slept", "while", "rain", "fell", "over", "old", "stone"]
    lines = [f"{' '.join(draw.choice(words, 12))}.\n{' '.join(draw.choice(words, 9))}." for _ in range(12)]
    (folder / "text.txt").write_text("\n\n".join(lines))
    for name, heads in (("first", (4, 7)), ("second", (4,))):
        loaded = load_model(None)
        with torch.no_grad():
            query = loaded.model.encoder.layer[2].attention.self.query.weight.view(12, 32, -1)
            for head in heads:
                query[head] = query[head].flip(0)
        loaded.model.save_pretrained(folder / name)
        loaded.tokenizer.save_pretrained(folder / name)
    models = [str(folder / "first"), str(folder / "second"), "headscope-minilm"]
    text = ["--text", str(folder / "text.txt"), "--controls", "0", "--quiet"]
    with pytest.raises(SystemExit) as ended:
        main(["compare", *models, *text, "--out", str(folder / "out")])
    assert ended.value.code == 0
    with pytest.raises((SystemExit, OptionError)):
        main(["compare", *models, *text])
    return [open_study(folder / "out" / number, words=STUDY_WORDS) for number in ("01", "02")]


def test_heads_settle_when_their_queries_are_those_of_the_last_model(studies):
    settled = Checkpoints(studies).settled
    assert settled["encoder", 3, 8] == 2
    assert settled["encoder", 3, 5] == 3
    assert (settled[settled.index.get_level_values("layer") < 3] == 1).all()
    sentences = Checkpoints(studies).sentences()
    named = [f"{layer}-{head}" for _, layer, head in settled.index[settled == 2]]
    assert any(each.startswith(named[0]) and each.endswith(" the same from second on.") for each in sentences)
    assert any("not shown to be the same as in headscope-minilm" in each and "3-5" in each for each in sentences)


def test_the_page_has_the_numbers_of_the_tables(studies):
    page = render_checkpoints(Checkpoints(studies))
    data = json.loads(re.search(r'id="comparison">(.*?)</script>', page, re.DOTALL).group(1))
    (kind,) = data["kinds"]
    assert len(kind["pairs"]) == 72
    named = Context.of(studies[0]).words.statistics
    labels = {name: capital(words) for name, words in named.items()}
    measures = pd.concat([each.tables["measure_changes"].assign(at=at) for at, each in enumerate(studies)])
    for head in kind["pairs"]:
        layer, number = head["first"] // 12 + 1, head["first"] % 12 + 1
        for at, study in enumerate(studies):
            row = study.tables["head_changes"].set_index(["layer", "head"]).loc[(layer, number)]
            assert head["changes"][at][0] == pytest.approx(row["change"], abs=1e-6)
        rows = measures[(measures["layer"] == layer) & (measures["head"] == number)]
        for curve in head["measures"]:
            for value, low, high in curve["values"]:
                assert low is None or low - 1e-6 <= value <= high + 1e-6
            (name,) = [name for name, words in labels.items() if words == curve["label"]]
            of_name = rows[rows["column"] == f"stats.{name}"].sort_values("at")
            assert [value for value, _, _ in curve["values"]] == pytest.approx(
                [*of_name["first"], of_name["second"].iloc[0]], abs=2e-6
            )


@pytest.mark.browser
def test_the_grid_steps_through_checkpoints(studies, visit_file, tmp_path):
    path = tmp_path / "checkpoints.html"
    path.write_text(render_checkpoints(Checkpoints(studies)), encoding="utf-8")
    page = visit_file(path)
    cell = page.locator("#encoder-3-8")
    assert "changed" in cell.get_attribute("class")
    page.locator("#step").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#step-name").inner_text() == "second"
    assert "changed" not in cell.get_attribute("class")
    assert "changed" in page.locator("#encoder-3-5").get_attribute("class")
    page.keyboard.press("ArrowRight")
    assert page.locator(".grid .changed").count() == 0
    page.keyboard.press("ArrowLeft")
    cell.click()
    assert "Head 3-8" in page.locator("#pair h2").inner_text()
    assert page.locator("#pair .curve").count() == 5
    assert violations(page) == []
    phone = visit_file(path, width=390, height=844)
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
