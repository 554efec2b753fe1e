"""Replace the attention of heads by its explanation in every row of an input; the values are unchanged.

Explanations are refitted to masked inputs, on which an encoder's loss is computed: a masked word attends differently
from the word itself, and other rows see masked words as keys. Heads are therefore refitted to the rows of masked words
and to all other rows, each with the same halves of the documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.features import Feature
from headscope.analyses.explanation.fitted import FittedHeads, Predictor
from headscope.analyses.explanation.row_block import Integers, RowBlock
from headscope.analyses.explanation.row_context import RowContext, Tokens, annotation_of, kept_fields
from headscope.analyses.explanation.sample import contexts_of, row_sample, token_counts
from headscope.analyses.explanation.sums import RowSampleAccumulator, tokens_of
from headscope.analyses.explanation.tables import WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.attention.interventions.changed_pass import LayerRows
from headscope.attention.interventions.intervention import WeightIntervention
from headscope.attention.model.tap import EagerOutput
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.models.anatomy import KindLayout

_MOST_BYTES = 512 << 20
"""Most bytes of a batch's features that are kept for all its layers."""
_CELLS = 1 << 16
"""Number of pairs of a row and a key whose features are computed together."""


class RowPredictor:
    """Predicts some rows of every input, with the token frequencies of the predictor's fit.

    Args:
        fitted: fits of a kind of attention.
        features: features of the catalog, by name.
        vocabulary: vocabulary facts without the frequencies of a text.
        hidden: True to predict the rows of masked words, False for the others; None for all rows.
    """

    def __init__(
        self,
        fitted: FittedHeads,
        features: Mapping[str, Feature],
        vocabulary: VocabularyFacts,
        hidden: bool | None = None,
    ) -> None:
        counts = np.zeros(int(fitted.counted_ids.max(initial=-1)) + 1, dtype=np.int64)
        counts[fitted.counted_ids] = fitted.counts
        self.predictor, self.vocabulary, self.hidden = (
            Predictor(fitted, features),
            vocabulary.with_counts(counts),
            hidden,
        )

    def rows(self, tokens: Tokens) -> Integers:
        """Return the rows of an input that it predicts."""
        if self.hidden is None:
            return np.arange(len(tokens))
        return np.flatnonzero((tokens.ids == self.vocabulary.hidden) == self.hidden)


