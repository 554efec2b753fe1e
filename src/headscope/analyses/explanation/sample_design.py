"""The design of a sample: the features of its rows, its documents in halves, and the attention of each head."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Block, Design, Integers, Singles
from headscope.analyses.explanation.feature import SINK_LOGIT, TOKENS, WHAT_ATTENDS, Feature
from headscope.analyses.explanation.query_kinds import frequent_kinds, number_of_pairs, pair_codes
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.analyses.explanation.row_sample import SampledRows
from headscope.encoding.vocabulary import KeyClass

FEWEST_OCCURRENCES = 20
"""A token has a bias of its own where it occurs so often in the documents that fit."""
TOKEN_RIDGES = (3.0, 10.0, 30.0, 100.0)
"""Penalties on the biases of tokens, in rows, of which one is chosen by its gain on held-out documents."""
_SINKS = (KeyClass.CLS, KeyClass.SEP)
ContextOf = Callable[[SampledRows, NDArray[np.bool_]], RowContext]
"""From sampled rows of an input, and what they see `[row, key]`, to the context of features."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SampleDesign:
    """The rows of a kind of attention with their features.

    Attributes:
        samples: the rows, by input.
        design: of all cells that some layer sees.
        columns: names of the features of each group.
        query_kinds: the frequent kinds of query, whose pairs with kinds of key have biases, of `token_kinds`.
        documents: number of each row's document, `[row]`, in the order of a hash.
        names: of the documents.
        key_ids: id of each cell's key, -1 for a learned sink, `[cell]`.
        named: which cells are of a class of tokens with a group of its own, `[cell]`.
        is_sink: which cells are of a first token, a separator or a learned sink, `[cell]`.
        is_sink_logit: which cells are of a learned sink, `[cell]`.
        visible: which of a row's keys, the learned sink last, are cells, for each of the samples, `[row, key + 1]`.
    """

    samples: Sequence[SampledRows]
    design: Design
    columns: Mapping[str, Sequence[str]]
    query_kinds: Integers
    documents: Integers
    names: Sequence[str]
    key_ids: Integers
    named: NDArray[np.bool_]
    is_sink: NDArray[np.bool_]
    is_sink_logit: NDArray[np.bool_]
    visible: Sequence[NDArray[np.bool_]]

    def attention(self, measure: int, layer: int) -> NDArray[np.float32]:
        """Return the attention of a layer's heads, `[head, cell]`; NaN where a cell is not visible in the layer."""
        return np.concatenate(
            [
                sample.attention[measure, layer][:, visible]
                for sample, visible in zip(self.samples, self.visible, strict=True)
            ],
            axis=1,
        )

    def visible_in(self, layer: int, measure: int) -> NDArray[np.bool_] | None:
        """Return which cells a layer sees, `[cell]`; a learned sink, of which nothing is written, by weight alone."""
        cells: NDArray[np.bool_] = ~np.isnan(self.attention(0, layer)[0])
        if measure:
            cells &= ~self.is_sink_logit
        return None if cells.all() else cells

    def with_tokens(self, fitting: NDArray[np.bool_]) -> tuple[Design, Integers]:
        """Return the design with a bias for each frequent token of some documents, and the tokens' ids.

        Args:
            fitting: the documents, `[document]`.
        """
        numbers = {name: number for number, name in enumerate(self.names)}
        inputs = [sample.segment.keys.ids for sample in self.samples if fitting[numbers[sample.document]]]
        ids, counts = np.unique(np.concatenate(inputs), return_counts=True)
        # Separators, periods and commas have groups of their own; the first token may be any.
        others = np.unique(self.key_ids[~self.named])
        frequent = np.intersect1d(ids[counts >= FEWEST_OCCURRENCES], others)
        if not len(frequent):
            return self.design, frequent
        at = np.searchsorted(frequent, self.key_ids).clip(max=len(frequent) - 1)
        codes = np.where(frequent[at] == self.key_ids, at + 1, 0)
        none = np.zeros((0, self.design.n_cells), np.float32)
        block = Block(dense=none, codes=codes, n_codes=len(frequent), ridge=TOKEN_RIDGES[1])
        return replace(self.design, blocks={**self.design.blocks, TOKENS: block}), frequent


