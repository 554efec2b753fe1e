"""The head atlas as one self-contained page, and as a folder of a site."""

from __future__ import annotations

from pathlib import Path

from headscope.atlas.blocks import atlas_blocks, check_study
from headscope.errors import OutputError
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.files import place_text
from headscope.storage.places import contents
from headscope.study.manifest import MANIFEST
from headscope.study.study import Study
from headscope.views.html_page import Page, assemble
from headscope.views.markup import el

ENTRY = "atlas/atlas_page.js"
STYLES = ("core/base.css", "report/grid.css", "atlas/atlas.css")
INDEX = "index.html"
_MOST_PAGE = 1 << 30  # bytes
_MARK = b'<script type="application/json" id="atlas">'


def atlas_page(study: Study, *, report: str | None = None) -> str:
    """Return the atlas as one offline page, which loads nothing and runs only its own script.

    Args:
        study: a finished run.
        report: address of the report's page, to link to.

    Raises:
        InputError: the run has no statistics of heads on text.
    """
    blocks = atlas_blocks(study, report=report)
    title = f"Head atlas of {blocks['atlas']['model']}"
    body = [
        el("main", id="app", class_="at-page"),
        el("noscript", el("p", "The atlas is drawn by a script; switch JavaScript on to see it.")),
    ]
    return assemble(Page(title=title, body=body, data=blocks, entry=ENTRY, styles=STYLES))


def write_atlas(study: Study, out: Path, *, report: str | None = None) -> Path:
    """Write `index.html` into a folder, atomically, and return its path.

    Args:
        study: a finished run.
        out: the folder; created if it does not exist.
        report: address of the report's page relative to the atlas, to link to.

    Raises:
        InputError: the run has no statistics of heads on text.
        OutputError: the folder is a file, or holds a run.
    """
    check_study(study)
    check_site(out)
    page = atlas_page(study, report=report)
    place_text(out / INDEX, page)
    return out / INDEX


def check_site(out: Path) -> None:
    """Check that a folder can be used for a site.

    Raises:
        OutputError: it cannot; the message gives the reason and the remedy.
    """
    if out.exists() and not out.is_dir():
        raise OutputError(f"{out} is a file; --out expects a folder, new or empty, or that of an earlier atlas")
    if not out.is_dir():
        return
    if (out / MANIFEST).exists():
        raise OutputError(f"{out} holds a run; give --out a folder of its own, such as {out / 'atlas'}")
    if any(contents(out)) and not _is_atlas(out / INDEX):
        raise OutputError(f"{out} holds other files and no atlas; give --out a new or empty folder")


def _is_atlas(page: Path) -> bool:
    try:
        return _MARK in read_regular(page, most=_MOST_PAGE)
    except (FileNotFoundError, UnreadableFileError):
        return False
