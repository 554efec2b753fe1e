"""Prepare sampled rows for the fit: blocks of rows by halves of the documents, and the attention of every head."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import product

import numpy as np

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.features import Feature
from headscope.analyses.explanation.row_block import Flags, Integers, RowBlock, Singles
from headscope.analyses.explanation.row_context import RowContext, annotation_of
from headscope.analyses.explanation.sums import SampledRows
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.encoding.vocabulary import KeyClass

FEWEST_OCCURRENCES, MOST_TOKENS = 20, 64
"""Least occurrences in the sampled inputs of a token with a column of its own; most such tokens, by frequency."""
_BLOCK_CELLS = 6144
_SINKS = (KeyClass.CLS, KeyClass.SEP)
ContextOf = Callable[[SampledRows, Flags], RowContext]
"""A function from the sampled rows of an input and the mask of keys that they see, `[row, key]`, to their context."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowSample:
    """The sampled rows of a kind of attention with their features.

    Attributes:
        samples: sampled rows, by input.
        columns: columns of the fit.
        blocks: blocks of rows, by half of the documents (0 or 1) and by their use within the half: True for rows that
            choose among fits, False for rows that are fitted (see `part`).
        documents: number of each row's document, `[row]`; documents are numbered in the order of a hash.
        names: ids of the documents.
        starts: number of the first cell of each row, `[row]`.
        is_sink: mask of the cells of a first token, a separator or a learned sink, `[cell]`.
        is_sink_logit: mask of the cells of a learned sink, `[cell]`.
        visible: mask of the keys of each row that are cells, for each input; the learned sink is last,
            `[row, key + 1]`.
    """

    samples: Sequence[SampledRows]
    columns: Columns
    blocks: Mapping[tuple[int, bool], Sequence[RowBlock]]
    documents: Integers
    names: Sequence[str]
    starts: Integers
    is_sink: Flags
    is_sink_logit: Flags
    visible: Sequence[Flags]

    def attention(self, measure: int, layer: int) -> Singles:
        """Return the attention of a layer's heads, `[head, cell]`; NaN where a cell is not visible in the layer."""
        of = zip(self.samples, self.visible, strict=True)
        return np.concatenate([sample.attention[measure, layer][:, visible] for sample, visible in of], axis=1)

    def counted(self, layer: int) -> Flags:
        """Return a mask of the cells that are visible in a layer, `[cell]`."""
        of = zip(self.samples, self.visible, strict=True)
        return np.concatenate([~np.isnan(sample.attention[0, layer, 0][visible]) for sample, visible in of])

    def half(self, parity: int, counted: Flags) -> list[RowBlock]:
        """Return the rows of one half of the documents.

        Args:
            parity: half of the documents, 0 or 1.
            counted: mask of the cells that count, `[cell]`.
        """
        return [*self.part(parity, False, counted), *self.part(parity, True, counted)]

    def part(self, parity: int, chooses: bool, counted: Flags) -> list[RowBlock]:
        """Return the rows of a half for fitting (two thirds of its documents) or for choosing among fits (a third)."""
        return [replace(block, visible=block.visible & counted[block.cells]) for block in self.blocks[parity, chooses]]


def row_sample(
    samples: Sequence[SampledRows], features: Sequence[Feature], context_of: ContextOf, *, seed: int,
    divided: Sequence[str] = (),
) -> RowSample:  # fmt: skip
    """Compute the columns of all sampled rows.

    Args:
        samples: sampled rows of a kind of attention.
        features: features of the catalog; those whose requirements a context lacks, or that are 0 everywhere, are left
            out.
        context_of: function that makes the feature context of sampled rows.
        seed: seed of the order of documents.
        divided: documents that were divided into halves before, in their order; other documents follow.
    """
    visible = [np.asarray(~np.isnan(sample.attention[0, :, 0]).all(0)) for sample in samples]
    contexts = [context_of(sample, cells[:, :-1]) for sample, cells in zip(samples, visible, strict=True)]
    lengths = np.concatenate([cells.sum(1) for cells in visible])
    starts = np.cumsum(lengths) - lengths
    sink_logit, sinks = (_in_cells(contexts, visible, classes) for classes in ((), _SINKS))
    columns = Columns(
        features=_occurring(features, contexts), token_ids=_frequent(contexts), sink=bool(sink_logit.any()),
        kinds=contexts[0].vocabulary.components is not None,
        square=all("same_axis" in context.has for context in contexts),
    )  # fmt: skip
    names, documents = _documents(samples, seed=seed, divided=divided)
    return RowSample(
        samples=samples, columns=columns, blocks=_blocks(columns, contexts, visible, starts, lengths, documents),
        documents=documents, names=names, starts=starts, is_sink=sinks,
        is_sink_logit=sink_logit, visible=visible,
    )  # fmt: skip


def _occurring(features: Sequence[Feature], contexts: Sequence[RowContext]) -> list[Feature]:
    """Return the features that the contexts can compute and that are not 0 everywhere."""

    def occurs(feature: Feature, context: RowContext) -> bool:
        values = np.asarray(feature.values(context))
        return bool(np.any(values if values.ndim == 1 else values[context.visible]))

    return [
        feature
        for feature in features
        if all(feature.needs <= context.has for context in contexts)
        and any(occurs(feature, context) for context in contexts)
    ]


