"""Probes in the page: table 3, scores by distance, the heads with the largest weights, and the structural probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.analyses.probes.figures.drawings import DISTANCES, LAYERS, WEIGHTS, grid_ending, grids_of, paper_of
from headscope.analyses.probes.findings import DETAIL, ON_LAYERS, ON_WEIGHTS, TOPIC
from headscope.analyses.probes.page_tables import classes_table, layers_table, table_3, weights_table
from headscope.analyses.probes.probe_lines import ProbeLine, probe_lines
from headscope.prepare.overlap import overlap_line
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.links import file_link, linked
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.page_parts import scrolled
from headscope.report_kit.words import capital, count, plain
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
    """Build the section; empty where the run has no probes."""
    lines = probe_lines(about.run.tables.get("probes"))
    blocks = _blocks(about, lines) if lines else ()
    return section("probes", "What all heads know together", WHY, blocks)


def _blocks(about: Context, lines: Sequence[ProbeLine]) -> Iterator[Html | None]:
    file = file_link(about, "probe-scores", "Table 3 of the paper as a figure, for this model")
    findings = linked(about.findings_on(TOPIC, DETAIL))
    yield captioned(findings, caption(_CAPTION), caption(read_line(about.run.manifest)), file)
    yield scrolled(table_3(lines, paper=paper_of(about.run)), "Heads found by each probe")
    yield from (*_near_and_far(about), *_weights(about), *_layers(about))


_CAPTION = (
    "Percent, means over seeds, 95% intervals over documents below; ± is the standard deviation over seeds. Hollow: "
    "the same model with random weights."
)
_WEIGHTS_KEY = (
    "A cell is a head; the fuller its color, the larger its weight, on one scale for both directions; with a bar: "
    "below zero. With words a head’s weight depends on the two words: the mean over the gold arcs. Click a cell to "
    "open its head’s card."
)


def read_line(manifest: Mapping[str, Any]) -> str:
    """Return a line on the corpora that the probes were trained and scored on; missing keys are omitted."""
    facts = manifest.get("probes") or {}
    banks = (("Trained on", facts.get("train") or {}), ("scored on", facts.get("dev") or {}))
    clauses = [
        f"{verb} {count(int(bank['sentences']), 'sentence')}"
        + (f" of {plain(bank['name'])}" if bank.get("name") else "")
        for verb, bank in banks
        if "sentences" in bank
    ]
    if not clauses:
        return ""
    out = [", ".join(clauses)]
    if facts.get("vectors"):
        out.append(f"Word vectors: {plain(facts['vectors'])}")
    if facts.get("overlap"):
        out.append(capital(plain(overlap_line(facts["overlap"]))))
    return ". ".join(out) + "."


def _near_and_far(about: Context) -> Iterator[Html | None]:
    tables = about.run.tables
    if (by_distance := tables.get("probe_by_distance")) is not None:
        label = "Heads found by each probe by distance; the table below holds the numbers."
        yield el("h3", "Near and far")
        key = caption(
            "A line is a probe, dashed with random weights: the share of words whose head word it finds, by how many "
            "words apart the two are. Bars: 95% intervals over documents."
        )
        file = file_link(about, DISTANCES.name, "These curves as a figure")
        yield captioned(placed(about, DISTANCES, label), key, file)
        yield classes_table(by_distance, "distance", name="table-probe-distances", header="words apart")
    if (by_relation := tables.get("probe_relations")) is not None:
        yield classes_table(by_relation, "relation", name="table-probe-relations", header="relation")


def _weights(about: Context) -> Iterator[Html | None]:
    table = about.run.tables.get("probe_weights")
    if table is None or not (grids := grids_of(table, about)):
        return
    yield el("h3", "Which heads the parser listens to")
    yield from linked(about.findings_on(ON_WEIGHTS))
    for probe, kind in grids:
        ending = grid_ending(probe, kind)
        title = SYSTEMS[probe, "trained"].name + (f", {kind.name}" if kind.prefix else "")
        label = f"Weights that the probe on {probe} gives the {kind.name} heads; the table below holds the largest."
        yield el("h4", capital(title))
        file = file_link(about, WEIGHTS.name + ending, "This grid as a figure")
        yield captioned(placed(about, WEIGHTS, label, ending=ending), caption(_WEIGHTS_KEY), file)
    yield weights_table(table, about)


def _layers(about: Context) -> Iterator[Html | None]:
    table = about.run.tables.get("probe_layers")
    if table is None:
        return
    label = "What the structural probe finds in each layer; the table below holds the numbers."
    key = (
        "A line is a measure of the structural probe over the vectors of each layer. A ring marks the layer that did "
        "best on a held-out tenth of the train documents. Bands: 95% intervals over documents."
    )
    yield el("h3", "In which layer")
    yield from linked(about.findings_on(ON_LAYERS))
    file = file_link(about, LAYERS.name, "These curves as a figure")
    yield captioned(placed(about, LAYERS, label), caption(key), file)
    yield layers_table(table)
