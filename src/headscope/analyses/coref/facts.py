"""Coreference: the head that finds antecedents, against systems without attention and random weights; GAP by gender.

Two accuracies differ if the interval of their difference excludes zero and the difference is at least `LEAST_SHARE`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.coref.results import (
    ANTECEDENT,
    SELECTIONS,
    SYSTEMS,
    TYPES,
    SelectedHead,
    antecedent_scores,
    antecedents_of,
)
from headscope.corpora.annotation import unmatched_line
from headscope.present.blocks import Row
from headscope.present.cells import NO_NUMBER, Cell, Runs, cell_of, number, records
from headscope.present.claim_rules import Comparison, Verdict, compared, comparisons, verdicts
from headscope.present.facts import Fact
from headscope.present.linked_sentences import HeadRef, Shades
from headscope.present.numbers import accuracy_words, formatted, percent
from headscope.present.page import Page
from headscope.present.paper_table import paper_numbers
from headscope.present.report_parts import Context, corpus_line
from headscope.present.words import COREFERENCE, capital, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_SHARE

MOST_HEADS = 10


class CoreferenceFact(Fact):
    """A claim for the first screen."""

    topic = "coreference"
    rank = 40


class Untested(CoreferenceFact):
    """There are too few documents to select a head on some and score it on others."""


@dataclass(frozen=True)
class Against:
    """A system without attention: its accuracy, and the verdict on the difference from the selected head."""

    system: str
    accuracy: float
    gap: Comparison | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Selected(CoreferenceFact):
    """The selected head's accuracy; `may_claim` is False if it is tested and not shown to beat random weights."""

    head: HeadRef
    accuracy: Cell
    may_claim: bool
    systems: Sequence[Against]


@dataclass(frozen=True, kw_only=True)
class BestType(CoreferenceFact):
    """The type of mention that the head finds best and the one that it finds worst, if their difference is shown."""

    head: HeadRef
    high: str
    low: str
    cells: Mapping[str, Cell]
    gap: Comparison


@dataclass(frozen=True, kw_only=True)
class Control(CoreferenceFact):
    """The accuracy of heads selected with random weights; differences from the trained model if all are above 0."""

    runs: Runs
    gaps: Sequence[Comparison]

    @property
    def least(self) -> float:
        """The smallest lower bound of the differences, in points."""
        return 100 * min(gap.low for gap in self.gaps)


class NoIntervals(CoreferenceFact):
    """There are too few documents for intervals."""


def coreference_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on coreference; none where the run has none."""
    table, gaps = antecedents_of(about.run), about.run.tables.get("coref_differences")
    if table is None:
        return
    best = table.held_out
    if best is None or not (accuracy := best.cells.get("all", NO_NUMBER)).exists:
        yield Untested()
        return
    head = about.kind(best.kind).head(best.layer, best.head)
    of_seeds = [gap for _, gap in comparisons(gaps, system="selection", than="control", mention_type="all")]
    beside_control = set(verdicts(of_seeds, least=LEAST_SHARE))
    may_claim = beside_control <= {"more", "untested"}
    systems = {name: cells["all"] for name, cells in table.systems.items() if cells.get("all", NO_NUMBER).exists}
    yield Selected(
        head=head, accuracy=accuracy, may_claim=may_claim, figure=None if may_claim else Shades(),
        systems=_against(systems, gaps),
    )  # fmt: skip
    yield from _best_type(best, head, gaps)
    if runs := table.control.get("all"):
        yield Control(runs=runs, gaps=of_seeds if beside_control == {"more"} else ())
    if not accuracy.has_interval:
        yield NoIntervals()


def _against(systems: Mapping[str, Cell], gaps: pd.DataFrame | None) -> list[Against]:
    gap_of = {name: compared(gaps, system="head", than=name, mention_type="all") for name in systems}
    known = {name: gap for name, gap in gap_of.items() if gap}
    sides = dict(zip(known, verdicts(list(known.values()), least=LEAST_SHARE), strict=True))
    return [Against(name, cell.value, gap_of[name], sides.get(name, "untested")) for name, cell in systems.items()]


def _best_type(best: SelectedHead, head: HeadRef, gaps: pd.DataFrame | None) -> Iterator[Fact]:
    cells = {name: cell for name, cell in best.cells.items() if name != "all" and cell.exists}
    if len(cells) < 2:
        return
    high, low = (choose(cells, key=lambda name: cells[name].value) for choose in (max, min))
    # The two types are the best and the worst of all, so the test covers every pair of types.
    every = [(row, gap) for row, gap in comparisons(gaps, system="head", than="head") if row["than_type"] in cells]
    by_types = {(row["mention_type"], row["than_type"]): gap for row, gap in every}
    by_types |= {(than, name): gap.turned() for (name, than), gap in by_types.items()}
    verdict = dict(zip(by_types, verdicts(list(by_types.values()), least=LEAST_SHARE), strict=True))
    if verdict.get((high, low)) == "more":
        yield BestType(head=head, high=high, low=low, cells=cells, gap=by_types[high, low])


def unmatched(about: Context) -> str:
    """Return the sentence on brackets of mentions that match no other; empty if there are none."""
    facts = about.run.manifest.get("coreference") or {}
    if not facts.get("unmatched_brackets"):
        return ""
    return unmatched_line(facts["unmatched_brackets"], [plain(each) for each in facts.get("unmatched_named") or ()])


def type_columns(about: Context) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """Return the columns of table 2: the types of mention that were measured, each with its number of mentions."""
    table = antecedents_of(about.run)
    types = {} if table is None else table.counts
    titles = {f"{capital(TYPES.get(name, plain(name)))}, n {n:,}": (name, "pictured") for name, n in types.items()}
    return {"": {"system": ("system", "detail"), **titles, "q": ("q", "q")}}


def system_rows(about: Context) -> list[Row]:
    """Return table 2: the selected heads, the baselines, the best head with random weights, and the paper's numbers."""
    table = antecedents_of(about.run)
    if table is None:
        return []
    rows = [_head_row(best, selection, about) for selection, best in table.selected.items()]
    rows += [_row((SYSTEMS.get(system, plain(system)), ""), cells) for system, cells in table.systems.items()]
    if table.control:
        seeds = max(runs.seeds for runs in table.control.values())
        below = f"mean and range of {seeds} seeds" if seeds > 1 else "one seed"
        rows.append(_row(("Best head, random weights", below), table.control))
    for system, values in paper_numbers().get("table2", {}).items() if about.run.is_bert_base else ():
        numbers = {name: formatted(number(values.get(name)), ".0f") for name in table.counts}
        name = f"Head {system}" if system[:1].isdigit() else capital(system)
        rows.append({"group": "In the paper, on OntoNotes", **_row((name, ""), numbers)})
    return rows


