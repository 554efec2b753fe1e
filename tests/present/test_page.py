"""The order of blocks on a page: headings, notes and captions without anything below them are left out."""

from headscope.present.blocks import CaptionBlock, HeadingBlock, HtmlBlock, NoteBlock
from headscope.present.page import _html
from headscope.views.markup import el
from support import mock_inputs
from support.measured import about

HEADING, KIND, OTHER = HeadingBlock(text="a"), HeadingBlock(text="b", tag="h4"), HeadingBlock(text="c", tag="h4")
NOTE, CAPTION = NoteBlock(text="note"), CaptionBlock(text="text")


def drawn(text):
    return HtmlBlock(read=lambda _: el("i", text) if text else None, caption="")


def test_headings_without_content_are_left_out_with_their_notes():
    run = about(mock_inputs.encoder(1, 1))
    picture, nothing, note = "<i>x</i>", drawn(""), '<p class="why">note</p>'
    expected = {
        (HEADING, KIND, nothing, OTHER, drawn("x")): f"<h3>A</h3><h4>C</h4>{picture}",
        (HEADING, NOTE, KIND, nothing, OTHER, drawn("x")): f"<h3>A</h3>{note}<h4>C</h4>{picture}",
        (HEADING, NOTE, HEADING, drawn("x")): f"<h3>A</h3>{picture}",
        (NOTE, HEADING, drawn("x")): f"{note}<h3>A</h3>{picture}",
        (KIND, HEADING, drawn("x"), OTHER): f"<h3>A</h3>{picture}",
        (HEADING, NOTE, CAPTION): "",
    }
    shown = {blocks: "".join(_html(blocks, run, {})) for blocks in expected}
    assert [shown[blocks] for blocks in expected] == list(expected.values())
