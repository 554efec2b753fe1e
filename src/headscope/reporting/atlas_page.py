"""The head atlas: the data of its script, one self-contained page, and a folder of a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headscope.analyses.for_report import every_part, functions_of
from headscope.errors import InputError, OutputError
from headscope.present.manifest import MANIFEST
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import plain
from headscope.reporting.card_sentences import TOP_EXAMPLES, sentences_block
from headscope.reporting.functions import behaviors_block, relations_block, vocabulary
from headscope.reporting.head_summary import is_explained
from headscope.reporting.payload import data_block, maps_block
from headscope.reporting.report_page import run_line
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.files import place_text
from headscope.storage.places import contents
from headscope.views.markup import Page, assemble, el
from headscope.visible import short_name

SCHEMA = 1
NEEDED = ("stats", "examples")
_TOP_EXAMPLES = (TOP_EXAMPLES, "run headscope report again")


def atlas_blocks(study: Study, *, report: str | None = None) -> dict[str, Any]:
    """Return the JSON data blocks of the atlas by the id of their element: `data`, `maps` and `atlas`.

    `data` and `maps` are those of the report's page. `atlas` has the run's name, the missing measurements (`missing`:
    null if measured, else the remedy), the search terms, accuracies of every head at each relation, the behaviors of
    heads, positions on the map, nearest heads, and sentences.

    Args:
        study: a finished run; the atlas marks its missing stages.
        report: address of the report's page next to the atlas, to link to; None for no link.

    Raises:
        InputError: the run has no statistics of heads on text, which every card needs.
    """
    lacking = [name for name in NEEDED if name not in study.tables]
    if lacking:
        there = ", ".join(study.tables) or "no table"
        raise InputError(
            f"{study.path} has no table {lacking[0]!r}, which the atlas needs; it has {there}. Give the folder of "
            "a headscope report"
        )
    about = Context.of(study)
    run, words, kinds = about.run, about.words, about.kinds
    functions, data = functions_of(run), data_block(run)
    sentences = sentences_block(run)
    needed = {name: what for parts in every_part() for name, what in parts.needed.items()} | {
        TOP_EXAMPLES: _TOP_EXAMPLES
    }
    atlas = {
        "schema": SCHEMA,
        "model": short_name(plain(run.manifest["signature"]["model"]["name"])),
        "run": run_line(about),
        "report": report,
        "missing": {name: None if table in run.tables else remedy for name, (table, remedy) in needed.items()},
        "vocabulary": vocabulary(
            words,
            [each.function for each in functions if each.heads is not None and not each.overall],
            [(function, next(iter(parts.needed), "")) for parts in every_part() for function in parts.known_functions],
            explained=is_explained(run),
        ),
        "relations": relations_block(functions, kinds),
        "showings": behaviors_block(functions, kinds, data["measures"]),
        "kinds": {
            kind.name: {
                **{name: fields for parts in every_part() for name, fields in parts.cards(run, kind).items()},
                "sentences": sentences[kind.name],
            }
            for kind in kinds
        },
    }
    return {"data": data, "maps": maps_block(about), "atlas": atlas}


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
    check_site(out)
    place_text(out / INDEX, atlas_page(study, report=report))
    return out / INDEX


def check_site(out: Path) -> None:
    """Check that a folder can be used for a site.

    Raises:
        OutputError: it cannot; the message gives the reason and the remedy.
    """
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputError(f"{out} is a file; --out expects a folder, new or empty, or that of an earlier atlas")
    if (out / MANIFEST).exists():
        raise OutputError(f"{out} holds a run; give --out a folder of its own, such as {out / 'atlas'}")
    if any(contents(out)) and not _is_atlas(out / INDEX):
        raise OutputError(f"{out} holds other files and no atlas; give --out a new or empty folder")


def _is_atlas(page: Path) -> bool:
    try:
        return _MARK in read_regular(page, most=_MOST_PAGE)
    except (FileNotFoundError, UnreadableFileError):
        return False
