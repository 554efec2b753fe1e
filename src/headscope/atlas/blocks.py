"""What the atlas's script knows of a study: the report's data, and what is on the cards beside it."""

from __future__ import annotations

from typing import Any

from headscope.atlas.accuracies import relations_block
from headscope.atlas.places import map_block, nearest_block
from headscope.atlas.sentences import sentences_block
from headscope.atlas.vocabulary import vocabulary
from headscope.errors import InputError
from headscope.models.folder.shown import short_name
from headscope.reporting.kit.kinds import kinds_of
from headscope.reporting.kit.words import plain, words_for
from headscope.reporting.page import run_line
from headscope.reporting.payload import data_block, maps_block
from headscope.reporting.run import inputs_of
from headscope.study.study import Study

SCHEMA = 1
NEEDED = ("surface", "examples")


def atlas_blocks(study: Study, *, report: str | None = None) -> dict[str, Any]:
    """Return the JSON data blocks of the atlas by the id of their element: `data`, `maps` and `atlas`.

    `data` and `maps` are those of the report's page. `atlas` has what the run is called, what it did not measure
    (`measured`: null where it did, else what to do), the words to ask with, accuracies of every head at each relation,
    places on the map, nearest heads, and sentences.

    Args:
        study: a finished run; stages that it does not have are said to be missing.
        report: address of the report's page beside the atlas, to link to; None for none.

    Raises:
        InputError: the run has no statistics of heads on text, which every card is made of.
    """
    check_study(study)
    inputs = inputs_of(study)
    words, kinds = words_for(inputs.manifest), kinds_of(inputs)
    relations = relations_block(inputs, kinds)
    clearest = study.optional_table("clearest")
    sentences = sentences_block(inputs, clearest, kinds, words)
    atlas = {
        "schema": SCHEMA,
        "model": short_name(plain(inputs.manifest["signature"]["model"]["name"])),
        "run": run_line(inputs, kinds),
        "report": report,
        "missing": {
            "relations": None if inputs.dependency is not None else "give the run a --treebank",
            "coreference": None if inputs.coreference_heads is not None else "give the run a --coref",
            "distances": None if inputs.head_distances is not None else "run headscope report again",
            "clearest": None if clearest is not None else "run headscope report again",
        },
        "vocabulary": vocabulary(words, [one["name"] for one in relations if not one["overall"]]),
        "relations": relations,
        "kinds": {
            kind.name: {
                "map": map_block(inputs, kind),
                "nearest": nearest_block(inputs, kind),
                "sentences": sentences[kind.name],
            }
            for kind in kinds
        },
    }
    return {"data": data_block(inputs, kinds, words), "maps": maps_block(inputs, kinds), "atlas": atlas}


def check_study(study: Study) -> None:
    """Refuse a run without what every card is made of.

    Raises:
        InputError: names what is there.
    """
    lacking = [name for name in NEEDED if name not in study.tables]
    if lacking:
        there = ", ".join(study.tables) or "no table"
        raise InputError(
            f"{study.path} has no table {lacking[0]!r}, which the atlas is made of; it has {there}. Give the folder of "
            "a headscope report"
        )
