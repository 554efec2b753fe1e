"""The fits to both halves of the documents, kept to predict whole inputs later."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.divergences import HeadExplanation
from headscope.analyses.explanation.features import Feature
from headscope.analyses.explanation.row_block import Doubles, Flags, Integers, RowBlock, Singles
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.sample import RowSample
from headscope.statistics.sums.kept import State, within

EXPLAINED, POSITIONS = PREDICTIONS = ("explained", "positions")
"""The full fit, and the fit of positions alone."""
_ABOUT = "about"
_FLAGS = ("sink", "kinds", "square")
_ARRAYS = ("token_ids", "counted_ids", "counts")


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedHeads:
    """The fits to both halves of the documents for the heads of a kind of attention.

    Attributes:
        features: names of the features with a column.
        sink, kinds, square: the same attributes of `Columns`.
        token_ids: ids of the tokens with a column.
        counted_ids, counts: ids that occur in the sampled inputs, and their counts, from which frequencies follow.
        documents: documents of the sample, in the order in which they were divided.
        coefficients: coefficients by name in `PREDICTIONS`, `[half, layer, head, column]`; the fit of positions has
            only the first columns.
    """

    features: tuple[str, ...]
    sink: bool
    kinds: bool
    square: bool
    token_ids: Integers
    counted_ids: Integers
    counts: Integers
    documents: tuple[str, ...]
    coefficients: Mapping[str, Singles]

    @classmethod
    def of(cls, sample: RowSample, layers: Sequence[Sequence[HeadExplanation]]) -> "FittedHeads":
        """Collect the fits to the attention weights of the heads of all layers.

        Args:
            sample: sampled rows.
            layers: explanations of the heads of each layer.
        """
        ids = np.concatenate([each.segment.keys.ids for each in sample.samples])
        counted_ids, counts = np.unique(ids, return_counts=True)
        fits = {
            name: np.array(
                [[[getattr(head, of)[half] for head in heads] for heads in layers] for half in (0, 1)], np.float32
            )
            for name, of in ((EXPLAINED, "coefficients"), (POSITIONS, "positions"))
        }
        columns = sample.columns
        return cls(
            features=tuple(feature.name for feature in columns.features), documents=tuple(sample.names),
            **{name: getattr(columns, name) for name in _FLAGS}, token_ids=columns.token_ids,
            counted_ids=counted_ids, counts=counts, coefficients=fits,
        )  # fmt: skip

    def predicting_half(self, document: str) -> int:
        """Return the half whose fit predicts a document: the half without that document.

        Documents without a sampled row are in neither half, and are predicted by the first.
        """
        return 1 - self._numbers.get(document, 1) % 2

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.documents)}

    def state(self, kind: str) -> State:
        """Return the fits as named arrays, for the state of the stage."""
        about = {name: getattr(self, name) for name in ("features", "documents", *_FLAGS)}
        arrays = {
            **self.coefficients,
            **{name: getattr(self, name) for name in _ARRAYS},
            _ABOUT: np.frombuffer(json.dumps(about).encode(), dtype=np.uint8).copy(),
        }
        return {f"fitted.{kind}.{name}": array for name, array in arrays.items()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[np.generic]], kind: str) -> "FittedHeads | None":
        """Read the fits of a kind of attention from the state of the stage; None if nothing was fitted."""
        arrays = within(state, f"fitted.{kind}.")
        if not arrays:
            return None
        about = json.loads(bytes(arrays[_ABOUT]))
        fields: dict[str, Any] = {name: tuple(about[name]) for name in ("features", "documents")}
        fields |= {name: about[name] for name in _FLAGS}
        fields |= {name: np.asarray(arrays[name], dtype=np.int64) for name in _ARRAYS}
        fits = {name: np.asarray(arrays[name], dtype=np.float32) for name in PREDICTIONS}
        return cls(**fields, coefficients=fits)


class Predictor:
    """Predicts the attention of the heads of a kind in rows of whole inputs.

    Args:
        fitted: fits of the kind.
        features: features of the catalog, by name.
    """

    def __init__(self, fitted: FittedHeads, features: Mapping[str, Feature]) -> None:
        self.fitted = fitted
        self.columns = Columns(
            features=[features[name] for name in fitted.features], token_ids=fitted.token_ids,
            sink=fitted.sink, kinds=fitted.kinds, square=fitted.square,
        )  # fmt: skip

    def read(self, context: RowContext) -> RowBlock:
        """Compute the columns of the fit for some rows and all keys of an input; the last key is the learned sink.

        Args:
            context: context of the rows, with the token frequencies of the explanation.
        """
        cells = np.ones((len(context.rows), len(context.keys) + 1), dtype=bool)
        features, facts = self.columns.compute(context, cells)
        return RowBlock(
            features=features, visible=cells, rows=context.rows, cells=np.arange(cells.size).reshape(cells.shape),
            facts=facts, products=self.columns.products,
        )  # fmt: skip

    def predict(
        self, block: RowBlock, visible: Flags, *, prediction: str, half: int, layer: int, sink: bool
    ) -> Doubles:
        """Predict the attention of the heads of a layer, `[head, row, key + 1]`.

        Rows sum to 1; the last key is the learned sink, 0 if the layer has none.

        Args:
            block: rows returned by `read`.
            visible: mask of the keys that the layer sees, `[row, key]`.
            prediction: one of `PREDICTIONS`.
            half: half of the documents to which the coefficients were fitted.
            layer: layer, from 0.
            sink: True if the layer has a learned sink.
        """
        coefficients = self.fitted.coefficients[prediction][half, layer].T
        counted = np.concatenate([visible, np.full((len(visible), 1), sink)], axis=1)
        logits = block.logits(coefficients, slice(0, len(coefficients))).astype(np.float64)
        weights, _ = replace(block, visible=counted).probabilities(logits)
        return np.moveaxis(np.asarray(weights, np.float64), -1, 0)
