"""Sections of the page are put together in one place."""

import re

import pytest

from headscope.present.page_tables import caption, captioned
from headscope.present.report_parts import section
from headscope.reporting.report_page import render_report
from headscope.views.markup import el
from support import mock_inputs
from support.measured import blank_figures
from support.mock_behaviors import with_behaviors
from support.mock_distribution import with_distribution
from support.mock_norms import with_norms
from support.mock_whole import whole


def test_a_section_has_its_question_and_its_parts_each_beside_what_explains_it():
    figure = captioned(el("figure"), caption("One."), caption(""), None, el("p", "SVG"))
    (made,) = section("here", "A <title>", "Why?", [el("p", "first"), None, figure])
    assert (made.name, made.title) == ("here", "A <title>")
    assert made.html == (
        '<section id="section-here"><h2>A &lt;title&gt;</h2><p class="why">Why?</p><p>first</p>'
        '<div class="captioned"><div><figure></figure></div>'
        '<div class="notes"><p class="caption">One.</p><p>SVG</p></div></div></section>'
    )


def test_a_section_without_parts_is_not_made():
    assert section("here", "Title", "Why?", []) == []


@pytest.mark.slow
def test_every_section_of_a_page_says_what_it_is_and_why_before_anything_else():
    run = with_norms(with_distribution(with_behaviors(mock_inputs.encoder(2, 2))))
    with blank_figures():
        page = render_report(run)
    sections = re.findall(r'<section id="section-([a-z]+)">(.*?)</section>', page, flags=re.DOTALL)
    names = [name for name, _ in sections if name not in ("how", "roles")]
    assert {"norms", "distribution", "behaviors", "position", "heads"} <= set(names)
    for name, inner in sections:
        if name in names:
            assert re.match(r'<h2>[^<]+(<a [^>]*class="meaning">[^<]+</a>)?</h2><p class="why">[^<]+</p>', inner), name


@pytest.mark.slow
def test_every_section_leads_to_the_definition_of_its_numbers():
    with blank_figures():
        page = render_report(whole(mock_inputs.section_4(2, 4)))
    evidence = page[: page.index('id="group-appendix"')]
    titles = re.findall(r'<section id="section-[^"]*"><h2>(.*?)</h2>', evidence)
    assert len(titles) > 15
    without = [title for title in titles if 'class="meaning"' not in title]
    assert without == []
    ids = set(re.findall(r'\bid="([^"]*)"', page))
    lost = {
        target for target in re.findall(r'href="#((?:term|section|group|glossary)[^"]*)"', page) if target not in ids
    }
    assert lost == set()