def _row(system: tuple[HeadRef | str, str], cells: Mapping[str, Cell | Runs | str], **options: Any) -> Row:
    shown = {name: (cell, options) for name, cell in cells.items() if not isinstance(cell, Cell) or cell.exists}
    return {"system": system, **shown}


def _head_row(best: SelectedHead, selection: str, about: Context) -> Row:
    is_held_out = selection == "held-out"
    details = [] if is_held_out else ["the paper’s way"]
    if not isnan(best.share):
        details.append(f"chosen in {percent(best.share, 0)} of halves")
    if best.held_out.exists:
        details.append(f"held-out accuracy of the selection {accuracy_words(best.held_out)}")
        details.append(f"on all documents {accuracy_words(best.all_documents)}")
    head = _named(about, best.kind, best.layer, best.head, SELECTIONS[selection])
    q = {"q": "not tested" if isnan(best.q) else best.q} if is_held_out else {}
    return {**_row((head, "; ".join(details)), best.cells, role=COREFERENCE, strong=is_held_out), **q}


def _named(about: Context, kind: str, layer: int, head: int, how: str) -> HeadRef:
    return HeadRef(kind, layer, head, f"Head {about.kind(kind).head_label(layer, head)}, {how}")


def best_heads(about: Context) -> list[Row]:
    """Return the heads with the highest accuracy on all mentions, with their accuracy by type."""
    by_head: dict[tuple[str, int, int], dict[str, Cell]] = {}
    for row in records(about.run.tables.get("coref_heads")):
        if row["model"] == "trained":
            head = (str(row["kind"]), int(row["layer"]), int(row["head"]))
            by_head.setdefault(head, {})[str(row["mention_type"])] = cell_of(row)
    of_all = {head: cells["all"] for head, cells in by_head.items() if "all" in cells}
    measured = [(-cell.value, head) for head, cell in of_all.items() if cell.exists]
    return [
        {"head": (about.kind(kind).labeled_head(layer, head), ""), **by_head[kind, layer, head]}
        for _, (kind, layer, head) in sorted(measured)[:MOST_HEADS]
    ]


def gap_rows(about: Context) -> list[Row]:
    """Return the accuracy and F1 of the selected heads and the baselines on GAP, by gender."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in records(about.run.tables.get("gap")):
        system, how = str(row["system"]), SELECTIONS.get(row["selection"], "").replace("documents", "rows")
        name: HeadRef | str = SYSTEMS.get(system, plain(system))
        if system == "head":
            name = _named(about, str(row["kind"]), int(row["layer"]), int(row["head"]), how)
        cells = rows.setdefault((system, how), {"system": (name, "")})
        cells[f"{row['measure']}_{row['gender']}"] = cell_of(row, "value")
    return list(rows.values())


PAGE = Page(__name__, coreference_facts, uses=(unmatched, type_columns, system_rows, best_heads, gap_rows))
PARTS = PAGE.parts(
    group="syntax",
    explained=("coref",),
    read=lambda manifest: corpus_line(manifest.get("coreference"), "window"),
    functions=antecedent_scores,
    known_functions=(ANTECEDENT,),
    arcs="coref_examples",
    role=COREFERENCE,
    needed={"coreference": ("coref_heads", "give the run a --coref")},
)
