"""What the halves of the documents fitted to every head, kept so that whole inputs can be predicted later."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Floats, Integers
from headscope.analyses.explanation.feature import SINK_LOGIT, TOKENS, WHAT_ATTENDS, Feature
from headscope.analyses.explanation.held_out import HeadFits
from headscope.analyses.explanation.query_kinds import number_of_pairs
from headscope.analyses.explanation.sample_design import SampleDesign
from headscope.statistics.sums.kept import State, within

EXPLAINED, POSITIONS = PREDICTIONS = ("explained", "positions")
"""What predicts a head: the groups that explain it, or all groups of positions and nothing else."""
_ABOUT = "about"
_ARRAYS = ("query_kinds", "token_ids", "counted_ids", "counts")


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedHeads:
    """What each half of the documents fitted to the heads of a kind of attention.

    Attributes:
        features: names of the features.
        query_kinds: kinds of query that have biases for each kind of key.
        token_ids: tokens that have a bias in either half, ascending.
        counted_ids, counts: the ids that occur in the sampled inputs, and how often, from which frequencies follow.
        documents: the documents of the sample, in the order in which they were divided.
        coefficients: of each of `PREDICTIONS`, `[half, layer, head, column]`: of a learned sink, the features, the
            pairs of kinds, the tokens; of positions those of the sink and the features. A group that a half did not
            select has 0.
    """

    features: tuple[str, ...]
    query_kinds: Integers
    token_ids: Integers
    counted_ids: Integers
    counts: Integers
    documents: tuple[str, ...]
    coefficients: Mapping[str, Floats]

    @classmethod
    def of(cls, sample: SampleDesign, layers: Sequence[Sequence[HeadFits]]) -> "FittedHeads":
        """Keep what explains the heads of all layers.

        Args:
            sample: the rows.
            layers: what was fitted to the weights of the heads of each layer.
        """
        features = [name for names in sample.columns.values() for name in names]
        # Documents were divided so by `half_of`.
        tokens = [sample.with_tokens(np.arange(len(sample.names)) % 2 == parity)[1] for parity in (0, 1)]
        token_ids = np.union1d(*tokens)
        columns = _columns(sample, len(token_ids))
        shape = (2, len(layers), len(layers[0]))
        explained = np.zeros((*shape, columns[TOKENS].stop))
        positions = np.zeros((*shape, 1 + len(features)))
        for index in np.ndindex(*shape):
            half, layer, number = index
            head = layers[layer][number]
            for group, values in head.explained[half].items():
                at = np.arange(columns[group].start, columns[group].stop)
                if group == TOKENS:
                    at = at[np.searchsorted(token_ids, tokens[half])]
                explained[index][at] = values
            for group, values in head.positions[half].items():
                positions[index][columns[group]] = values
        counted_ids, counts = np.unique(
            np.concatenate([each.segment.keys.ids for each in sample.samples]), return_counts=True
        )
        return cls(
            features=tuple(features),
            query_kinds=sample.query_kinds,
            token_ids=token_ids,
            counted_ids=counted_ids,
            counts=counts,
            documents=tuple(sample.names),
            coefficients={EXPLAINED: explained, POSITIONS: positions},
        )

    def groups(self, features: Mapping[str, Feature], half: int, layer: int, head: int) -> list[str]:
        """Return the groups that a half selected for a head, in the order of columns.

        Args:
            features: the catalog, by name.
            half: of the documents, which fitted.
            layer, head: from 0.
        """
        of_columns = [
            *(SINK_LOGIT, *(features[name].group for name in self.features)),
            *(WHAT_ATTENDS,) * number_of_pairs(self.query_kinds),
            *(TOKENS,) * len(self.token_ids),
        ]
        used = self.coefficients[EXPLAINED][half, layer, head] != 0
        return list(dict.fromkeys(np.array(of_columns)[used].tolist()))

    def half_of(self, document: str) -> int:
        """Return which half predicts a document: the one that it is not in.

        Documents of which no row was sampled are in neither, and predicted by the first.
        """
        return 1 - self._numbers.get(document, 1) % 2

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.documents)}

    def state(self, kind: str) -> State:
        """Return all of it as named arrays, for the state of the stage.

        Args:
            kind: of attention.
        """
        about = {"features": self.features, "documents": self.documents}
        arrays = {
            **self.coefficients,
            **{name: getattr(self, name) for name in _ARRAYS},
            _ABOUT: np.frombuffer(json.dumps(about).encode(), dtype=np.uint8).copy(),
        }
        return {f"fitted.{kind}.{name}": array for name, array in arrays.items()}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[np.generic]], kind: str) -> "FittedHeads | None":
        """Return what the state of the stage keeps of a kind of attention; None where nothing was fitted."""
        arrays = within(state, f"fitted.{kind}.")
        if not arrays:
            return None
        about = json.loads(bytes(arrays[_ABOUT]))
        return cls(
            **{name: np.asarray(arrays[name], dtype=np.int64) for name in _ARRAYS},
            features=tuple(about["features"]),
            documents=tuple(about["documents"]),
            coefficients={name: np.asarray(arrays[name], dtype=np.float64) for name in PREDICTIONS},
        )


def _columns(sample: SampleDesign, tokens: int) -> dict[str, slice]:
    """Return the columns of each group: a learned sink first, the tokens last."""
    widths = {SINK_LOGIT: 1, **{group: len(names) for group, names in sample.columns.items()}}
    widths |= {WHAT_ATTENDS: number_of_pairs(sample.query_kinds), TOKENS: tokens}
    ends = np.cumsum(list(widths.values())).tolist()
    return {group: slice(end - width, end) for (group, width), end in zip(widths.items(), ends, strict=True)}
