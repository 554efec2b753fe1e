"""The figures of dependency heads: relations by layer, accuracy by distance."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from headscope.analyses.syntax.figures.distance_curves import curve_pages, distance_curves
from headscope.analyses.syntax.figures.heat_table import drawn_relations
from headscope.analyses.syntax.figures.relation_layers import best_by_layer, relation_layers
from headscope.analyses.syntax.relations import best_offsets, curve_relations, relations_of
from headscope.report_kit.report_parts import Context, Drawing, Figure


def _by_layer(about: Context, accuracies: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    relations, offsets = relations_of(about.run), best_offsets(about.run)
    for kind in about.kinds:
        names = drawn_relations(relations, best_by_layer(accuracies, offsets, kind=kind.name))
        if names:
            yield kind.ending, partial(relation_layers, accuracies, offsets, kind=kind.name, relations=names)


def _by_distance(about: Context, near: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    names = curve_relations(relations_of(about.run), about.run)
    for page in curve_pages(names) if names else ():
        yield "", partial(distance_curves, near, relations=page)


BY_LAYER = Figure(name="relations-by-layer", tables=("syntax",), draw=_by_layer)
BY_DISTANCE = Figure(name="accuracy-by-distance", tables=("syntax_by_distance",), draw=_by_distance)
