"""The data of the atlas's script: the report's data, and the additional contents of the cards."""

from __future__ import annotations

from typing import Any

from headscope.analyses.for_report import every_part, functions_of
from headscope.atlas.functions import behaviors_block, relations_block, vocabulary
from headscope.errors import InputError
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import plain
from headscope.reporting.card_sentences import TOP_EXAMPLES, sentences_block
from headscope.reporting.head_summary import is_explained
from headscope.reporting.payload import data_block, maps_block
from headscope.reporting.report_page import run_line
from headscope.study.study import Study
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
    check_study(study)
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


def check_study(study: Study) -> None:
    """Check that a run has the tables that every card needs.

    Raises:
        InputError: a table is missing; the message lists the tables that exist.
    """
    lacking = [name for name in NEEDED if name not in study.tables]
    if lacking:
        there = ", ".join(study.tables) or "no table"
        raise InputError(
            f"{study.path} has no table {lacking[0]!r}, which the atlas needs; it has {there}. Give the folder of "
            "a headscope report"
        )
