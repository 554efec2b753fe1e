"""The findings of the probes; one is better than another where the interval of their difference leaves out zero."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headscope.analyses.probes.probe_lines import ProbeLine, line_of, probe_lines
from headscope.counted import count
from headscope.report_kit.comparing import Comparison, compared
from headscope.report_kit.linked_sentences import MOST_LISTED, HeadRef, Sentence, listed, sentence
from headscope.report_kit.numbers import accuracy_words, points, two_decimals, with_ends
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.words import plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.study import Study

TOPIC = "probes"
DETAIL = "probes_detail"
ON_WEIGHTS = "probes_weights"
ON_LAYERS = "probes_layers"
"""Topics: for the first screen and the head of the section; what belongs below table 3; on the heads; on the layers."""


def probe_findings(about: Context) -> list[Sentence]:
    """Return the sentences on probes; none where the run has none."""
    run = about.run
    lines = probe_lines(run.tables.get("probes"))
    out = [
        *_parser(lines, run.tables.get("probe_differences")),
        *_selective(lines),
        *_tree(lines),
        *_largest_weights(about),
    ]
    return [*out, *_layers(run, lines)]


def _parser(lines: list[ProbeLine], gaps: pd.DataFrame | None) -> list[Sentence]:
    """The best that was read off attention, beside what needs no attention and what random weights give."""
    over_attention = [line for name in ("attention and words", "attention") if (line := line_of(lines, name))]
    if not over_attention:
        return []
    best = over_attention[0]
    inputs = "attention and its words’ vectors" if best.probe == "attention and words" else "attention alone"
    out = [
        sentence(
            TOPIC,
            f"a parser over {inputs} finds the head word of {accuracy_words(best.score, long=True)} of "
            f"{count(best.score.n, 'word')}.",
        )
    ]
    if len(over_attention) > 1:
        alone = accuracy_words(over_attention[1].score)
        out.append(sentence(TOPIC, f"A parser over attention alone finds {alone}.", goes_on=True))
    beside = (
        ("distances and words", "trained", "Words and their distance, without attention, give {}."),
        (best.probe, "control", "Random weights in the model give {}."),
        ("right-branching", "trained", "Always the next word gives {}."),
    )
    for probe, model, text in beside:
        if line := line_of(lines, probe, model):
            out.append(sentence(TOPIC, text.format(accuracy_words(line.score)), goes_on=True))
    return [*out, *_better(lines, gaps)]


def _better(lines: list[ProbeLine], gaps: pd.DataFrame | None) -> list[Sentence]:
    """Whether attention adds to words, and training to random weights."""
    out = []
    pairs = (
        ("attention and words", "trained", "distances and words", "trained", "what attention adds to words and "
         "distances"),
        ("attention", "trained", "attention", "control", "what training adds to attention with random weights"),
    )  # fmt: skip
    for probe, model, against, other, label in pairs:
        if line_of(lines, probe, model) is None or line_of(lines, against, other) is None:
            continue
        gap = _gap(gaps, (probe, model), (against, other))
        if gap is None:
            continue
        text = {
            "more": gap.points(),
            "less": f"{gap.points()}, which is a loss",
            "same": f"{gap.at_most()} ({gap.points()})",
            "untested": f"{gap.points()}, not tested: that needs at least {FEWEST_DOCUMENTS} documents",
        }[gap.verdict]
        out.append(sentence(DETAIL, f"{label}: {text}."))
    return out


def _gap(
    gaps: pd.DataFrame | None, first: tuple[str, str], second: tuple[str, str], *, measure: str = "UAS"
) -> Comparison | None:
    """The first probe less the second, whichever way round the table has them."""
    for (probe, model), (against, than), turn in ((first, second, False), (second, first, True)):
        gap = compared(gaps, probe=probe, model=model, than_probe=against, than_model=than, measure=measure)
        if gap is not None:
            return gap.turned() if turn else gap
    return None


def _selective(lines: list[ProbeLine]) -> list[Sentence]:
    out = []
    for line in lines:
        if "selectivity" not in line.cells or line.model != "trained":
            continue
        cell = line.cells["selectivity"]
        control = line.cells.get("control accuracy")
        measured = f"{line.system.name}: selectivity {with_ends(cell, points)} points"
        if not cell.has_interval:
            untested = f"{measured}, not tested: that needs at least {FEWEST_DOCUMENTS} documents."
            out.append(sentence(DETAIL, untested))
        else:
            meaning = (
                "more than it learns by heart"
                if cell.ci_low > 0
                else "no more than it learns by heart"
                if cell.ci_high < 0
                else "not shown to be more than it learns by heart"
            )
            out.append(sentence(DETAIL, f"{measured}, {meaning}."))
        if control is not None:
            out.append(
                sentence(
                    DETAIL,
                    f"{line.system.name}: the control task has {accuracy_words(control)}.",
                    goes_on=True,
                )
            )
    return out


def _tree(lines: list[ProbeLine]) -> list[Sentence]:
    line = line_of(lines, "attention and words") or line_of(lines, "attention")
    if line is None:
        return []
    measures = (
        ("UAS tree", "as a whole tree (Chu–Liu/Edmonds) it finds"),
        ("LAS", "with the right label too it finds"),
    )
    return [
        sentence(DETAIL, f"{line.system.name}: {words} {accuracy_words(line.cells[measure])}.")
        for measure, words in measures
        if measure in line.cells
    ]


def _largest_weights(about: Context) -> list[Sentence]:
    """The heads with the largest weights of the probe over attention alone."""
    rows = [row for row in records(about.run.tables.get("probe_weights")) if row["probe"] == "attention"]
    rows = [row for row in rows if number(row["weight"]) > 0]
    if not rows:
        return []
    best = sorted(rows, key=lambda row: -number(row["weight"]))
    heads = dict.fromkeys((str(row["kind"]), int(row["layer"]), int(row["head"])) for row in best)
    refs = [HeadRef(*head, about.kind(head[0]).head_label(*head[1:])) for head in heads]
    return [
        sentence(
            ON_WEIGHTS,
            "the parser over attention alone gives the most weight to ",
            *listed(refs[:MOST_LISTED]),
            ".",
        ),
        sentence(
            ON_WEIGHTS,
            "Weights of heads that are alike share out, so no single one is a score.",
            goes_on=True,
        ),
    ]


def _layers(run: Study, lines: Sequence[ProbeLine]) -> list[Sentence]:
    line = line_of(list(lines), "structural")
    if line is None:
        return []
    spearman = line.cells.get("Spearman")
    vectors = plain(line.vectors)
    out = [
        sentence(
            ON_LAYERS,
            f"words’ vectors of {vectors} hold {accuracy_words(line.score)} of "
            f"{count(line.score.n, 'undirected arc')}.",
        ),
        sentence(ON_LAYERS, f"{vectors} was selected on held-out sentences of train.", goes_on=True),
    ]
    if spearman:
        text = f"Distances of these vectors correlate with the tree’s at {with_ends(spearman, two_decimals)}."
        out.append(sentence(ON_LAYERS, text, goes_on=True))
    rows = {
        int(row["layer"]): cell_of(row, "value")
        for row in records(run.tables.get("probe_layers"))
        if row["measure"] == "UUAS"
    }
    chosen = [int(row["layer"]) for row in records(run.tables.get("probe_layers")) if row["chosen"]]
    gaps = run.tables.get("probe_differences")
    gap = _gap(gaps, ("structural", "trained"), ("embeddings", "trained"), measure="UUAS")
    if 0 in rows and chosen and chosen[0] in rows and gap is not None and gap.verdict == "more":
        out.append(
            sentence(
                ON_LAYERS,
                f"the embeddings alone hold {accuracy_words(rows[0])}: {gap.points()} between them.",
            )
        )
    return out
