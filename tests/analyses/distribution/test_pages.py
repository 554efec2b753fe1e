"""What the page, the atlas and the terminal say of heads' rows, against the tables that it is made of."""

import json
import re

import numpy as np
import pytest

from headscope.analyses.distribution.facts import FIGURE, PAGE, decile_figure, distribution_cards, render_results
from headscope.analyses.distribution.tables import MEASURES, NAMES
from headscope.analyses.for_report import measures_of
from headscope.analyses.measurement import StageResult
from headscope.present.kinds import kinds_of
from headscope.views.markup import json_text
from support import mock_inputs
from support.measured import about, with_parts
from support.mock_distribution import WORDS, empty_examples, with_distribution


@pytest.fixture(scope="module")
def run():
    return with_distribution(mock_inputs.encoder(2, 3))


def cells(html, name):
    """The rows of a table of the page, as text."""
    table = re.search(rf'<table id="{name}">.*?</table>', html, re.DOTALL).group()
    rows = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_the_page_s_table_has_the_deciles(run):
    (section,) = PAGE.sections(about(run))
    rows = cells(str(section.html), "table-distribution-encoder")
    table = run.tables.get("distribution").set_index(["layer", "head", "measure", "decile"])
    assert len(rows) == 2 + 6
    assert rows[0][1:] == ["output norm", "non-sink attention, %", "entropy", "distance"]
    for line in rows[2:]:
        layer, head = map(int, line[0].split("-"))
        for place, name in enumerate(NAMES):
            own = [table.loc[(layer, head, name, decile), "value"] for decile in (1, 5, 9)]
            times = 100 if name == "non_sink" else 1
            told = [float(cell) for cell in line[1 + 4 * place : 4 + 4 * place]]
            np.testing.assert_allclose(told, np.array(own) * times, rtol=0.01, atol=0.05)
            middle = table.loc[(layer, head, name, 5)]
            ends = [float(end) for end in line[4 + 4 * place].split(" to ")]
            np.testing.assert_allclose(
                ends, np.array([middle["ci_low"], middle["ci_high"]]) * times, rtol=0.01, atol=0.05
            )