def _frequent(contexts: Sequence[RowContext]) -> Integers:
    """Return the ids of the tokens with a column each; separators, periods and commas have groups of their own."""
    ids, classes = (
        np.concatenate([getattr(context.keys, name) for context in contexts]) for name in ("ids", "classes")
    )
    named = np.isin(classes, (*_SINKS, KeyClass.PERIOD_COMMA))
    tokens, counts = np.unique(ids[~named], return_counts=True)
    order = np.lexsort((tokens, -counts))[:MOST_TOKENS]
    return np.sort(tokens[order[counts[order] >= FEWEST_OCCURRENCES]])


def _documents(samples: Sequence[SampledRows], *, seed: int, divided: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the documents, those of `divided` first and the others in the order of a hash, and the number of each
    row's document."""
    more = sorted(
        {sample.document for sample in samples}.difference(divided),
        key=lambda name: blake2b(f"{seed}/{name}".encode(), digest_size=8).digest(),
    )
    names = [*divided, *more]
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.concatenate([np.full(len(sample.rows), numbers[sample.document]) for sample in samples])


def _in_cells(contexts: Sequence[RowContext], visible: Sequence[Flags], classes: Sequence[KeyClass]) -> Flags:
    """Return a mask of the cells of a learned sink, and of tokens that belong to one of the classes, `[cell]`."""
    parts = []
    for context, cells in zip(contexts, visible, strict=True):
        keys = np.isin(context.keys.classes, classes)
        parts.append(np.broadcast_to(np.append(keys, True), cells.shape)[cells])
    return np.concatenate(parts)


def _blocks(
    columns: Columns, contexts: Sequence[RowContext], visible: Sequence[Flags], starts: Integers, lengths: Integers,
    documents: Integers,
) -> dict[tuple[int, bool], list[RowBlock]]:  # fmt: skip
    """Return blocks of rows of similar length, by half of the documents and by their use (see `RowSample.blocks`)."""
    blocks: dict[tuple[int, bool], list[RowBlock]] = {}
    block_of_row: dict[int, tuple[RowBlock, int]] = {}
    for parity, chooses in product((0, 1), (False, True)):
        rows = np.flatnonzero((documents % 2 == parity) & ((documents // 2 % 3 == 2) == chooses))
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        of_part = [_empty_block(each, starts, lengths, columns) for each in _of_similar_length(rows, lengths)]
        blocks[parity, chooses] = of_part
        block_of_row |= {row: (block, at) for block in of_part for at, row in enumerate(block.rows.tolist())}
    first = 0
    for context, cells in zip(contexts, visible, strict=True):
        values, facts = columns.compute(context, cells)
        for row, end in enumerate(np.cumsum(cells.sum(1)).tolist(), start=first):
            block, index = block_of_row[row]
            length = int(lengths[row])
            block.features.reshape(*block.visible.shape, -1)[index, :length] = values[end - length : end]
            block.facts[index] = facts[row - first]
        first += len(cells)
    return blocks


def _of_similar_length(rows: Integers, lengths: Integers) -> Iterator[Integers]:
    """Divide rows, the shortest first, into parts of about the same number of cells after padding."""
    begin = 0
    for at in range(1, len(rows) + 1):
        if at == len(rows) or (at - begin + 1) * lengths[rows[at]] > _BLOCK_CELLS:
            yield rows[begin:at]
            begin = at


def _empty_block(rows: Integers, starts: Integers, lengths: Integers, columns: Columns) -> RowBlock:
    longest = int(lengths[rows].max())
    visible = np.arange(longest)[None] < lengths[rows][:, None]
    cells = np.where(visible, starts[rows][:, None] + np.arange(longest)[None], 0)
    features = np.zeros((len(rows) * longest, columns.stored), np.float32)
    facts = np.zeros((len(rows), columns.facts), np.float32)
    return RowBlock(features=features, visible=visible, rows=rows, cells=cells, facts=facts, products=columns.products)


def token_counts(samples: Sequence[SampledRows]) -> Integers:
    """Count the occurrences of each token id in the sampled inputs, `[id]`."""
    return np.bincount(np.concatenate([sample.segment.keys.ids for sample in samples]))


def contexts_of(vocabulary: VocabularyFacts) -> ContextOf:
    """Return a function that makes the feature context for the sampled rows of an input.

    Args:
        vocabulary: vocabulary facts, with the counts of the sampled inputs.
    """

    def context_of(sample: SampledRows, visible: Flags) -> RowContext:
        segment = sample.segment
        words = int(segment.keys.word_ids.max(initial=-1)) + 1
        origin = f"segment {sample.index + 1} of document {sample.document}"
        annotation = annotation_of(segment.fields, words, origin=origin)
        return RowContext(
            rows=sample.rows, visible=visible, queries=segment.queries, keys=segment.keys, vocabulary=vocabulary,
            annotation=annotation,
        )  # fmt: skip

    return context_of
