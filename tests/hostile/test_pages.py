"""Hostile tokens, names and texts on every page and in figures are shown as text and never become markup."""

import io
import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pytest

from headscope.app.explorer.page import explorer_page
from headscope.app.explorer.request import Limits
from headscope.present.figures import line_diagram
from headscope.reporting.atlas_page import atlas_page
from headscope.reporting.report_page import render_report
from headscope.views.attention_page import attention_page
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from support import mock_inputs
from support.hostile_tokens import HARMLESS, Markup, check_page, tokens
from support.measured import with_parts
from support.mock_study import write_study

TOKENS = list(tokens())
each_token = pytest.mark.parametrize("token", [pytest.param(token, id=name) for name, token in TOKENS])


def view_page(token):
    axis = Axis(tokens=(token, "sat", token), words=(0, 1, 2), word_text=(token, "sat", token))
    maps = KindMaps(kind="encoder", weights=np.full((1, 1, 3, 3), 1 / 3, np.float32), queries=axis)
    return attention_page(AttentionSnapshot(title=token, model=token, kinds=(maps,)), call=token, state=token)


def explorers_page(token):
    page = explorer_page([token], example=token, study={"data": {token: token}}, limits=Limits())
    return page.body.decode("utf-8")


def inputs(*held):
    """Return a run whose model, notes and sentence are these texts."""
    queries = ["[CLS]", *held, "[SEP]"]
    made = mock_inputs.build([("encoder", 1, 2, mock_inputs.encoder_recipe)], name=held[0], queries=queries)
    told = {"notes": list(held), "command": f"headscope report --text '{held[0]}'"}
    return with_parts(made, manifest={**made.manifest, **told})


@cache
def harmless(page):
    return Markup(page(HARMLESS))


@each_token
@pytest.mark.parametrize("page", [view_page, explorers_page])
def test_a_page_is_made_of_the_same_whatever_its_tokens(page, token):
    markup = page(token)
    assert b"\x00" not in markup.encode("utf-8")
    check_page(Markup(markup), harmless(page))


def test_markup_that_a_token_changes_is_seen():
    page = view_page("</script><img src=x>")
    for broken in (page.replace("\\u003c", "<"), page.replace("&lt;", "<").replace("&gt;", ">")):
        assert broken != page
        with pytest.raises(AssertionError):
            check_page(Markup(broken), harmless(view_page))


@pytest.mark.slow
def test_the_report():
    held = [token for _, token in TOKENS[::4]]
    plain = Markup(render_report(inputs(*[HARMLESS] * len(held))))
    check_page(Markup(render_report(inputs(*held))), plain)


def test_the_atlas(tmp_path):
    # A table cannot hold half of a surrogate pair.
    held = [token for _, token in TOKENS if "\ud800" not in token]
    hostile = write_study(inputs(*held), tmp_path / "hostile")
    plain = write_study(inputs(*[HARMLESS] * len(held)), tmp_path / "plain")
    check_page(Markup(atlas_page(hostile)), Markup(atlas_page(plain)))


def drawn(*held):
    figure = line_diagram(inputs(*held).examples.query("behavior != 'shared'").head(1), most=100)
    file = io.BytesIO()
    figure.savefig(file, format="svg")
    return ElementTree.fromstring(file.getvalue())


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_figure():
    held = [token for _, token in TOKENS[::3]]
    made_of = {(each.tag, *sorted(each.attrib)) for each in drawn(*held).iter()}
    plain = {(each.tag, *sorted(each.attrib)) for each in drawn(*[HARMLESS] * len(held)).iter()}
    assert made_of <= plain
    assert not {tag for tag, *_ in made_of} & {
        "{http://www.w3.org/2000/svg}script",
        "{http://www.w3.org/2000/svg}image",
    }
