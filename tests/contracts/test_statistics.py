"""Contracts of every statistic and role in the catalogs: correct values, and a description wherever heads are
described.
"""

import importlib.util
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headscope.analyses.measurement import StageResult
from headscope.analyses.stats.compute import stats_table
from headscope.analyses.stats.output import render_results as in_terminal
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.row_quantities import CLASSES, OFFSETS, RowQuantity
from headscope.attention.scan import scan
from headscope.palette import palette
from headscope.present.figures import entropy_by_layer, stats_points
from headscope.present.values import labeled_array
from headscope.present.words import capital, words_for
from headscope.reporting.functions import vocabulary as search_words
from headscope.reporting.payload import data_block
from headscope.reporting.provenance import definitions
from headscope.reporting.report_page import render_report
from headscope.statistics.roles import OTHERWISE, ROLES, SHOWN, role_of
from headscope.statistics.statistic import Rows, Special, Unit
from headscope.statistics.statistic_catalog import NAMES, STATISTICS, figure_names
from support import mock_inputs
from support.hand_made import HandMadeSource, beside_a_sink, random_map, random_sink
from support.inputs import made_up_segments, vocabulary
from support.measured import with_parts

DOCS = Path(__file__).parents[2] / "docs"
EACH = pytest.mark.parametrize("one", STATISTICS.values(), ids=NAMES)
EACH_ROLE = pytest.mark.parametrize("role", ROLES.values(), ids=list(ROLES))


def quantity_of(weights, quantity, classes):
    """Return a row quantity of every row, `[row]`, from `[row, key]` with the sink as last key, by its definition."""
    if quantity in OFFSETS:
        places = [(row, row + offset) for row in range(len(weights)) for offset in OFFSETS[quantity]]
        out = np.zeros(len(weights))
        for row, key in places:
            out[row] += weights[row, key] if 0 <= key < len(weights) else 0.0
        return out
    if quantity in CLASSES:
        return weights[:, :-1][:, np.isin(classes, CLASSES[quantity])].sum(1)
    if quantity is RowQuantity.SINK_LOGIT:
        return weights[:, -1]
    if quantity is RowQuantity.ENTROPY:
        return np.array([-sum(w * math.log(w) for w in row if w > 0) for row in weights])
    assert quantity is RowQuantity.MAX_WEIGHT
    return weights.max(1)


@pytest.fixture(scope="module")
def segments():
    return made_up_segments(15, seed=3, longest=12, documents=12)


@pytest.fixture(scope="module")
def measured(segments):
    source = HandMadeSource(segments, beside_a_sink, height=5, sink=random_sink)
    sums = StatsAccumulator(source.layout)
    scan(source, [sums])
    return stats_table(sums.compute())


@EACH
def test_it_is_the_mean_of_its_quantity_over_its_rows(one, segments, measured):
    means, even = [], []
    for segment in segments:
        classes, n = vocabulary().of(segment.ids), len(segment)
        rows = np.array([one.rows.key_class is None or (c == one.rows.key_class) == one.rows.inside for c in classes])
        if rows.any():
            maps = np.concatenate([beside_a_sink(segment), random_sink(segment)[..., None]], axis=-1)
            means.append([[quantity_of(head, one.quantity, classes)[rows].mean() for head in layer] for layer in maps])
            even.append(quantity_of(np.full((n, n + 1), 1 / (n + 1)), one.quantity, classes)[rows].mean())
    found = labeled_array(measured, one.name, kind="encoder")
    np.testing.assert_allclose(found.to_numpy(), np.mean(means, axis=0), atol=1e-12)
    np.testing.assert_allclose(found["uniform"], np.mean(even), atol=1e-12)
    assert found.attrs["n_inputs"] == len(means) > 0
    assert found.attrs["units"] == one.unit.value
    # With 10 documents each value has an interval; those of shares lie within [0, 1].
    low, high = found["ci_low"].to_numpy(), found["ci_high"].to_numpy()
    assert (low < found.to_numpy()).all()
    assert (found.to_numpy() < high).all()
    assert (low >= 0).all()
    assert one.unit is not Unit.SHARE or (high <= 1).all()


def test_without_a_sink_it_is_null(segments):
    source = HandMadeSource(segments, random_map)
    sums = StatsAccumulator(source.layout)
    scan(source, [sums])
    own = stats_table(sums.compute()).set_index("statistic").loc["sink_logit"]
    assert own[["value", "ci_low", "ci_high", "uniform"]].isna().all(axis=None)
    assert (own["n_inputs"] == 0).all()


@pytest.fixture(scope="module")
def run():
    """Return a run of a model with every feature, including a learned sink."""
    made = mock_inputs.encoder(2, 3)
    stats = made.stats.set_index("statistic")
    columns = ["value", "ci_low", "ci_high", "uniform", "n_inputs"]
    stats.loc["sink_logit", columns] = stats.loc["current", columns].to_numpy()
    stats = stats.reset_index()[made.stats.columns.to_list()]
    return with_parts(made, stats=stats)


@pytest.fixture(scope="module")
def page(run):
    return render_report(run)


@EACH
def test_the_table_of_all_heads_and_the_cards_have_it(one, run):
    words = words_for(run.manifest)
    told = data_block(run)
    (entry,) = [each for each in told["statistics"] if each["name"] == one.name]
    assert entry["label"] == capital(words.statistics[one.name])
    assert entry["share"] == (one.unit is Unit.SHARE)
    assert len(told["kinds"][0]["values"][one.name]["value"]) == 6


