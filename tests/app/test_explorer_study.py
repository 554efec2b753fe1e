"""The explorer with a study: its heads as the way in, its model for the views, its roles in them."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import quote

import pytest

from headscope.app.explorer.model_shelf import NamedModel, named_models, roles_of, study_model
from headscope.present.manifest import read_manifest, write_manifest
from headscope.present.study import open_study
from headscope.reporting.atlas_page import atlas_blocks
from support import mock_inputs
from support.axe import violations
from support.explorer import running
from support.explorer_pages import drawn, holds, looked_at, settled
from support.mock_distances import with_distances
from support.mock_study import write_study

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLE = "The cat sat on the mat."


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A made-up run of a model of the embedded one's shape."""
    return write_study(with_distances(mock_inputs.section_4()), tmp_path_factory.mktemp("study") / "run")


def told_of(study, folder, **facts):
    """The study with other facts on its model in its manifest."""
    manifest = read_manifest(study.path).content
    manifest["signature"]["model"] = {**manifest["signature"]["model"], **facts}
    write_manifest(folder, manifest)
    (folder / "tables").symlink_to(study.path / "tables")
    return open_study(folder)


def test_a_study_without_statistics_is_refused_in_words(cli, tmp_path):
    run = mock_inputs.section_4(2, 3)
    run.tables.pop("stats")
    run.tables.pop("examples")
    write_study(run, tmp_path / "run", top_examples=False)
    code, said, err = cli("explore", "--study", tmp_path / "run", "--no-browser")
    assert (code, said) == (2, "")
    assert err.startswith(f"headscope: {tmp_path / 'run'} has no table 'stats', which the atlas needs; it has ")


def test_roles_are_the_studys(study):
    roles = roles_of(study)["encoder"]
    assert (len(roles), {len(row) for row in roles}) == (6, {12})
    for row in study.roles.itertuples():
        assert roles[row.layer - 1][row.head - 1] == row.role


def test_the_studys_model_by_its_origin(study, tmp_path):
    cases = {
        "embedded": ({"name": "headscope-minilm", "origin": "embedded"}, None, ""),
        "hub": ({"name": "org/model", "origin": "hub", "revision": "v2"}, "org/model", ""),
        "folder": (
            {"name": "mine", "origin": "folder"},
            "mine",
            "the study's model mine was a folder, and the study does not say where it lies; name it with --model",
        ),
    }
    for name, (facts, source, refused) in cases.items():
        (tmp_path / name).mkdir()
        found = study_model(told_of(study, tmp_path / name, weights="abc", **facts))
        assert (found.name, found.source, found.refused) == (facts["name"], source, refused)
        assert (found.revision, found.weights) == (facts.get("revision"), "abc")


def test_a_model_that_is_named_has_the_roles_if_it_is_the_studys(study, tmp_path):
    own = NamedModel(name="mine", source="mine", roles=roles_of(study), weights="abc", refused="x")
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").mkdir()
    mine, other = named_models([str(tmp_path / "mine"), str(tmp_path / "other")], study=own)
    assert (mine.roles, mine.weights, mine.refused) == (own.roles, "abc", "")
    assert (other.roles, other.weights) == (None, None)


@pytest.fixture(scope="module")
def client(study):
    pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    named = [NamedModel(name="headscope-minilm", source=None, roles=roles_of(study))]
    with running(named, study=atlas_blocks(study), example=EXAMPLE) as client:
        yield client


@pytest.fixture
def visit(visit_server, client):
    def go(hash="", **options):
        page = visit_server(client, hash, ready=False, **options)
        page.locator(".ex-tabs").wait_for()
        settled(page)
        return page

    return go


class Clicks:
    """Counts what a reader clicks."""

    def __init__(self, page):
        self.page = page
        self.count = 0

    def __call__(self, locator):
        self.count += 1
        locator.click()
        settled(self.page)


def opened(page):
    """The head whose card is open, as 3-1."""
    return re.match(r"\S+ (\d+-\d+)", page.locator(".at-card h2").inner_text())[1]


def role_of(study, number):
    layer, head = map(int, number.split("-"))
    (row,) = study.roles.query(f"layer == {layer} and head == {head}").to_dict("records")
    return row


@pytest.mark.browser
def test_the_heads_are_the_way_in(visit):
    page = visit()
    assert page.get_by_role("tab", name="Heads").get_attribute("aria-selected") == "true"
    assert page.locator(".at-mark").count() == 72
    assert page.locator(".at-card").count() == 1
    assert not page.locator("textarea[name=text]").is_visible()
    assert page.title() == "Heads · headscope explorer"


@pytest.mark.browser
def test_a_previous_head_in_at_most_four_clicks(visit, study):
    page = visit()
    click = Clicks(page)
    click(page.locator(".at-chips [data-name=previous]"))
    click(page.locator(".at-found a").first)
    assert click.count <= 4
    assert role_of(study, opened(page))["role"] == "previous"


