"""The sentences, cards, arcs and tables on what draws each head, of made-up runs."""

import numpy as np
import pytest

from headscope.analyses.why.circuit import MOST_ARCS, arcs_of, circuit
from headscope.analyses.why.facts import PARTS
from headscope.reporting.payload import data_block
from headscope.reporting.report_page import render_report
from headscope.reporting.story import findings, headline
from support import mock_inputs
from support.measured import about, blank_figures, only, with_parts
from support.mock_behaviors import with_behaviors
from support.mock_effects import with_effects
from support.mock_explanation import with_explanation
from support.mock_norms import with_norms
from support.mock_why import HEAD_SHARE, with_why


def card(run, layer, head, kind=0):
    """The sentences of a head's card."""
    part = about(run).kinds[kind]
    return [each.text for each in PARTS.card_sentences(run, part).get(part.head_index(layer, head), [])]


def changed(run, where, **values):
    """The run with other values in some rows of its sources."""
    sources = run.tables["sources"].copy()
    sources.loc[sources.query(where).index, list(values)] = list(values.values())
    return with_parts(run, sources=sources)


@pytest.fixture
def decoder():
    return with_why(mock_inputs.decoder(3, 4))


def test_the_sentences_name_the_strongest_head_of_each_side(decoder):
    said = [each.text for each in PARTS.findings(about(decoder))]
    assert said[0] == (
        "60% (54 to 66) of 2-1’s off-sink pull comes from 1-1 (keys), 60% (54 to 66) from 1-2 (queries)."
    )
    assert said[5:] == [
        "Earlier heads draw 8 of 12 heads, with at least 10% of the pull: 2-1, 3-1, 2-2 and 5 more.",
        "Each of these shares lies above the largest with random weights.",
        "For none of 12 heads does replacing sources contradict the shares.",
    ]
    assert not any("rawn by" in each for each in said[:5])


def test_shares_that_replacing_contradicts_are_listed(decoder):
    """The source with the largest share moves little, or another moves more; not that a smaller share moves less."""
    first = "source_part == 'head' and keys == 'non_sink' and side == 'key' and layer == 3 and head == 1"
    changes = {
        "smaller": {"moved_less": False},
        "little": {"moved": 0.005, "moved_ci_low": 0.001, "moved_ci_high": 0.008},
        "less": {"moved_less": True},
    }
    wrong = {}
    for name, values in changes.items():
        said = [each.text for each in PARTS.findings(about(changed(decoder, first, **values)))]
        if ("contradict" if name == "smaller" else "disagree: 3-1.") not in said[7]:
            wrong[name] = said[7]
    assert not wrong


def test_a_sentence_of_a_model_of_several_kinds_names_the_kind_of_each_head():
    said = PARTS.findings(about(with_why(mock_inputs.t5())))[0].text
    assert "of encoder 2-1’s off-sink pull comes from encoder 1-1 (keys)" in said


def test_the_story_of_a_decoder_has_it_among_all_that_competes(decoder):
    run = with_norms(with_behaviors(with_effects(with_explanation(decoder))))
    topics = [each.topic for each in headline(findings(run))]
    assert topics.index("why") < 3
    assert len(topics) == 4


def test_a_card_says_what_draws_the_head_and_which_heads_it_draws(decoder):
    assert card(decoder, 2, 1) == [
        "Drawn on the key side by 1-1 (60%) and the token embedding (20%); "
        "on the query side by 1-2 (60%) and the token embedding (20%).",
        "Draws 3-1 (key side, 60%), 3-2 (key side, 52%), 3-3 (key side, 45%) and 3-4 (key side, 38%).",
    ]
    assert card(decoder, 1, 3) == [
        "Drawn on the key side by the token embedding (80%); on the query side by the token embedding (80%)."
    ]
    wide = with_why(mock_inputs.decoder(2, 8))
    assert card(wide, 1, 1)[1].endswith(" and 4 more heads.")
    assert "Draws" not in " ".join(card(wide, 2, 1))