@EACH
def test_the_list_of_definitions_says_it(one, run):
    words = words_for(run.manifest)
    name = words.fill(one.term.name) if one.term else capital(words.statistics[one.name])
    says = words.fill(one.term.says if one.term else one.meaning)
    shown = re.sub(r' id="term-[^"]*"', "", str(definitions(words)).replace("&#39;", "'"))
    assert f"<dt>{name}</dt><dd>{says}.</dd>" in shown


@EACH
def test_its_section_and_figure_draw_it(one, run, page):
    label = capital(words_for(run.manifest).statistics[one.name])
    assert (f"{label}: {one.unit.value} of each encoder head" in page) == (one.topic is not None)
    figure = stats_points(run.stats) if one.unit is Unit.SHARE else entropy_by_layer(run.stats)
    lines = {line.get_gid() for ax in figure.axes for line in ax.lines}
    assert (f"mean--encoder--{one.name}" in lines) == (one.topic is not None)
    assert {one.ink or "mixed", one.shape or "mixed"} <= set(palette().roles)


@EACH
def test_the_terminal_shows_it_where_it_is_of_all_rows(one, run):
    grid, legend = in_terminal(StageResult(name="stats", tables={"stats": run.stats}, facts={}))
    header = list(grid.titles)
    assert ((one.heading or one.name) in header) == (one.rows is Rows.ALL)
    assert not one.heading_says or f"{one.heading or one.name}: {one.heading_says}" in legend


@EACH
def test_the_atlas_is_asked_for_it_or_for_its_role(one, run):
    entries = search_words(words_for(run.manifest), [], [])
    own = [entry["words"] for entry in entries if (entry["what"], entry["name"]) == ("statistic", one.name)]
    assert len(own) == bool(one.search_words)
    assert all(word in own[0] for word in one.search_words)


@EACH
def test_its_words_take_any_names_of_tokens(one):
    special = Special(cls="<{s}>", sep="the separator")
    for words in (one.label, one.target, one.drawn, *((one.term.name, one.term.says) if one.term else ())):
        assert "{cls}" not in special.fill(words)
        assert "{sep}" not in special.fill(words)
    assert figure_names()[one.name]
    assert one.less in ("", *NAMES)


@pytest.mark.parametrize(
    ("name", "topic", "got"),
    [
        ("max_weight", "focus", "in share of attention and has the topic focus"),
        ("entropy", "special", "in nats and has the topic special"),
    ],
)
def test_a_topic_whose_figure_has_another_unit_is_refused(name, topic, got):
    expected = "expected focus for nats, and another topic, or none, for a share of attention"
    with pytest.raises(ValueError, match=f"^statistic {name} is {got}; {expected}$"):
        replace(STATISTICS[name], topic=topic)
    assert replace(STATISTICS[name], topic=None).topic is None


def test_names_and_words_to_ask_with_are_told_apart():
    asked = [word for one in STATISTICS.values() for word in one.search_words]
    assert len(set(asked)) == len(asked)
    # Two roles are commonly called a sink; a search for it shows both.
    roles = [word for one in ROLES.values() for word in one.search_words if "sink" not in word]
    assert len({*asked, *roles}) == len(asked) + len(roles)
    headings = [one.heading or one.name for one in STATISTICS.values() if one.rows is Rows.ALL]
    assert len(set(headings)) == len(headings)
    assert len({one.label for one in STATISTICS.values()}) == len(NAMES)


def test_the_page_of_statistics_is_current():
    spec = importlib.util.spec_from_file_location("made_statistics", DOCS / "make" / "statistics.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    page = (DOCS / "reference" / "statistics.md").read_text(encoding="utf-8")
    assert maker.page() == page, "run: make docs"
    for name in (*NAMES, *ROLES):
        assert f"`{name}`" in page


@EACH_ROLE
def test_a_role_begins_above_its_threshold(role):
    def named(value):
        return role_of({role.statistic: value}, uniform={role.statistic: 2.0})

    if not role.statistic:
        assert role.name == OTHERWISE == role_of({}, uniform={})
        return
    edge = role.above * (2.0 if role.of_uniform else 1.0)
    assert named(edge + 1e-9) == role.name
    assert named(edge - 1e-9) == OTHERWISE


@EACH_ROLE
def test_a_role_has_its_words_and_its_color(role, run):
    words = words_for(run.manifest)
    told = data_block(run)["roles"]
    (entry,) = [each for each in told if each["name"] == role.name]
    assert entry["label"] == capital(words.roles[role.name])
    assert entry["says"]
    assert palette().roles[role.name].label == Special().fill(role.called)
    (asked,) = [each["words"] for each in search_words(words, [], []) if each["name"] == role.name
                and each["what"] == "role"]  # fmt: skip
    assert set(role.search_words) <= set(asked)
    assert role.example in STATISTICS
    assert bool(role.shown_by) == bool(role.shown_says)
    assert Special().fill(role.listed) in str(definitions(words))


def test_what_is_said_of_other_heads_is_of_roles_alone():
    # The card of a head without a role also lists its behaviors, which no role describes.
    (other,) = [each for each in data_block(mock_inputs.encoder(1, 2))["roles"] if each["name"] == OTHERWISE]
    assert other["says"] == "No role’s statistic passes its threshold"


def test_roles_are_shown_in_the_order_of_their_statistics():
    assert sorted(SHOWN) == sorted(ROLES)
    places = [NAMES.index(ROLES[name].statistic) for name in SHOWN[:-1]]
    assert places == sorted(places)
    assert SHOWN[-1] == list(ROLES)[-1] == OTHERWISE
