"""Marks for heads that were guided in training: on the first screen, and on their cards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headscope.models.guided import GUIDED
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import percent
from headscope.report_kit.words import join


def guided_line(manifest: Mapping[str, Any]) -> str:
    """Return a phrase with the guided heads of a run's model; empty without guided heads."""
    guided = manifest.get(GUIDED)
    if not guided:
        return ""
    verb = "were" if len(guided["heads"]) > 1 else "was"
    return f"{join(guided['heads'])} {verb} guided for the first {percent(guided['share'], 0)} of training"


def guided_sentences(manifest: Mapping[str, Any], kind: Kind) -> dict[int, str]:
    """Return the sentence for the card of each guided head, by its index in a kind of attention."""
    guided = manifest.get(GUIDED)
    if not guided:
        return {}
    sentence = (
        f"Guided: for the first {percent(guided['share'], 0)} of training it was shown where to look. That such heads "
        "form by data alone does not follow from it."
    )
    places = [[int(number) for number in head.split("-")] for head in guided["heads"]]
    return {
        kind.head_index(layer, head): sentence
        for layer, head in places
        if layer <= kind.layers and head <= kind.heads_per_layer
    }
