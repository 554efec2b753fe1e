"""The findings of the probes; one is better than another if the interval of their difference excludes zero."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from headscope.analyses.probes.probe_lines import ProbeLine, line_of, probe_lines
from headscope.counted import count
from headscope.report_kit.comparing import Comparison, compared, verdicts
from headscope.report_kit.linked_sentences import MOST_LISTED, HeadRef, Sentence, continued, listed, sentence
from headscope.report_kit.numbers import accuracy_words, percent, points, two_decimals, with_ends
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Bars
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.words import plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LEAST_SHARE
from headscope.study.study import Study

TOPIC = "probes"
DETAIL = "probes_detail"
ON_WEIGHTS = "probes_weights"
ON_LAYERS = "probes_layers"
"""Topics: for the first screen and the head of the section; for below table 3; on the heads; on the layers."""


def probe_findings(about: Context) -> list[Sentence]:
    """Return the sentences on probes; empty where the run has none."""
    run = about.run
    lines, gaps = probe_lines(run.tables.get("probes")), run.tables.get("probe_differences")
    parsers = [*_parser(lines), *_better(lines, gaps)] if _over_attention(lines) else []
    return [*parsers, *_selective(lines), *_tree(lines), *_largest_weights(about), *_layers(run, lines)]


def _over_attention(lines: list[ProbeLine]) -> list[ProbeLine]:
    return [line for name in ("attention and words", "attention") if (line := line_of(lines, name))]


def _parser(lines: list[ProbeLine]) -> Iterator[Sentence]:
    """Yield the score of the best parser over attention, next to those without attention and with random weights."""
    best, *others = _over_attention(lines)
    inputs = "attention and its words’ vectors" if best.probe == "attention and words" else "attention alone"
    words = f"{accuracy_words(best.score, long=True)} of {count(best.score.n, 'word')}"
    yield sentence(TOPIC, f"a parser over {inputs} finds the head word of {words}.", figure=_bars(lines, best))
    for alone in others:
        yield continued(TOPIC, f"A parser over attention alone finds {accuracy_words(alone.score)}.")
    beside = (
        ("distances and words", "trained", "Words and their distance, without attention, give {}."),
        (best.probe, "control", "Random weights in the model give {}."),
        ("right-branching", "trained", "Always the next word gives {}."),
    )
    for probe, model, text in beside:
        if line := line_of(lines, probe, model):
            yield continued(TOPIC, text.format(accuracy_words(line.score)))


def _bars(lines: list[ProbeLine], best: ProbeLine) -> Bars:
    """Draw the score of a parser next to that with random weights, and to the baseline without attention."""
    beside = (("random weights", best.probe, "control"), ("next word", "right-branching", "trained"))
    known = [(label, line) for label, probe, model in beside if (line := line_of(lines, probe, model))]
    rows = [("attention", best), *known]
    return Bars(tuple((label, line.score.value, percent(line.score.value, 0)) for label, line in rows))


def _better(lines: list[ProbeLine], gaps: pd.DataFrame | None) -> Iterator[Sentence]:
    """Yield the gain of attention over words and distances, and of training over random weights."""
    pairs = (
        ("attention and words", "trained", "distances and words", "trained", "what attention adds to words and "
         "distances"),
        ("attention", "trained", "attention", "control", "what training adds to attention with random weights"),
    )  # fmt: skip
    known_gaps = {
        label: gap
        for probe, model, against, other, label in pairs
        if line_of(lines, probe, model) and line_of(lines, against, other)
        if (gap := _gap(gaps, (probe, model), (against, other)))
    }
    for (label, gap), side in zip(
        known_gaps.items(), verdicts(list(known_gaps.values()), least=LEAST_SHARE), strict=True
    ):
        text = {
            "more": gap.points(),
            "less": f"{gap.points()}, which is a loss",
            "same": f"{gap.at_most()} ({gap.points()})",
            "untested": f"{gap.points()}, not tested: that needs at least {FEWEST_DOCUMENTS} documents",
        }[side]
        yield sentence(DETAIL, f"{label}: {text}.")


def _gap(
    gaps: pd.DataFrame | None, first: tuple[str, str], second: tuple[str, str], *, measure: str = "UAS"
) -> Comparison | None:
    """Return the first probe minus the second, in whichever order the table has them."""
    for (probe, model), (against, than), turn in ((first, second, False), (second, first, True)):
        gap = compared(gaps, probe=probe, model=model, than_probe=against, than_model=than, measure=measure)
        if gap is not None:
            return gap.turned() if turn else gap
    return None


def _selective(lines: list[ProbeLine]) -> Iterator[Sentence]:
    selective = [line for line in lines if "selectivity" in line.cells and line.model == "trained"]
    sides = verdicts([Comparison.of(line.cells["selectivity"]) for line in selective], least=LEAST_SHARE)
    for line, side in zip(selective, sides, strict=True):
        cell = line.cells["selectivity"]
        control = line.cells.get("control accuracy")
        meaning = {
            "more": "more than it learns by heart",
            "less": "no more than it learns by heart",
            "same": "not shown to be more than it learns by heart",
            "untested": f"not tested: that needs at least {FEWEST_DOCUMENTS} documents",
        }[side]
        selectivity = f"selectivity {with_ends(cell, points)} points"
        yield sentence(DETAIL, f"{line.system.name}: {selectivity}, {meaning}.")
        if control is not None:
            yield continued(DETAIL, f"{line.system.name}: the control task has {accuracy_words(control)}.")


def _tree(lines: list[ProbeLine]) -> list[Sentence]:
    measures = {"UAS tree": "as a whole tree (Chu–Liu/Edmonds) it finds", "LAS": "with the right label too it finds"}
    return [
        sentence(DETAIL, f"{line.system.name}: {words} {accuracy_words(line.cells[measure])}.")
        for line in _over_attention(lines)[:1]
        for measure, words in measures.items()
        if measure in line.cells
    ]


def _largest_weights(about: Context) -> list[Sentence]:
    """Return the heads with the largest weights of the probe over attention alone; empty if training adds nothing."""
    gap = _gap(about.run.tables.get("probe_differences"), ("attention", "trained"), ("attention", "control"))
    if gap is not None and verdicts([gap], least=LEAST_SHARE) in (["same"], ["less"]):
        return []
    every = records(about.run.tables.get("probe_weights"))
    rows = [row for row in every if row["probe"] == "attention" and number(row["weight"]) > 0]
    if not rows:
        return []
    best = sorted(rows, key=lambda row: -number(row["weight"]))
    heads = dict.fromkeys((str(row["kind"]), int(row["layer"]), int(row["head"])) for row in best)
    refs = [HeadRef(*head, about.kind(head[0]).head_label(*head[1:])) for head in heads]
    largest = "the parser over attention alone gives the most weight to "
    caution = "Weights of heads that are alike share out, so no single one is a score."
    return [sentence(ON_WEIGHTS, largest, *listed(refs[:MOST_LISTED]), "."), continued(ON_WEIGHTS, caution)]


def _layers(run: Study, lines: list[ProbeLine]) -> Iterator[Sentence]:
    line = line_of(lines, "structural")
    if line is None:
        return
    vectors, arcs = plain(line.vectors), count(line.score.n, "undirected arc")
    yield sentence(ON_LAYERS, f"words’ vectors of {vectors} hold {accuracy_words(line.score)} of {arcs}.")
    yield continued(ON_LAYERS, f"{vectors} was selected on held-out sentences of train.")
    if spearman := line.cells.get("Spearman"):
        text = f"Distances of these vectors correlate with the tree’s at {with_ends(spearman, two_decimals)}."
        yield continued(ON_LAYERS, text)
    layers = [row for row in records(run.tables.get("probe_layers")) if row["measure"] == "UUAS"]
    embeddings = [cell_of(row, "value") for row in layers if int(row["layer"]) == 0]
    gaps = run.tables.get("probe_differences")
    gap = _gap(gaps, ("structural", "trained"), ("embeddings", "trained"), measure="UUAS")
    is_more = gap is not None and verdicts([gap], least=LEAST_SHARE) == ["more"]
    if gap is not None and is_more and embeddings and any(row["chosen"] for row in layers):
        alone = accuracy_words(embeddings[0])
        yield sentence(ON_LAYERS, f"the embeddings alone hold {alone}: {gap.points()} between them.")
