"""Probes in the page: table 3, near and far, which heads they listen to, and the layers of the structural probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.analyses.probes.catalogue import SYSTEMS
from headscope.analyses.probes.figures.curves import probe_distances, probe_layers
from headscope.analyses.probes.figures.score_lines import probe_scores
from headscope.analyses.probes.figures.weight_grids import probe_weights, weights_of
from headscope.analyses.probes.findings import DETAIL, LAYERS, TOPIC, WEIGHTS
from headscope.analyses.probes.lines import probe_lines
from headscope.analyses.probes.page_tables import classes_table, layers_table, table_3, weights_table
from headscope.figures.saving import save
from headscope.prepare.overlap import overlap_line
from headscope.reporting.kit.drawing import inline
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence
from headscope.reporting.kit.links import file_links, linked
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.page_rows import scrolled
from headscope.reporting.kit.report_parts import Context, Section
from headscope.reporting.kit.words import capital, count, plain
from headscope.views.markup import Html, el

WHY = (
    "How much of syntax do all heads together hold? A parser is trained on their attention alone and must choose every "
    "word’s head word; what it would find without attention, or on a model with random weights, stands beside it."
)
TERMS = (
    ("Heads found (UAS)", "the share of words, punctuation left out and the root counted, whose head word a probe "
     "chooses; with label (LAS): the relation too; as a tree: the best tree in place of the best head of each word"),
    ("Attention and words", "the score of one word as another’s head word is a weighted sum of all heads’ attention "
     "between the two, both ways; alone the weights are fixed, with words they follow from the two words’ vectors"),
    ("Control task", "each word type draws once whether it points at itself, the sentence’s first or its last word; "
     "selectivity is UAS less the accuracy at that. A probe that could learn anything by heart has none"),
    ("Structural probe", "a linear map of words’ vectors under which squared distances are distances in the tree. "
     "UUAS: the share of arcs, direction and punctuation left aside, in the closest tree; Spearman: the correlation "
     "of the distances from each word, averaged within a sentence length, then over lengths 5 to 50"),
)  # fmt: skip


def probes_section(about: Context) -> list[Section]:
    """Build the section; none where the run has no probes."""
    run, found, links = about.run, about.found, about.links
    lines = probe_lines(run.table("probes"))
    if not lines:
        return []
    parts: list[Html | None] = list(linked([one for one in found if one.topic == TOPIC]))
    parts.append(scrolled(table_3(lines, paper=_paper(run)), "Heads found by each probe"))
    parts.append(el("p", f"{read_line(run.manifest)} {_CAPTION}".strip(), class_="caption"))
    parts += linked([one for one in found if one.topic == DETAIL])
    if links:
        parts.append(file_links("probe-scores", "Table 3 of the paper as a figure, for this model"))
    parts += _near_and_far(run, links)
    parts += _weights(about)
    parts += _layers(run, found, links)
    html = el(
        "section",
        el("h2", "What all heads know together"),
        el("p", WHY, class_="why"),
        parts,
        id="section-probes",
    )
    return [Section(name="probes", title="What all heads know together", html=html)]


_CAPTION = (
    "Percent, means over seeds, 95% intervals over documents below; ± is the standard deviation over seeds. Hollow: "
    "the same model with random weights."
)


def read_line(manifest: Mapping[str, Any]) -> str:
    """Say what the probes were trained and scored on; keys that are missing say nothing."""
    told = manifest.get("probes") or {}
    parts = []
    for key, verb in (("train", "Trained on"), ("dev", "scored on")):
        bank = told.get(key) or {}
        if "sentences" in bank:
            name = f" of {plain(bank['name'])}" if bank.get("name") else ""
            parts.append(f"{verb} {count(int(bank['sentences']), 'sentence')}{name}")
    if not parts:
        return ""
    out = [", ".join(parts)]
    if told.get("vectors"):
        out.append(f"Word vectors: {plain(told['vectors'])}")
    if told.get("overlap"):
        out.append(capital(plain(overlap_line(told["overlap"]))))
    return ". ".join(out) + "."


def save_probe_figures(about: Context, folder: Path) -> list[Path]:
    """Write the figures of probes as SVG and PNG, each where there is something to draw, and return their paths."""
    run, kinds = about.run, about.kinds
    scores, near, weights, layers = (
        run.table(name) for name in ("probes", "probe_by_distance", "probe_weights", "probe_layers")
    )
    paths: list[Path] = []
    if probe_lines(scores) and scores is not None:
        paths += save(probe_scores(scores, paper=_paper(run)), folder, "probe-scores")
    if near is not None:
        paths += save(probe_distances(near), folder, "probe-distances")
    if weights is not None:
        for probe, kind in _grids(weights, kinds):
            figure = probe_weights(weights, probe, kind=kind)
            paths += save(figure, folder, weights_name(probe, kind, kinds))
    if layers is not None:
        paths += save(probe_layers(layers), folder, "probe-layers")
    return paths


def weights_name(probe: str, kind: str, kinds: Sequence[Kind]) -> str:
    """Return the name of a grid's file: the first kind of a model needs none of its own."""
    name = "probe-weights" if probe == "attention" else f"probe-weights-{probe.replace(' ', '-')}"
    return name if kind == kinds[0].name else f"{name}-{kind}"


