"""Counts for dependency accuracy: how often the word that a head attends to most is the gold head (section 4.2).

`head_answers` finds that word, `DependencyResult` divides the counts.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headscope.analyses.syntax.attending import ArcRuns, Attending, special_attention, sum_runs
from headscope.analyses.syntax.gold_arcs import NOOP_CLASSES, OFFSETS, ArcTable, DependencyOptions, DependencySums
from headscope.analyses.syntax.head_answers import Answers, BatchArcs, judge, reachable, read_answers
from headscope.attention.host_copy import HostCopy, OnHost
from headscope.attention.row_statistics import Visibility
from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import axis_of, between_words
from headscope.encoding.batching import Batch
from headscope.encoding.segment import Segment
from headscope.encoding.sentence_packing import arcs_of_fields
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums import row_selection
from headscope.statistics.sums.accumulator import Accumulator, Span
from headscope.statistics.sums.groups import GroupedSums
from headscope.statistics.sums.kept import Declared, counted, total
from headscope.statistics.tables.frames import DISTANCES

SPECIAL_GROUPS = 32
"""Largest number of groups of documents for which attention to special tokens is kept."""


class DependencyAccumulator(Accumulator):
    """Counts, for every head and direction, the arcs of each relation and distance that it finds.

    `dependent->head` is right when the gold head is the other word that the dependent attends to most;
    `head->dependent` when it is the other word that attends most to the dependent. A word without pieces is
    never right, and is counted. Segments carry `heads` and `relns` in their fields.

    Args:
        layout: the kinds of attention; cross attention is left out.
        table: the relations that are counted separately.
        options: options for the predictions.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights"})
    span: ClassVar[Span] = "layer"
    merges: ClassVar[str] = ", or other relations; merge scans of one model only, over one treebank"
    # 2: the words that attend in each direction, not the dependents alone. 3: in 32 groups of documents. 4: without an
    # input's first and last word. 5: without the number of words that have no pieces.
    version: ClassVar[int] = 5

    def __init__(self, layout: Sequence[KindLayout], table: ArcTable, options: DependencyOptions | None = None) -> None:
        self.table = table
        self.options = options or DependencyOptions()
        self._arcs = table.arcs_of([])
        self._names: list[str] = []
        self._segments: Sequence[Segment] = ()
        self._documents = np.zeros(0, dtype=np.int64)
        self._by_cell = ArcRuns.of(self._documents, self._documents)
        self._clear()
        super().__init__([part for part in layout if part.kind != "cross"])

    def _clear(self) -> None:
        """Discard the answers read from a batch's tiles, by kind of attention, and their sums on the host."""
        self._batch_arcs: dict[str, BatchArcs] = {}
        self._answers: defaultdict[str, list[tuple[Answers, ...]]] = defaultdict(list)
        self._reachable: defaultdict[str, list[Tensor]] = defaultdict(list)
        self._reachable_by_mask: dict[int, tuple[Visibility, Tensor]] = {}
        # Sums by the names of the arrays to which they are added; a run is a pair of document and cell.
        self._copied: dict[str, OnHost] = {}
        self._by_word: dict[str, ArcRuns] = {}

    def declare(self) -> Declared:
        """Declare the arrays of `DependencySums`, and the number of words."""
        cells, relations = self.table.cells, len(self.table.relations)
        width = len(self.options.directions)
        shapes: dict[str, tuple[int, ...]] = {}
        for part in self.layout:
            shapes[f"noop.{part.kind}"] = (relations * width, part.layers, part.heads, len(NOOP_CLASSES))
            shapes[f"n_attending.{part.kind}"] = (relations * width,)
        # Attention to special tokens is a number for every head, so it is kept for fewer groups.
        self._special_sums = GroupedSums(shapes, groups=SPECIAL_GROUPS)
        return {
            "n_arcs": counted(cells),
            "n_offsets": counted(cells, len(OFFSETS)),
            "n_hits": counted(cells, "layer", "head", width),
            "special": self._special_sums,
            "totals.reachable": total(relations, "layer", width, dtype=np.int64),
            "totals.other": total(relations, "layer", "head", width, dtype=np.int64),
            "words": total(1, dtype=np.int64),
        }

    @property
    def words(self) -> int:
        """Number of words; each has one arc."""
        return int(self.totals["words"].item())

    def begin(self, batch: Batch) -> None:
        """Collect the batch's arcs."""
        sentences = []
        for segment in batch.segments:
            number = len(segment.words) or int(segment.word_ids.max(initial=-1)) + 1
            origin = f"segment {segment.index + 1} of document {segment.document}"
            heads, relations = arcs_of_fields(segment.fields, number, origin)
            sentences.append((segment.words or ("",) * number, heads, relations))
        self._arcs = self.table.arcs_of(sentences)
        names, self._documents = np.unique(np.array(batch.info.documents), return_inverse=True)
        self._names = names.tolist()
        self._segments = batch.segments
        self._by_cell = ArcRuns.of(np.repeat(self._documents, self._arcs.sizes), self._arcs.cells)
        self._clear()

    def update(self, tile: AttentionTile) -> None:
        """Read every arc's answer from one layer."""
        if tile.kind == "cross":
            return
        if tile.kind not in self._batch_arcs:
            axis = axis_of(tile.queries)
            self._batch_arcs[tile.kind] = BatchArcs.of(axis, tile.queries.classes, self._arcs, self._segments)
        batch_arcs = self._batch_arcs[tile.kind]
        attention = between_words(tile.weights, batch_arcs.axis, batch_arcs.axis, pooling=self.options.pooling)
        options = self.options
        self._answers[tile.kind].append(read_answers(attention, batch_arcs, both=options.both, compat=options.compat))
        self._reachable[tile.kind].append(self._reached(tile, batch_arcs))

    def _reached(self, tile: AttentionTile, batch_arcs: BatchArcs) -> Tensor:
        """Mark the arcs that the mask of a layer allows; layers that share a mask share the result."""
        key = id(tile.visibility)
        if key not in self._reachable_by_mask:
            # A causal or local mask hides some words; on a device this is not checked, because that would wait for it.
            fewer = tile.visibility.counts < tile.keys.lengths[:, None]
            looks = row_selection.waits(fewer.device) or bool((fewer & tile.row_valid).any())
            visible = tile.visibility.visible if looks else None
            arcs = reachable(batch_arcs, visible, directions=len(self.options.directions))
            # The visibility is kept, so that no other object can take its id.
            self._reachable_by_mask[key] = (tile.visibility, arcs)
        return self._reachable_by_mask[key][1]

    def hand_over(self, copy: HostCopy) -> None:
        """Score the batch's answers, and have their sums by document and cell copied to the host."""
        relations = self._by_cell.cells[self._by_cell.run_of] // len(DISTANCES)
        for kind, layers in self._answers.items():
            # All layers are scored at once, because a batch has few arcs and a call costs more than it computes.
            answers = [Answers.of_layers(each) for each in zip(*layers, strict=True)]
            batch_arcs = self._batch_arcs[kind]
            hits, other = judge(answers, batch_arcs, special=self.options.special, compat=self.options.compat)
            attending = Attending.of(batch_arcs, relations, directions=len(self.options.directions))
            by_word = ArcRuns.of(self._documents[attending.rows], attending.cells)
            sums = {
                "n_hits": self._by_cell.sums(hits),
                "totals.other": sum_runs(other, relations, len(self.table.relations)),
                "totals.reachable": sum_runs(
                    torch.stack(self._reachable[kind], dim=1), relations, len(self.table.relations)
                ),
                "noop": by_word.sums(attending.pick(special_attention(answers[0], batch_arcs))),
            }
            self._copied |= {f"{name}.{kind}": copy.add(tensor) for name, tensor in sums.items()}
            self._by_word[kind] = by_word

    def end(self, batch: Batch) -> None:
        """Add the batch's answers to its documents."""
        by_cell = self._by_cell
        sums = {name: handle.array for name, handle in self._copied.items()}
        hits = {f"n_hits.{kind}": sums[f"n_hits.{kind}"] for kind in self._by_word}
        offsets = by_cell.sums(torch.from_numpy(self._arcs.offsets)).numpy()
        by_cell.add_to(self.sums, self._names, n_arcs=by_cell.sizes, n_offsets=offsets, **hits)
        for kind, by_word in self._by_word.items():
            special = {f"noop.{kind}": sums[f"noop.{kind}"], f"n_attending.{kind}": by_word.sizes}
            by_word.add_to(self._special_sums, self._names, **special)
        for name in self.totals.keys() & sums.keys():
            self.totals[name] += sums[name].astype(np.int64)
        self.totals["words"] += len(by_cell.run_of)
        self._clear()

    def compute(self) -> tuple[DependencySums, ...]:
        """Return the counts by group of documents, from which `DependencyResult` computes the tables."""
        stacked, special_sums = self.sums.stacked(), self._special_sums.stacked()
        rows = (-1, len(self.table.relations), len(self.options.directions))
        return tuple(
            DependencySums(
                kind=part.kind,
                hits=stacked[f"n_hits.{part.kind}"],
                noop=special_sums[f"noop.{part.kind}"].reshape(*rows, part.layers, part.heads, len(NOOP_CLASSES)),
                attending=special_sums[f"n_attending.{part.kind}"].reshape(rows),
                counts=stacked["n_arcs"],
                offsets=stacked["n_offsets"],
                reachable=self.totals[f"totals.reachable.{part.kind}"].copy(),
                other=self.totals[f"totals.other.{part.kind}"].copy(),
            )
            for part in self.layout
        )

    def settings(self) -> dict[str, Any]:
        """Return the relations and the options."""
        return {"relations": list(self.table.relations), "folded": self.table.folded, "options": asdict(self.options)}

    @classmethod
    def with_settings(cls, layout: Sequence[KindLayout], settings: Mapping[str, Any]) -> "DependencyAccumulator":
        """Create an empty accumulator with these relations and options."""
        options = DependencyOptions(**settings["options"])
        table = ArcTable(tuple(settings["relations"]), folded=settings["folded"], compat=options.compat)
        return cls(layout, table, options)

    def described(self) -> str:
        """Return the layout and the options."""
        return f"{self.layout} with {self.options}"
