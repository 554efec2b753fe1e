"""The stage of section 4.2: which head finds which dependency relation, with the questions of its examples."""

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import pandas as pd

from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.dependency_result import DependencyResult
from headscope.analyses.syntax.detail_tables import distance_table, noop_table
from headscope.analyses.syntax.gold_arcs import ArcTable, DependencyOptions
from headscope.analyses.syntax.tables import SYNTAX_DIFFERENCES
from headscope.encoding.segment import Segment
from headscope.encoding.sentence_packing import arcs_of_fields
from headscope.errors import InputError
from headscope.scans.examples.arc_examples import ArcExamples, ArcQuestion, Ask, WantedHead, wanted_heads
from headscope.scans.passes import collect
from headscope.scans.prepare.prepared_run import Run
from headscope.scans.prepare.trees import Trees, TreesCorpus, trees_of
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.inference.confidence import too_few
from headscope.statistics.sums.kept import in_single_precision
from headscope.visible import count


class SyntaxMeasurement(Measurement[Run]):
    """The accuracy of every head for every relation, for the trained model and its controls, with examples.

    The scan raises `InputError` if the treebank has no tree, or saved maps are not of a treebank.
    """

    @cached_property
    def trees(self) -> Trees:
        """The trees of the run's sentences."""
        return trees_of(self.run)

    @cached_property
    def how(self) -> DependencyOptions:
        """The options for the predictions of arcs."""
        options = self.run.options
        return DependencyOptions(
            pooling=options.pooling,
            special=options.special_tokens,
            both=options.both_directions,
            compat=options.compat == "original",
        )

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the sentences by the trained model, and the scans by its controls."""
        options, trees = self.run.options, self.trees
        table = ArcTable.of(trees.relations, folded=options.fold_labels, compat=self.how.compat)

        sums = partial(DependencyAccumulator, self.run.layout, table, self.how)
        yield Scan(TreesCorpus(self.run, trees, trees.source), [sums()], label="dependency heads")
        for name, number, read in trees.controls():
            label = name if number is None else f"{name} {number + 1} of {options.controls}"
            yield Scan(TreesCorpus(self.run, trees, read), [sums()], _scan_name(name, number), label=label)

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables.

        Raises:
            InputError: no sentence could be read.
        """
        options, trees, trained = self.run.options, self.trees, sums.of(DependencyAccumulator)
        if not trained.words:
            raise InputError(trees.nothing())
        result = DependencyResult(trained, seed=options.seed)
        relations = result.relations
        best = result.best()
        heads, choices, gaps = [result.heads()], [best], []
        for name, number, _ in trees.controls():
            control = sums.of(DependencyAccumulator, _scan_name(name, number))
            if not control.words:  # none of its documents could be read
                continue
            same = trees.control_documents.paired(trained, control)
            other = DependencyResult(control, model=name, control_seed=number, seed=options.seed, relations=relations)
            heads.append(other.heads())
            choices.append(other.best())
            gaps.append(DependencyResult(same, seed=options.seed, relations=relations).against(other))
        ask = syntax_questions(folded=options.fold_labels)
        empty = partial(ArcExamples, wanted_heads(best), ask, special=trees.special, pooling=self.how.pooling)
        facts = {
            **trees.facts(),
            "folded": options.fold_labels,
            "pooling": self.how.pooling,
            "compat": options.compat,
            "special_kept": options.special_tokens,
            "special_changes": result.special_changes(),
        }
        return StageResult(
            name="syntax",
            tables={
                "syntax": pd.concat(heads, ignore_index=True),
                "syntax_best": pd.concat(choices, ignore_index=True),
                "syntax_differences": pd.concat(gaps or [pd.DataFrame(columns=SYNTAX_DIFFERENCES.names)]),
                "syntax_baselines": result.baselines(),
                "syntax_by_distance": distance_table(result, best),
                "syntax_noop": noop_table(result, best),
                "syntax_examples": collect(trees.example_source, empty).table(),
            },
            facts={"treebank": facts},
            notes=(*_notes(facts), *trees.notes()),
            state=in_single_precision(trained.state()),
        )


def _scan_name(name: str, number: int | None) -> str:
    """Return the name of a control's scan."""
    return name if number is None else f"{name}-{number}"


def _notes(facts: dict[str, Any]) -> tuple[str, ...]:
    notes = [
        f"{number:,} of {count(number + facts['sentences'], 'sentence')} {'was' if number == 1 else 'were'} "
        f"left out ({why})"
        for why, number in facts.get("skipped", {}).items()
    ]
    if lost := facts.get("words_dropped", 0) + facts.get("words_merged", 0):
        one, many = "word has no piece of its own; it counts", "words have no piece of their own; they count"
        notes.append(f"{count(lost, one, many)} as not found")
    if shared := facts.get("words_shared", 0):
        one, many = (
            "word shares its pieces with the word before it",
            "words share their pieces with the word before them",
        )
        notes.append(f"{count(shared, one, many)}, since a multi-word token is written for both")
    return notes_on("treebank", *notes, too_few(facts["documents"], here="it has"))


_ANY = ArcTable(("root", "punct", "other"))  # to find the attending word: the clitic for a possessor


def syntax_questions(*, folded: bool = False) -> Ask:
    """Return a function that asks for the head of each dependent of a relation; `folded` ignores label sub-types."""

    def ask(wanted: WantedHead, segment: Segment) -> list[ArcQuestion]:
        origin = f"segment {segment.index + 1} of document {segment.document}"
        heads, relations = arcs_of_fields(segment.fields, len(segment.words), origin)
        labels = [relation.partition(":")[0] if folded else relation for relation in relations]
        arcs = _ANY.arcs(segment.words, heads, labels)
        return [
            ArcQuestion(int(dependent), (int(head),))
            for dependent, head, relation in zip(arcs.dependents, arcs.heads, labels, strict=True)
            if relation == wanted.relation and head >= 0
        ]

    return ask