def sample_design(
    samples: Sequence[SampledRows],
    features: Sequence[Feature],
    context_of: ContextOf,
    *,
    seed: int,
    divided: Sequence[str] = (),
) -> SampleDesign:
    """Compute the features of all sampled rows.

    Args:
        samples: rows of a kind of attention.
        features: the catalog; what needs more than a context has is left out, and what is 0 of all keys.
        context_of: makes the context of features.
        seed: of the order of documents.
        divided: documents that were divided into halves already, in their order; others follow.
    """
    visible: list[NDArray[np.bool_]] = []
    contexts: list[RowContext] = []
    for sample in samples:
        cells = np.asarray(~np.isnan(sample.attention[0, :, 0]).all(0))
        visible.append(cells)
        contexts.append(context_of(sample, cells[:, :-1]))
    available = [feature for feature in features if all(feature.needs <= context.has for context in contexts)]
    columns: dict[str, list[str]] = {}
    dense: dict[str, list[Singles]] = {}
    for feature in available:
        cells_of_feature = _cells_of(feature, contexts, visible)
        # What no key of the sample has, such as the relations of another treebank, explains nothing.
        if cells_of_feature.any():
            columns.setdefault(feature.group, []).append(feature.name)
            dense.setdefault(feature.group, []).append(cells_of_feature)
    blocks = {group: Block(dense=np.stack(dense.pop(group))) for group in columns}
    lengths = np.concatenate([cells.sum(1) for cells in visible])
    starts = np.cumsum(lengths) - lengths
    n_cells = int(lengths.sum())

    def of_keys(values: Callable[[Tokens], NDArray[Any]], of_sink: Any) -> NDArray[Any]:
        """Take numbers of the tokens at the cells, and that of a learned sink."""
        parts = [
            np.broadcast_to(np.append(values(context.keys), of_sink), cells.shape)[cells]
            for context, cells in zip(contexts, visible, strict=True)
        ]
        return np.concatenate(parts)

    sink = of_keys(lambda keys: np.zeros(len(keys), dtype=bool), True)
    if sink.any():
        blocks[SINK_LOGIT] = Block(dense=sink[None].astype(np.float32))
    query_kinds = frequent_kinds(contexts)
    if len(query_kinds):
        blocks[WHAT_ATTENDS] = _pair_block(contexts, visible, query_kinds, n_cells)
    names, documents = _documents(samples, seed=seed, divided=divided)
    return SampleDesign(
        samples=samples,
        design=Design(starts=starts, n_cells=n_cells, blocks=blocks),
        columns=columns,
        query_kinds=query_kinds,
        documents=documents,
        names=names,
        key_ids=of_keys(lambda keys: keys.ids, -1),
        named=of_keys(lambda keys: keys.are(*_SINKS, KeyClass.PERIOD_COMMA), True),
        is_sink=of_keys(lambda keys: keys.are(*_SINKS), True),
        is_sink_logit=sink,
        visible=visible,
    )


def _cells_of(feature: Feature, contexts: Sequence[RowContext], visible: Sequence[NDArray[np.bool_]]) -> Singles:
    values = []
    for context, cells in zip(contexts, visible, strict=True):
        computed = np.zeros(cells.shape, np.float32)
        computed[:, :-1] = feature.compute(context)
        values.append(computed[cells])
    return np.concatenate(values)


def _documents(samples: Sequence[SampledRows], *, seed: int, divided: Sequence[str]) -> tuple[list[str], Integers]:
    """Return the documents in the order of a hash, behind those that have one already, and the number of each row's."""
    more = sorted(
        {sample.document for sample in samples}.difference(divided),
        key=lambda name: blake2b(f"{seed}/{name}".encode(), digest_size=8).digest(),
    )
    names = [*divided, *more]
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.concatenate([np.full(len(sample.rows), numbers[sample.document]) for sample in samples])


def _pair_block(
    contexts: Sequence[RowContext], visible: Sequence[NDArray[np.bool_]], query_kinds: Integers, n_cells: int
) -> Block:
    """Return the group of what attends: a bias for each kind of query with each kind of key."""
    codes = [pair_codes(context, query_kinds)[cells] for context, cells in zip(contexts, visible, strict=True)]
    none = np.zeros((0, n_cells), np.float32)
    return Block(dense=none, codes=np.concatenate(codes), n_codes=number_of_pairs(query_kinds))
