"""The stage of a comparison: one pass of two models over the text, its tables, and examples of both attentions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import torch

from headscope.analyses.compare.divergence import in_order
from headscope.analyses.compare.measures import (
    LEFT_OUT,
    accumulators_of,
    explained_pairs,
    group_table,
    measure_table,
    measures_by_kind,
)
from headscope.analyses.compare.pairs import HeadChanges, head_changes
from headscope.analyses.compare.sums import ChangeAccumulator, pairs_of_kinds
from headscope.analyses.compare.tables import COMPARE_EXAMPLES, HEAD_CHANGES
from headscope.analyses.explanation.sums import RowSampleAccumulator
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.head_id import SECOND
from headscope.attention.model.model_source import TileSource
from headscope.attention.model.pair_source import PairSource, joint_layout
from headscope.encoding.tokenizer.token_names import readable_tokens
from headscope.errors import OptionError
from headscope.models.anatomy import KindLayout
from headscope.scans.examples.collector import ExampleCollector, ExampleMaps
from headscope.scans.passes import collect
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import TRAINED, RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import ends_of

RANDOM = "random"


@dataclass(frozen=True)
class PairText(RunText):
    """The text of a run, read by its model and by the model that it is compared with.

    Attributes:
        run: run of the first model.
        control: seed of random weights of the second model's shape, read in place of it; None for the second model.
    """

    run: ModelRun
    control: int | None = None

    def source(self) -> TileSource:
        """Return the stream of tiles over the text."""
        assert self.run.second is not None
        return PairSource(self.run.source(), self.run.second.source((), control=self.control))


class CompareMeasurement(Measurement[ModelRun]):
    """The change of every head between two models."""

    def check(self) -> None:
        """Raise an error for two models that cannot be compared.

        Raises:
            OptionError: there is no second model, or heads of one number are compared and the models differ in shape.
        """
        if self.run.second is None:
            raise OptionError("a comparison needs a second model; name it with --other")
        shapes = [(first.layers, first.heads, second.layers, second.heads) for first, second in self._pairs]
        if not self.every_pair and any(shape[:2] != shape[2:] for shape in shapes):
            raise OptionError(
                "--pairs same compares heads of one number, and the models differ in their numbers of layers or heads; "
                "leave it out, or give --pairs matched"
            )

    @property
    def _layout(self) -> tuple[KindLayout, ...]:
        assert self.run.second is not None
        return joint_layout(self.run.layout, self.run.second.anatomy.layout)

    @property
    def _pairs(self) -> list[tuple[KindLayout, KindLayout]]:
        return pairs_of_kinds(self._layout)

    def _changes(self) -> ChangeAccumulator:
        return ChangeAccumulator(
            self._layout, seed=self.run.options.seed, every_pair=self.every_pair, by_word=self.run.by_word
        )

    def scans(self) -> Iterator[Scan]:
        """Yield the pass of the two models over the text, and that of the first model and random weights."""
        if self.run.second is None:
            return  # a run that does not measure this stage
        measures = accumulators_of(self.run, self._layout, by_word=self.run.by_word)
        yield Scan(PairText(self.run), [self._changes(), *measures], label="comparing two models", local=True)
        if self.run.controls:
            yield Scan(PairText(self.run, control=0), [self._changes()], RANDOM, label="random weights", local=True)

    @cached_property
    def every_pair(self) -> bool:
        """True if heads are matched by their attention, not by their number."""
        if self.run.options.pairs is not None:
            return self.run.options.pairs == "matched"
        return not same_lineage(self.run)

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables."""
        changes = sums.of(ChangeAccumulator)
        random = sums.of(ChangeAccumulator, RANDOM).compute() if RANDOM in sums else ()
        random_of_kind = {each.kind: each for each in random}
        seed, margin = self.run.options.seed, self.run.options.margin
        results = [
            head_changes(each, random_of_kind.get(each.kind), every_pair=self.every_pair, seed=seed, margin=margin)
            for each in changes.compute()
        ]
        assert self.run.second is not None
        wanted, explained = set(self.run.options.measures), []
        if "explanation" in wanted and not self.run.by_word:
            explained = explained_pairs(self.run, sums.of(RowSampleAccumulator), results)
        leaves_out = self.run.by_word and {"behaviors", "explanation"} & wanted
        return StageResult(
            name="compare",
            tables={
                "head_changes": change_table(results),
                "measure_changes": measure_table(measures_by_kind(sums[TRAINED]), results, explained),
                "compare_groups": group_table(explained),
                "compare_examples": example_table(self.run, results, matched=self.every_pair),
            },
            facts={
                "compare": {
                    "other": self.run.second.loaded.name,
                    "matched": self.every_pair,
                    "by_word": self.run.by_word,
                    "margin": margin,
                    "shapes": {first.kind: [second.layers, second.heads] for first, second in self._pairs},
                }
            },
            notes=notes_on("compare", LEFT_OUT if leaves_out else None),
            state=changes.state(),
        )


