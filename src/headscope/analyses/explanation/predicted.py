"""Predictions of the attention of heads in every row of an input, by what the halves of the documents fitted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Floats, Integers, Singles
from headscope.analyses.explanation.feature import Feature
from headscope.analyses.explanation.fitted import FittedHeads
from headscope.analyses.explanation.query_kinds import number_of_pairs, pair_codes
from headscope.analyses.explanation.row_context import RowContext


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """What predictions read of some rows and all keys of an input.

    Attributes:
        dense: the features, `[feature, row, key]`.
        pairs: the code of the kinds of query and key, 0 for none, `[row, key]`.
        tokens: which of the tokens with a bias each key is, from 1, 0 for none, `[key]`.
    """

    dense: Singles
    pairs: Integers
    tokens: Integers

    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""
        return self.dense.nbytes + self.pairs.nbytes + self.tokens.nbytes


class Predictor:
    """Predicts the attention of the heads of a kind.

    Args:
        fitted: what predicts.
        features: the catalog, by name.
    """

    def __init__(self, fitted: FittedHeads, features: Mapping[str, Feature]) -> None:
        self.fitted = fitted
        self._features = [features[name] for name in fitted.features]

    def read(self, context: RowContext) -> PairFeatures:
        """Compute what predictions read, as the explanation did.

        Args:
            context: of the rows, with the frequencies of the explanation.
        """
        shape = (len(self._features), len(context.rows), len(context.keys))
        dense = np.empty(shape, np.float32)
        for number, feature in enumerate(self._features):
            dense[number] = feature.compute(context)
        ids, biased = context.keys.ids, self.fitted.token_ids
        tokens = np.zeros(len(ids), dtype=np.int64)
        if len(biased):
            at = np.searchsorted(biased, ids).clip(max=len(biased) - 1)
            tokens = np.where(biased[at] == ids, at + 1, 0)
        return PairFeatures(dense, pair_codes(context, self.fitted.query_kinds)[:, :-1], tokens)

    def predict(
        self, pairs: PairFeatures, visible: NDArray[np.bool_], *, prediction: str, half: int, layer: int, sink: bool
    ) -> Floats:
        """Return what the heads of a layer are predicted to attend to, `[head, row, key + 1]`.

        Rows sum to 1; the last key is the learned sink, 0 where the layer has none.

        Args:
            pairs: of the rows.
            visible: which keys the layer sees, `[row, key]`.
            prediction: of `fitted.PREDICTIONS`.
            half: of the documents, which fitted.
            layer: from 0.
            sink: whether the layer has a learned sink.
        """
        coefficients = self.fitted.coefficients[prediction][half, layer]
        ends = np.cumsum([1, len(self._features), number_of_pairs(self.fitted.query_kinds)])
        sinks, dense, of_pairs, of_tokens = np.split(coefficients, ends, axis=1)
        used = np.flatnonzero(dense.any(0))
        logits = np.full((*coefficients.shape[:1], *visible.shape[:1], visible.shape[1] + 1), -np.inf)
        of_keys = np.tensordot(dense[:, used], pairs.dense[used].astype(np.float64), axes=1)
        # Positions have no coefficients of these.
        for values, codes in ((of_pairs, pairs.pairs), (of_tokens, pairs.tokens[None])):
            if values.any():
                of_keys += np.pad(values, ((0, 0), (1, 0)))[:, codes]
        logits[..., :-1] = np.where(visible, of_keys, -np.inf)
        if sink:
            logits[..., -1] = sinks
        logits -= logits.max(-1, keepdims=True)
        weights = np.exp(logits, out=logits)
        weights /= weights.sum(-1, keepdims=True)
        return weights
