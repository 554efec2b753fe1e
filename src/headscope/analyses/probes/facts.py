"""Probes: what a parser over all heads finds, what attention and training add, and what words' vectors hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from headscope.analyses.probes.figures import FIGURES, weight_grids
from headscope.analyses.probes.page_rows import MOST_WEIGHTS as MOST_WEIGHTS
from headscope.analyses.probes.page_rows import SCORES_BY_SYSTEM as SCORES_BY_SYSTEM
from headscope.analyses.probes.page_rows import (
    ProbeLine,
    class_rows,
    layer_rows,
    overlap_said,
    probe_lines,
    probe_rows,
    weight_rows,
)
from headscope.analyses.probes.tables import OVER_ATTENTION, STRUCTURAL
from headscope.present.cells import Cell, cell_of, number, records
from headscope.present.claim_rules import Comparison, Verdict, compared, verdicts
from headscope.present.facts import Fact
from headscope.present.linked_sentences import MOST_LISTED, Bars, HeadRef
from headscope.present.numbers import percent
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_SHARE

Lines = Mapping[tuple[str, str], ProbeLine]


class ProbeFact(Fact):
    """A claim for the first screen."""

    topic = "probes"
    rank = 50


class Detail(Fact):
    """A claim for the section alone."""

    topic = "probes_detail"


class OnLayers(Fact):
    """A claim on the structural probe, above its layers."""

    topic = "probes_layers"


@dataclass(frozen=True, kw_only=True)
class Parser(ProbeFact):
    """The score of the best parser over attention, with the scores of attention alone and of the baselines."""

    score: Cell
    sees_words: bool
    alone: Cell | None
    without_attention: Cell | None
    random_weights: Cell | None
    next_word: Cell | None


@dataclass(frozen=True, kw_only=True)
class Gain(Detail):
    """The score that attention adds to words and distances, or that training adds to random weights."""

    by_training: bool
    gap: Comparison
    side: Verdict


@dataclass(frozen=True, kw_only=True)
class Selectivity(Detail):
    """The score of a probe minus its accuracy on a task that it can only learn by heart."""

    probe: str
    selectivity: Cell
    side: Verdict
    control: Cell | None


@dataclass(frozen=True, kw_only=True)
class Whole(Detail):
    """The score of the best parser for whole trees, or for arcs with the right label."""

    probe: str
    score: Cell
    labeled: bool


@dataclass(frozen=True, kw_only=True)
class LargestWeights(Fact):
    """The heads with the largest weights of the probe over attention alone."""

    topic = "probes_weights"
    heads: list[HeadRef]


@dataclass(frozen=True, kw_only=True)
class Structural(OnLayers):
    """The arcs that the structural probe finds in the vectors of the chosen layer, and how its distances correlate."""

    vectors: str
    score: Cell
    spearman: Cell | None


@dataclass(frozen=True, kw_only=True)
class EmbeddingsAlone(OnLayers):
    """The arcs that it finds in the embeddings, and the difference of the chosen layer."""

    score: Cell
    gap: Comparison


def probe_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on probes; none where the run has none."""
    lines = probe_lines(about.run.tables.get("probes"))
    parsers = [lines[name, "trained"] for name in reversed(OVER_ATTENTION) if (name, "trained") in lines]
    if parsers:
        yield _parser(lines, *parsers)
        yield from _gains(lines, about)
    yield from _selectivity(lines)
    for line in parsers[:1]:
        for measure in ("UAS tree", "LAS"):
            if measure in line.cells:
                yield Whole(probe=line.system.name, score=line.cells[measure], labeled=measure == "LAS")
    yield from _largest_weights(about)
    if structural := lines.get((STRUCTURAL, "trained")):
        yield Structural(vectors=structural.vectors, score=structural.score, spearman=structural.cells.get("Spearman"))
        yield from _embeddings(about)


def _parser(lines: Lines, best: ProbeLine, *others: ProbeLine) -> Parser:
    def score(probe: str, model: str = "trained") -> Cell | None:
        return lines[probe, model].score if (probe, model) in lines else None

    fact = Parser(
        score=best.score,
        sees_words=best.probe != "attention",
        alone=others[0].score if others else None,
        without_attention=score("distances and words"),
        random_weights=score(best.probe, "control"),
        next_word=score("right-branching"),
    )
    bars = {"attention": fact.score, "random weights": fact.random_weights, "next word": fact.next_word}
    rows = tuple((label, cell.value, percent(cell.value, 0)) for label, cell in bars.items() if cell)
    return replace(fact, figure=Bars(rows))


def _gap(about: Context, *names: str, measure: str = "UAS") -> Comparison | None:
    """Return the difference of two probes: names of the first and of its model, and of the second and of its model."""
    keys = dict(zip(("probe", "model", "than_probe", "than_model"), names, strict=True))
    return compared(about.run.tables.get("probe_differences"), **keys, measure=measure)


_TRAINING = ("attention", "trained", "attention", "control")


def _gains(lines: Lines, about: Context) -> Iterator[Gain]:
    pairs = (("attention and words", "trained", "distances and words", "trained"), _TRAINING)
    gaps = {pair: gap for pair in pairs if pair[:2] in lines and pair[2:] in lines if (gap := _gap(about, *pair))}
    for (pair, gap), side in zip(gaps.items(), verdicts(list(gaps.values()), least=LEAST_SHARE), strict=True):
        yield Gain(by_training=pair is _TRAINING, gap=gap, side=side)


def _selectivity(lines: Lines) -> Iterator[Selectivity]:
    selective = [line for line in lines.values() if "selectivity" in line.cells and line.model == "trained"]
    sides = verdicts([Comparison.of(line.cells["selectivity"]) for line in selective], least=LEAST_SHARE)
    for line, side in zip(selective, sides, strict=True):
        yield Selectivity(
            probe=line.system.name,
            selectivity=line.cells["selectivity"],
            side=side,
            control=line.cells.get("control accuracy"),
        )


def _largest_weights(about: Context) -> Iterator[LargestWeights]:
    """Yield the heads with the largest weights; nothing if training is not shown to add anything."""
    gap = _gap(about, *_TRAINING)
    if gap is not None and verdicts([gap], least=LEAST_SHARE)[0] in ("same", "less"):
        return
    every = records(about.run.tables.get("probe_weights"))
    rows = [row for row in every if row["probe"] == "attention" and number(row["weight"]) > 0]
    rows.sort(key=lambda row: -number(row["weight"]))
    heads = dict.fromkeys(about.kind(str(row["kind"])).labeled_head(row["layer"], row["head"]) for row in rows)
    if heads:
        yield LargestWeights(heads=list(heads)[:MOST_LISTED])


def _embeddings(about: Context) -> Iterator[EmbeddingsAlone]:
    layers = [row for row in records(about.run.tables.get("probe_layers")) if row["measure"] == "UUAS"]
    scores = [cell_of(row, "value") for row in layers if int(row["layer"]) == 0]
    gap = _gap(about, STRUCTURAL, "trained", "embeddings", "trained", measure="UUAS")
    if scores and gap and any(row["chosen"] for row in layers) and verdicts([gap], least=LEAST_SHARE) == ["more"]:
        yield EmbeddingsAlone(score=scores[0], gap=gap)


PAGE = Page(
    __name__, probe_facts,
    uses=(overlap_said, probe_rows, class_rows, weight_grids, weight_rows, layer_rows),
    figures=FIGURES,
)  # fmt: skip
PARTS = PAGE.parts(group="syntax", explained=("probes",))
