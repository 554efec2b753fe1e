"""The figures of probes: table 3, scores by distance, weights of heads, the layers of the structural probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pandas as pd

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.analyses.probes.figures.curves import probe_distances, probe_layers
from headscope.analyses.probes.figures.score_lines import probe_scores
from headscope.analyses.probes.figures.weight_grids import probe_weights, weights_of
from headscope.analyses.probes.probe_lines import probe_lines
from headscope.report_kit.kinds import Kind
from headscope.report_kit.report_parts import Context, Drawing, Figure
from headscope.study.paper_table import paper_numbers
from headscope.study.study import Study


def _scores(about: Context, probes: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    if probe_lines(probes):
        yield "", partial(probe_scores, probes, paper=paper_of(about.run))


def _weights(about: Context, weights: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for probe, kind in grids_of(weights, about):
        yield grid_ending(probe, kind), partial(probe_weights, weights, probe, kind=kind.name)


SCORES = Figure(name="probe-scores", tables=("probes",), draw=_scores)
DISTANCES = Figure(
    name="probe-distances", tables=("probe_by_distance",), draw=lambda _, near: [("", partial(probe_distances, near))]
)
WEIGHTS = Figure(name="probe-weights", tables=("probe_weights",), draw=_weights)
LAYERS = Figure(
    name="probe-layers", tables=("probe_layers",), draw=lambda _, layers: [("", partial(probe_layers, layers))]
)
FIGURES = (SCORES, DISTANCES, WEIGHTS, LAYERS)


def grid_ending(probe: str, kind: Kind) -> str:
    """Return the ending of a grid's file name."""
    return ("" if probe == "attention" else f"-{probe.replace(' ', '-')}") + kind.ending


def grids_of(table: pd.DataFrame, about: Context) -> list[tuple[str, Kind]]:
    """Return the probe and the kind of attention of each grid of `tables/probe_weights.parquet`."""
    probes = [probe for probe, model in SYSTEMS if model == "trained" and probe in set(table["probe"])]
    return [(probe, kind) for probe in probes for kind in about.kinds if len(weights_of(table, probe, kind=kind.name))]


def paper_of(run: Study) -> Mapping[str, Any] | None:
    """Return the paper's table 3 if the model is the paper's, else None."""
    return paper_numbers().get("table3") if run.is_bert_base else None