def test_every_head_is_a_point_of_each_panel_that_leads_to_its_card(run):
    figure = decile_figure(run.tables.get("distribution"), kind="encoder", roles=run.roles)
    table = run.tables.get("distribution").set_index(["layer", "head", "measure", "decile"])["value"]
    assert len(figure.axes) == len(NAMES)
    for ax, name in zip(figure.axes, NAMES, strict=True):
        found = {}
        for points in ax.collections:
            if str(points.get_gid()).startswith(f"heads--encoder--{name}--"):
                found |= dict(zip(points.get_urls(), points.get_offsets().tolist(), strict=True))
        assert set(found) == {f"#encoder-{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3)}
        for url, (x, y) in found.items():
            layer, head = map(int, url.split("-")[1:])
            assert round(x) == layer
            assert y == pytest.approx(table[layer, head, name, 5])


def test_what_is_not_known_has_no_panel_and_no_column():
    run = with_distribution(mock_inputs.encoder(2, 3), known=("non_sink", "entropy", "distance"))
    figure = decile_figure(run.tables.get("distribution"), kind="encoder")
    assert [ax.get_title(loc="left").split(",")[0] for ax in figure.axes] == [
        *("non-sink attention", "entropy", "distance")
    ]
    (section,) = PAGE.sections(about(run))
    assert ">written<" not in str(section.html)
    (kind,) = kinds_of(run)
    told = distribution_cards(run, kind)["distribution"]
    assert told["measures"][0]["deciles"] == [None] * 6
    assert set(told["strengths"].values()) == {"non_sink"}


def test_a_run_that_counted_no_rows_says_nothing():
    run = mock_inputs.encoder(2, 3)
    assert PAGE.sections(about(run)) == []
    assert FIGURE.drawings(about(run)) == {}
    assert distribution_cards(run, kinds_of(run)[0]) == {"distribution": None}


@pytest.mark.parametrize("sink", [False, True])
def test_a_card_has_what_the_tables_have(sink):
    run = with_distribution(mock_inputs.encoder(2, 3), sink=sink)
    (kind,) = kinds_of(run)
    told = json.loads(json_text(distribution_cards(run, kind)))["distribution"]
    table = run.tables.get("distribution").set_index(["layer", "head", "measure", "decile"])["value"].sort_index()
    for measure in told["measures"]:
        assert measure["label"] == MEASURES[measure["name"]].label
        for place, line in enumerate(measure["deciles"]):
            own = table[place // 3 + 1, place % 3 + 1, measure["name"]]
            np.testing.assert_allclose(line, own, rtol=0.01)
    assert sorted(word for (word,) in told["words"]) == sorted(WORDS)
    examples = run.tables.get("distribution_examples")
    assert sum(len(rows) for own in told["rows"].values() for rows in own) == len(examples)
    for row in examples.to_dict("records"):
        place = (row["layer"] - 1) * 3 + row["head"] - 1
        value, weight, key, apart, at, words = told["rows"][str(place)][row["decile"] - 1][row["rank"] - 1]
        assert value == pytest.approx(row["value"], rel=0.01)
        assert weight == row["weight"]
        assert [told["words"][word][0] for word in words] == row["tokens"]
        assert at == row["row"] - row["start"]
        if sink and row["rank"] == 1:
            assert (key, apart) == (-1, None)
        else:
            assert told["words"][key][0] == row["key_token"] == WORDS[at - 1]
            assert apart == 1


def test_a_run_without_examples_has_the_deciles_all_the_same(run):
    bare = with_parts(run, distribution_examples=empty_examples())
    told = distribution_cards(bare, kinds_of(run)[0])["distribution"]
    assert told["rows"] == {}
    assert len(told["measures"]) == len(NAMES)


def test_a_terminal_has_a_line_a_head(run):
    grid, legend = render_results(
        StageResult(name="distribution", tables={"distribution": run.tables.get("distribution")})
    )
    table = run.tables.get("distribution").set_index(["layer", "head", "measure", "decile"])["value"]
    assert [row[0] for row in grid.rows] == [f"{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3)]
    told = [float(number) for number in grid.rows[4][1].split()]
    np.testing.assert_allclose(told, [table[2, 2, "output_norm", decile] for decile in (1, 5, 9)], rtol=0.06)
    assert "a tenth of them lies below the first" in legend


def test_the_grid_can_be_colored_by_the_middle_and_the_ninth_decile(run):
    found = {one.name: one for one in measures_of(about(run))}
    assert list(found) == [f"distribution.{name}.decile_{decile}" for name in NAMES for decile in (5, 9)]
    table = run.tables.get("distribution").set_index(["measure", "decile"]).sort_index()
    for name, one in found.items():
        _, measure, decile = name.split(".")
        rows = table.loc[(measure, int(decile.removeprefix("decile_")))].sort_values(["layer", "head"])
        np.testing.assert_array_equal(one.values["encoder"], rows["value"])
    without = with_distribution(mock_inputs.encoder(2, 3), known=("entropy",))
    assert [one.name for one in measures_of(about(without))] == [
        "distribution.entropy.decile_5",
        "distribution.entropy.decile_9",
    ]
    assert list(measures_of(about(mock_inputs.encoder(2, 3)))) == []


def test_tokens_that_go_on_with_a_word_are_told_where_they_do_not_say_so_themselves():
    words, joined = ("he", "w", "ished", "frac", "##s", "he"), (2, 4, 5)
    run = with_distribution(mock_inputs.encoder(1, 1), words=words, joined=joined)
    told = distribution_cards(run, kinds_of(run)[0])["distribution"]
    assert len(told["words"]) == 5
    for rows in told["rows"][0]:
        for *_, numbers in rows:
            names = [told["words"][number if number >= 0 else ~number][0] for number in numbers]
            assert names == list(words)
            assert [place for place, number in enumerate(numbers) if number < 0] == [2, 5]


def test_runs_of_before_do_not_say_which_tokens_go_on():
    run = with_distribution(mock_inputs.encoder(1, 1))
    before = run.tables["distribution_examples"].drop(columns="continues_word")
    told = distribution_cards(with_parts(run, distribution_examples=before), kinds_of(run)[0])["distribution"]
    assert min(number for rows in told["rows"][0] for *_, numbers in rows for number in numbers) == 0