class ExplainedAttention:
    """The predicted attention of a model's heads in the current batch.

    Args:
        predictors: predictors of each kind of attention; each row is predicted by one of them.
        segments: inputs, for their annotation.
    """

    def __init__(self, predictors: Mapping[str, Sequence[RowPredictor]], segments: Sequence[Segment]) -> None:
        self._predictors = predictors
        self._fields = {(segment.document, segment.index): segment.fields for segment in segments}
        self._batch: tuple[object, ...] = ()
        self._features: dict[int, list[tuple[Predictor, RowBlock]]] = {}
        self._weights: dict[tuple[str, int, str], Tensor] = {}

    def weights(self, prediction: str, rows: LayerRows, answer: EagerOutput) -> Tensor:
        """Return the predicted attention of the heads of a layer, `[batch, head, row, key]`.

        Args:
            prediction: one of `explanation.fitted.PREDICTIONS`.
            rows: rows of the layer.
            answer: actual attention of the heads.
        """
        kind, layer = rows.layer
        batch = (kind, rows.queries.documents, rows.queries.indices, answer.weights.shape)
        if batch != self._batch:
            self._batch, self._features, self._weights = batch, {}, {}
        key = (kind, layer, prediction)
        if key not in self._weights:
            # Weights of other layers are dropped: the heads of a layer are changed one after another.
            self._weights = {each: kept for each, kept in self._weights.items() if each[:2] == (kind, layer)}
            self._weights[key] = self._computed(prediction, rows, answer)
        return self._weights[key]

    def _computed(self, prediction: str, rows: LayerRows, answer: EagerOutput) -> Tensor:
        visible = rows.visibility.visible.cpu().numpy()
        weights = torch.zeros_like(answer.weights)
        for item, document in enumerate(rows.queries.documents):
            of_rows, of_keys = _span(rows.queries, item), _span(rows.keys, item)
            sees = visible[item, of_rows, of_keys]
            for predictor, block in self._blocks(item, rows, sees):
                predicted = predictor.predict(
                    block,
                    sees[block.rows],
                    prediction=prediction,
                    half=predictor.fitted.predicting_half(document),
                    layer=rows.layer[1],
                    sink=answer.sink is not None,
                )
                at = torch.from_numpy(block.rows + of_rows.start).to(weights.device)
                weights[item, :, at, of_keys] = torch.from_numpy(predicted[..., :-1]).to(weights)
        return weights

    def _blocks(self, item: int, rows: LayerRows, visible: NDArray[np.bool_]) -> Iterator[tuple[Predictor, RowBlock]]:
        """Yield the features of an input in blocks of rows, cached if the batch's features fit into the bound."""
        if item in self._features:
            yield from self._features[item]
            return
        kept, used = [], sum(block.features.nbytes for blocks in self._features.values() for _, block in blocks)
        for predictor, block in self._read(item, rows, visible):
            used += block.features.nbytes
            if used <= _MOST_BYTES:
                kept.append((predictor, block))
            yield predictor, block
        if used <= _MOST_BYTES:
            self._features[item] = kept

    def _read(self, item: int, rows: LayerRows, visible: NDArray[np.bool_]) -> Iterator[tuple[Predictor, RowBlock]]:
        kind, _ = rows.layer
        queries = tokens_of(rows.queries, item)
        keys = tokens_of(rows.keys, item) if kind == "cross" else queries
        document, index = rows.queries.documents[item], rows.queries.indices[item]
        fields: Mapping[str, Any] = self._fields.get((document, index), {})
        words = int(keys.word_ids.max(initial=-1)) + 1
        origin = f"segment {index + 1} of document {document}"
        annotation = annotation_of(kept_fields(fields), words, origin=origin)
        height = max(1, _CELLS // max(1, len(keys)))
        for each in self._predictors[kind]:
            picked = each.rows(queries)
            for start in range(0, len(picked), height):
                block = picked[start : start + height]
                context = RowContext(
                    rows=block,
                    visible=visible[block],
                    queries=queries,
                    keys=keys,
                    vocabulary=each.vocabulary,
                    annotation=annotation,
                )
                yield each.predictor, each.predictor.read(context)


class Explained(WeightIntervention):
    """Replaces the attention of a head by its explanation, or by the explanation from positions alone.

    Args:
        attention: predicted attention.
        prediction: one of `explanation.fitted.PREDICTIONS`.
    """

    def __init__(self, attention: ExplainedAttention, prediction: str) -> None:
        self._attention, self._prediction = attention, prediction

    def weights(self, heads: list[int], rows: LayerRows, answer: EagerOutput) -> Tensor:
        """Return the replaced attention of some heads of a layer."""
        return self._attention.weights(self._prediction, rows, answer)[:, heads]


def _span(tokens: SegmentInfo, item: int) -> slice:
    """Return the slice of an input's tokens in the batch, without padding."""
    first = int(tokens.valid[item].long().argmax())
    return slice(first, first + int(tokens.lengths[item]))


HIDDEN_INPUTS = 512
"""Largest number of masked inputs to which explanations are refitted."""

FEWEST_ROWS = 100
"""Least number of rows in a half of the documents for refitting."""


class TokenRowsAccumulator(RowSampleAccumulator):
    """Keeps rows of one token, or of all others, with the smallest hashes; see `RowSampleAccumulator`.

    Args:
        layout: kinds of attention and their sizes.
        token: id of the token.
        others: True to keep the rows of all other tokens instead.
        **sample: further arguments of `RowSampleAccumulator`.
    """

    parameters: ClassVar[tuple[str, ...]] = (*RowSampleAccumulator.parameters, "token", "others")

    def __init__(self, layout: Sequence[KindLayout], *, token: int, others: bool, **sample: int) -> None:
        self.token, self.others = token, others
        super().__init__(layout, **sample)

    def positions(self, queries: SegmentInfo, item: int) -> NDArray[np.int64]:
        """Return the rows of an input of the batch that may belong to the sample."""
        is_token = (queries.ids[item][queries.valid[item]] == self.token).cpu().numpy()
        return np.flatnonzero(is_token != self.others)


def fitted_again(
    rows: RowSampleAccumulator,
    fitted: Mapping[str, FittedHeads],
    features: Mapping[str, Feature],
    vocabulary: VocabularyFacts,
    *,
    seed: int,
) -> dict[str, FittedHeads]:
    """Refit the explanations to sampled rows, by kind of attention, with the same halves of the documents.

    Args:
        rows: sampled rows.
        fitted: fits to the unmasked text; kept where there are fewer than `FEWEST_ROWS` rows.
        features: features of the catalog, by name.
        vocabulary: vocabulary facts without the frequencies of a text.
        seed: seed of the order of documents that were not divided before.
    """
    results = dict(fitted)
    for part in rows.layout:
        samples = rows.compute()[part.kind]
        if not samples:
            continue
        counted = vocabulary.with_counts(token_counts(samples))
        divided = fitted[part.kind].documents
        sample = row_sample(samples, list(features.values()), contexts_of(counted), seed=seed, divided=divided)
        if np.bincount(sample.documents % 2, minlength=2).min() >= FEWEST_ROWS:
            heads = explain(sample, part.layers, (WEIGHT,), ordered=False, positions=True)[WEIGHT]
            results[part.kind] = FittedHeads.of(sample, heads)
    return results