def _paper(run: Measured) -> Mapping[str, Any] | None:
    return run.paper.get("table3") if run.is_bert_base and run.paper is not None else None


def _grids(table: pd.DataFrame, kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    probes = [probe for probe, model in SYSTEMS if model == "trained" and probe in set(table["probe"])]
    return [
        (probe, kind.name)
        for probe in probes
        for kind in kinds
        if len(weights_of(table, probe, kind=kind.name))
    ]


def _near_and_far(run: Measured, links: bool) -> list[Html | None]:
    out: list[Html | None] = []
    by_distance, by_relation = run.table("probe_by_distance"), run.table("probe_relations")
    if by_distance is not None:
        figure = probe_distances(by_distance)
        label = "Heads found by each probe by distance; the table below holds the numbers."
        out += [
            el("h3", "Near and far"),
            el("figure", inline(figure, name="probe-distances", label=label)),
            file_links("probe-distances", "These curves as a figure") if links else None,
            classes_table(
                by_distance,
                "distance",
                name="table-probe-distances",
                summary="Table: heads found by distance",
                header="words apart",
            ),
        ]
    if by_relation is not None:
        out.append(
            classes_table(
                by_relation,
                "relation",
                name="table-probe-relations",
                summary="Table: heads found by relation",
                header="relation",
            )
        )
    return out


def _weights(about: Context) -> list[Html | None]:
    kinds, several, table = about.kinds, about.several, about.run.table("probe_weights")
    grids = [] if table is None else _grids(table, kinds)
    if table is None or not grids:
        return []
    out: list[Html | None] = [
        el("h3", "Which heads the parser listens to"),
        *linked([one for one in about.found if one.topic == WEIGHTS]),
    ]
    for probe, kind in grids:
        figure = probe_weights(table, probe, kind=kind)
        title = SYSTEMS[probe, "trained"].name + (f", {kind}" if several else "")
        label = (
            f"Weights that the probe on {probe} gives the {kind} heads; the table below holds the largest."
        )
        drawn = inline(figure, name=f"probe-weights-{probe.replace(' ', '-')}-{kind}", label=label)
        out += [el("h4", capital(title)), el("figure", drawn)]
        out.append(
            file_links(weights_name(probe, kind, kinds), "This grid as a figure") if about.links else None
        )
    caption = (
        "A cell is a head; the fuller its colour, the larger its weight, on one scale for both directions; with a bar: "
        "below zero. With words a head’s weight depends on the two words: the mean over the gold arcs. Click a cell to "
        "open its head’s card."
    )
    return [
        *out,
        el("p", caption, class_="caption"),
        weights_table(table, several=several),
    ]


def _layers(run: Measured, found: Sequence[Sentence], links: bool) -> list[Html | None]:
    table = run.table("probe_layers")
    if table is None:
        return []
    figure = probe_layers(table)
    label = "What the structural probe finds in each layer; the table below holds the numbers."
    caption = (
        "A ring marks the layer that did best on a held-out tenth of the train documents. Bands: 95% intervals over "
        "documents."
    )
    return [
        el("h3", "In which layer"),
        *linked([one for one in found if one.topic == LAYERS]),
        el("figure", inline(figure, name="probe-layers", label=label)),
        el("p", caption, class_="caption"),
        file_links("probe-layers", "These curves as a figure") if links else None,
        layers_table(table),
    ]
