"""The figures of probes, each once: by the name of its file, how it is drawn for the page and for the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.analyses.probes.figures.curves import probe_distances, probe_layers
from headscope.analyses.probes.figures.score_lines import probe_scores, scores_of
from headscope.analyses.probes.figures.weight_grids import probe_weights, weights_of
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import figure_file
from headscope.report_kit.report_parts import Context
from headscope.study.paper import paper_numbers
from headscope.study.study import Study

Drawings = Mapping[str, Callable[[], Figure]]


def drawings_of(about: Context) -> Drawings:
    """Return the figures that a run has something to draw in."""
    run, kinds = about.run, about.kinds
    scores, near, weights, layers = (
        run.tables.get(name) for name in ("probes", "probe_by_distance", "probe_weights", "probe_layers")
    )
    drawings: dict[str, Callable[[], Figure]] = {}
    if scores is not None and scores_of(scores):
        drawings["probe-scores"] = partial(probe_scores, scores, paper=paper_of(run))
    if near is not None:
        drawings["probe-distances"] = partial(probe_distances, near)
    if weights is not None:
        for probe, kind in grids_of(weights, kinds):
            drawings[weights_name(probe, kind, kinds)] = partial(probe_weights, weights, probe, kind=kind)
    if layers is not None:
        drawings["probe-layers"] = partial(probe_layers, layers)
    return drawings


def probe_figures(about: Context) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of probes, each with the name of its file."""
    yield from ((name, draw()) for name, draw in drawings_of(about).items())


def weights_name(probe: str, kind: str, kinds: Sequence[Kind]) -> str:
    """Return the name of a grid's file."""
    name = "probe-weights" if probe == "attention" else f"probe-weights-{probe.replace(' ', '-')}"
    return figure_file(name, kind, first=kind == kinds[0].name)


def grids_of(table: pd.DataFrame, kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    """Return the probe and the kind of attention of each grid of `tables/probe_weights.parquet`."""
    probes = [probe for probe, model in SYSTEMS if model == "trained" and probe in set(table["probe"])]
    return [
        (probe, kind.name)
        for probe in probes
        for kind in kinds
        if len(weights_of(table, probe, kind=kind.name))
    ]


def paper_of(run: Study) -> Mapping[str, Any] | None:
    """Return the paper's table 3, where the model is the paper's."""
    return paper_numbers().get("table3") if run.is_bert_base else None
