"""The stage of section 4.2: which head finds which dependency relation."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from headscope.analyses.stage_result import StageResult, notes_on
from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.best_heads import DependencyResult
from headscope.analyses.syntax.detail_tables import distance_table, noop_table
from headscope.analyses.syntax.gold_arcs import ArcTable
from headscope.analyses.syntax.questions import syntax_questions
from headscope.analyses.syntax.sums import DependencyOptions
from headscope.analyses.syntax.tables import SYNTAX_DIFFERENCES
from headscope.attention.model.model_source import TileSource
from headscope.attention.scan import scan
from headscope.counted import count
from headscope.errors import InputError
from headscope.examples.arc_examples import (
    ArcExamples,
    wanted_heads,
)
from headscope.prepare.options import RunOptions
from headscope.prepare.prepared_run import Run
from headscope.prepare.progress import Watcher
from headscope.prepare.trees import scan_trees, trees_of
from headscope.statistics.confidence import too_few
from headscope.statistics.kept import in_single_precision


def measure_syntax(run: Run, watch: Watcher | None = None) -> StageResult:
    """Score every head on every relation, for the trained model and its controls, and choose examples.

    Args:
        run: with a treebank, or over maps of one.
        watch: called with the progress.

    Raises:
        InputError: no sentence could be read, or the maps are not of a treebank.
    """
    options: RunOptions = run.options
    scans = _Scans(run, watch)
    bench, how = scans.bench, scans.how
    sums = scans.with_words(scans.trained())
    result = DependencyResult(sums, seed=options.seed)
    relations = result.relations
    best = result.best()
    heads, choices, gaps = [result.heads()], [best], []
    for name, number, control in scans.controls():
        if not control.words:  # none of its documents could be read
            continue
        same = bench.control_documents.paired(sums, control)
        other = DependencyResult(
            control, model=name, control_seed=number, seed=options.seed, relations=relations
        )
        heads.append(other.heads())
        choices.append(other.best())
        gaps.append(DependencyResult(same, seed=options.seed, relations=relations).against(other))
    examples = ArcExamples(
        wanted_heads(best),
        syntax_questions(folded=options.fold_labels),
        special=bench.special,
        pieces=how.pieces,
    )
    scan(bench.example_source(), [examples])
    tables = {
        "syntax": pd.concat(heads, ignore_index=True),
        "syntax_best": pd.concat(choices, ignore_index=True),
        "syntax_differences": pd.concat(gaps or [pd.DataFrame(columns=SYNTAX_DIFFERENCES.names)]),
        "syntax_baselines": result.baselines(),
        "syntax_by_distance": distance_table(result, best),
        "syntax_noop": noop_table(result, best),
        "syntax_examples": examples.table(),
    }
    facts = {
        **bench.facts(),
        "folded": options.fold_labels,
        "pieces": how.pieces,
        "compat": options.compat,
        "special_kept": options.special_tokens,
        "special_changes": result.counted.special_changes(),
    }
    return StageResult(
        name="syntax",
        tables=tables,
        facts={"treebank": facts},
        notes=(*_notes(facts), *bench.notes()),
        state=in_single_precision(sums.state()),
    )


def scan_syntax(run: Run, watch: Watcher | None = None) -> None:
    """Scan this part's shards, with the trained model and its controls."""
    scans = _Scans(run, watch)
    scans.trained()
    for _ in scans.controls():
        pass


class _Scans:
    """The sentences with trees, read by the trained model and by each control."""

    def __init__(self, run: Run, watch: Watcher | None) -> None:
        options = run.options
        self.run, self.watch, self.bench = run, watch, trees_of(run)
        compat = options.compat == "original"
        self.table = ArcTable.of(self.bench.relations, folded=options.fold_labels, compat=compat)
        self.how = DependencyOptions(
            pieces=options.pieces,
            special=options.special_tokens,
            both=options.both_directions,
            compat=compat,
        )

    def trained(self) -> DependencyAccumulator:
        """Count what the trained model's heads find."""
        return self._count(self.bench.source(), "dependency heads", "trained")

    def controls(self) -> Iterator[tuple[str, int | None, DependencyAccumulator]]:
        """Count what the heads of each control find; yield its name and number with it."""
        for name, number, source in self.bench.controls():
            label = name if number is None else f"{name} {number + 1} of {self.run.options.controls}"
            scan_name = name if number is None else f"{name}-{number}"
            yield name, number, self._count(source, label, scan_name)

    def with_words(self, sums: DependencyAccumulator) -> DependencyAccumulator:
        """Return sums over some words.

        Raises:
            InputError: they are of none.
        """
        if not sums.words:
            raise InputError(self.bench.nothing())
        return sums

    def _count(self, source: TileSource, stage: str, scan_name: str) -> DependencyAccumulator:
        sums = DependencyAccumulator(self.run.layout, self.table, self.how)
        scan_trees(
            self.run, self.bench, [sums], said=stage, watch=self.watch, source=source, scan_name=scan_name
        )
        return sums


def _notes(facts: dict[str, Any]) -> tuple[str, ...]:
    lost = facts.get("words_dropped", 0) + facts.get("words_merged", 0)
    return notes_on(
        "treebank",
        *(
            f"{number:,} of {count(number + facts['sentences'], 'sentence')} {'was' if number == 1 else 'were'} "
            f"left out ({why})"
            for why, number in facts.get("skipped", {}).items()
        ),
        count(
            lost,
            "word has no piece of its own; it counts as not found",
            "words have no piece of their own; they count as not found",
        )
        if lost
        else None,
        too_few(facts["documents"], here="it has"),
    )