def test_a_card_names_an_mlp_without_an_article_and_a_side_alone(decoder):
    mlp = changed(decoder, "source_part == 'mlp'", share=0.7)
    assert card(mlp, 2, 1)[0].startswith("Drawn on the key side by MLP 1 (70%) and 1-1 (60%); on the query side")
    weak = changed(decoder, "side == 'query'", share=0.05)
    assert card(weak, 2, 1)[0] == "Drawn on the key side by 1-1 (60%) and the token embedding (20%)."


def test_a_head_that_is_not_established_has_no_arc_and_is_on_no_card(decoder):
    run = changed(decoder, "source_layer == 1 and source_head == 1", established=False)
    assert {(arc.source.layer, arc.source.head) for arc in arcs_of(run)} == {(1, 2), (2, 1), (2, 2)}
    assert card(run, 2, 1)[0].startswith("Drawn on the key side by the token embedding (20%)")
    assert len(card(run, 1, 1)) == 1


def test_arcs_lead_from_index_to_index_the_largest_share_first(decoder):
    (kind,) = about(decoder).kinds
    arcs = circuit(decoder, kind)
    assert len(arcs) == 2 * 2 * 4
    assert [arc for arc in arcs if arc[1] == 4] == [
        [0, 4, "key", HEAD_SHARE, 0.54, 0.66],
        [1, 4, "query", HEAD_SHARE, 0.54, 0.66],
    ]
    shares = [arc[3] for arc in arcs]
    assert shares == sorted(shares, reverse=True)
    assert data_block(decoder)["kinds"][0]["circuit"] == arcs
    everything = changed(decoder, "keys == 'all'", share=9.0)
    assert circuit(everything, about(everything).kinds[0]) == arcs


def test_an_arc_without_an_interval_has_none_in_the_page(decoder):
    run = changed(decoder, "source_part == 'head'", ci_low=np.nan, ci_high=np.nan)
    assert {tuple(arc[4:]) for arc in circuit(run, about(run).kinds[0])} == {(None, None)}


def test_a_page_has_no_more_arcs_than_it_can_draw():
    run = with_why(mock_inputs.decoder(32, 40))
    assert len(arcs_of(run)) == 31 * 40 * 2
    assert len(circuit(run, about(run).kinds[0])) == MOST_ARCS


def test_an_arc_between_kinds_of_attention_is_on_cards_alone():
    run = changed(with_why(mock_inputs.t5()), "kind == 'cross' and source_part == 'head'", source_kind="decoder")
    decoder, cross = about(run).kinds[1:]
    assert circuit(run, cross) == []
    assert "Drawn on the key side by decoder 1-1 (60%)" in card(run, 2, 1, kind=2)[0]
    drawn = [arc.drawn.text for arc in arcs_of(run) if arc.source.kind == "decoder"]
    assert {"decoder 2-1", "cross 2-1"} <= set(drawn)
    assert all(end < decoder.size for arc in circuit(run, decoder) for end in arc[:2])


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_map_is_on_the_first_screen_of_a_decoder_and_in_the_section_of_an_encoder(kind):
    run = with_why(getattr(mock_inputs, kind)(2, 4))
    with blank_figures():
        page = render_report(run)
    assert ('<div id="circuit">' in page) == (kind == "decoder")
    section = str(only(PARTS.sections(about(run, found=PARTS.findings(about(run))))))
    assert ('class="circuit"' in section) == (kind == "encoder")


@pytest.mark.parametrize("options", [{"heads": False}, {"established": None}, {"established": False}])
def test_without_an_established_head_there_is_no_map(options):
    run = with_why(mock_inputs.decoder(2, 4), **options)
    assert "circuit" not in data_block(run)["kinds"][0]
    with blank_figures():
        assert '<div id="circuit">' not in render_report(run)
    assert "notes" in data_block(run)["kinds"][0] or options == {"established": None}


def test_a_run_without_the_stage_has_neither_sentences_nor_arcs():
    run = mock_inputs.decoder(2, 4)
    assert PARTS.findings(about(run)) == []
    assert PARTS.sections(about(run)) == []
    assert {"circuit", "notes"}.isdisjoint(data_block(run)["kinds"][0])