def same_lineage(run: ModelRun, *, least: float = 0.5) -> bool:
    """Return True if heads of the two models correspond by number: same shape, and similar token embeddings.

    Fine-tuning changes embeddings little, while those of two seeds are unrelated. The mean cosine similarity of the
    tokens' embeddings must exceed `least`.
    """
    assert run.second is not None
    if run.by_word or run.layout != run.second.anatomy.layout:
        return False
    first, second = (model.get_input_embeddings().weight for model in (run.loaded.model, run.second.loaded.model))
    if first.shape != second.shape:
        return False
    with torch.inference_mode():
        alike = torch.nn.functional.cosine_similarity(first.float(), second.float().to(first.device))
    return float(alike.mean()) > least


def change_table(results: Sequence[HeadChanges]) -> pd.DataFrame:
    """Return results as `head_changes.parquet`, a row for each pair of heads."""
    rows = [
        {
            **result.names(pair),
            **ends_of(result.change, pair, "change"),
            "verdict": result.verdict[pair],
            "random_divergence": result.random_divergence[pair],
            "match": result.match[pair],
            "n_rows": result.rows,
            "n_documents": result.documents,
        }
        for result in results
        for pair in range(len(result.first))
    ]
    return HEAD_CHANGES.frame(rows)


MOST_PAIRS, MOST_SENTENCES = 144, 2
"""Number of pairs of heads, and number of sentences on which each is drawn."""


def example_table(run: ModelRun, results: Sequence[HeadChanges], *, matched: bool) -> pd.DataFrame:
    """Return the attention of the most changed pairs, of the most alike if matched, as `compare_examples.parquet`.

    Where both models have the same tokens, a pair is drawn on the sentences in which it differs most.
    """
    second = run.second
    assert second is not None
    maps = collect(lambda: PairSource(run.example_source(), second.source(())), ExampleCollector).maps
    rows = [row for result in results for row in _rows(run, result, maps, matched)]
    return COMPARE_EXAMPLES.frame(rows)


def _rows(
    run: ModelRun, result: HeadChanges, maps: Sequence[ExampleMaps], matched: bool
) -> Iterator[dict[str, object]]:
    assert run.second is not None
    both = list(
        zip(*([each for each in maps if each.kind == kind] for kind in (result.kind, SECOND + result.other_kind)))
    )
    tokenizers = run.loaded.tokenizer, run.second.loaded.tokenizer
    for pair in np.argsort(result.change.value * (1 if matched else -1), kind="stable")[:MOST_PAIRS]:
        (layer, head), (other_layer, other_head) = result.first[pair].tolist(), result.second[pair].tolist()
        drawn = [(here.weights[layer, head], there.weights[other_layer, other_head]) for here, there in both]
        order = np.argsort([-_divergence(*weights) for weights in drawn], kind="stable")[:MOST_SENTENCES]
        for rank, number in enumerate(order.tolist(), 1):
            sides: dict[str, object] = {}
            for prefix, side, tokenizer, weights in zip(("", "other_"), both[number], tokenizers, drawn[number]):
                sides |= {
                    f"{prefix}tokens": readable_tokens(tokenizer, side.queries),
                    f"{prefix}keys": readable_tokens(tokenizer, side.keys),
                    f"{prefix}weights": weights.ravel().astype(float).tolist(),
                }
            of_head = {"kind": result.kind, "layer": layer + 1, "head": head + 1, "rank": rank}
            yield {**of_head, "document": both[number][0].document, "segment": both[number][0].segment, **sides}


def _divergence(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the mean divergence over rows; 0 where the tokens of the two models differ in number."""
    if first.shape != second.shape:
        return 0.0
    left, right = (torch.from_numpy(np.ascontiguousarray(each))[None] for each in (first, second))
    return float(in_order(left, right)) / len(first)