@pytest.mark.browser
def test_an_obj_head_and_a_sentence_where_it_works_in_at_most_four_clicks(visit, study):
    page = visit()
    click = Clicks(page)
    click(page.locator(".at-chips [data-name=obj]"))
    click(page.locator(".at-found a").first)
    number = opened(page)
    assert click.count <= 4
    assert "obj" in role_of(study, number)["finds"]
    assert page.locator(".at-sentence-top select option:checked").inner_text().startswith("finds obj")
    click(page.get_by_role("button", name="Show in the views"))
    assert click.count <= 4
    drawn(page)
    layer, head = number.split("-")
    text = page.input_value("textarea[name=text]")
    looked_at(page, text)
    assert text
    assert f"view=head&layer={layer}&heads={head}" in page.url
    assert page.locator(".hs-chips [aria-pressed=true]").all_text_contents() == [head]
    with page.expect_download() as download:
        page.get_by_role("button", name="Save SVG").click()
    root = ElementTree.fromstring(Path(download.value.path()).read_bytes())
    assert root.tag == f"{SVG}svg"
    texts = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert any(each.startswith(f"Layer {layer} · head {head}") for each in texts)


@pytest.mark.browser
def test_roles_of_the_study_are_in_the_model_view(visit, study):
    page = visit(f"text={quote(EXAMPLE)}&view=all&layer=1")
    drawn(page)
    assert page.locator(".hs-card-model .hs-role").count() == 72
    (row,) = study.roles.query("role == 'previous'").head(1).to_dict("records")
    cell = page.locator(f".hs-card-model [data-head='{row['layer']}-{row['head']}']")
    assert "previous token" in cell.get_attribute("aria-label")


@pytest.mark.browser
def test_the_parts_are_tabs_and_keep_what_they_show(visit):
    page = visit()
    page.locator(".at-mark").nth(5).click()
    settled(page)
    number = opened(page)
    assert f"part=heads&atlas=encoder-{number}" in page.url
    page.get_by_role("tab", name="Heads").press("ArrowRight")
    looked_at(page, EXAMPLE)
    assert page.get_by_role("tab", name="Sentence").get_attribute("aria-selected") == "true"
    assert page.input_value("textarea[name=text]") == EXAMPLE
    sentence = page.url
    page.get_by_role("tab", name="Heads").click()
    settled(page)
    assert opened(page) == number
    page.go_back()
    holds(page, "!document.querySelector('textarea[name=text]').closest('[hidden]')")
    assert page.url == sentence
    page.get_by_role("tab", name="Matrix").click()
    settled(page)
    page.get_by_role("tab", name="Heads").click()
    page.get_by_role("tab", name="Sentence").click()
    settled(page)
    assert "view=matrix" in page.url
    assert page.locator(".hs-matrix:visible").count() == 1


@pytest.mark.browser
def test_a_link_opens_a_head_or_a_sentence(visit):
    page = visit("part=heads&atlas=encoder-2-3")
    assert opened(page) == "2-3"
    page = visit("encoder-4-5")
    assert opened(page) == "4-5"
    page = visit("text=It%20slept.&view=matrix&layer=2")
    looked_at(page, "It slept.")
    assert page.locator(".hs-matrix:visible").count() == 1


@pytest.mark.browser
def test_a_sentence_typed_where_heads_are_asked_for_can_be_looked_at(visit):
    page = visit("part=heads")
    offer = page.get_by_role("button", name="Look at this sentence")
    # One word is no sentence, and a question that is answered needs no offer.
    for typed in ("unicorns", "layer 2"):
        page.fill("input[type=search]", typed)
        page.keyboard.press("Enter")
        settled(page)
        assert offer.count() == 0
    page.fill("input[type=search]", "The piano slept quietly.")
    page.keyboard.press("Enter")
    assert page.locator(".at-found").inner_text().startswith("No head is found. ")
    offer.click()
    looked_at(page, "The piano slept quietly.")
    assert page.locator(".hs-head:visible").count() == 1


@pytest.mark.browser
def test_without_the_studys_model_the_atlas_still_works(visit_server, study):
    sentence = "the study's model mine was a folder, and the study does not say where it lies; name it with --model"
    named = [NamedModel(name="mine", source="mine", refused=sentence)]
    with running(named, study=atlas_blocks(study), example=EXAMPLE) as client:
        page = visit_server(client, ready=False)
        page.locator(".at-card").wait_for()
        page.locator(".at-mark").nth(7).click()
        page.get_by_role("button", name="Show in the views").click()
        page.locator(".ex-part > .hs-trouble").wait_for()
        assert page.locator(".ex-part > .hs-trouble").inner_text() == sentence[0].upper() + sentence[1:] + "."
        page.get_by_role("tab", name="Heads").click()
        assert page.locator(".at-card").is_visible()


@pytest.mark.browser
def test_other_weights_than_the_studys_are_said(visit_server, study, client):
    reader = client.explorer.shelf.readers["headscope-minilm"]
    named = [NamedModel(name="headscope-minilm", source=None, weights="0" * 32)]
    with running(named, study=atlas_blocks(study), example=EXAMPLE, load=lambda *_, **__: reader) as other:
        page = visit_server(other, f"text={quote(EXAMPLE)}&view=head", ready=False)
        looked_at(page, EXAMPLE)
        assert page.locator(".ex-status").inner_text() == (
            "headscope-minilm has other weights here than those that the study measured."
        )


@pytest.mark.browser
def test_both_parts_pass_the_accessibility_check(visit):
    page = visit()
    for part in ("Heads", "Sentence"):
        page.get_by_role("tab", name=part).click()
        if part == "Sentence":
            looked_at(page, EXAMPLE)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            settled(page)
            assert violations(page) == [], (part, scheme)


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1400])
def test_no_part_is_wider_than_the_window(visit, width):
    page = visit(width=width)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
