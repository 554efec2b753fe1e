"""The columns of the fit (features, kinds of words, and products of both) for every cell of a row and a key."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation import words
from headscope.analyses.explanation.features import ATTENDING, OFFSETS, SINK_LOGIT, TOKENS, Feature
from headscope.analyses.explanation.row_block import Product
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.vocabulary_facts import COMPONENTS
from headscope.encoding.vocabulary import KeyClass

Singles = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """The columns of a fit, in the order of their groups; position groups come first.

    Attributes:
        features: features with a column each.
        token_ids: ids of the tokens with a column each, ascending.
        sink: True if some layer has a learned sink, which is an additional key.
        kinds: True if the model's token embeddings are known.
        square: True if queries and keys are the same tokens.
    """

    features: Sequence[Feature]
    token_ids: Integers
    sink: bool
    kinds: bool
    square: bool

    @cached_property
    def groups(self) -> dict[str, slice]:
        """The columns of each group."""
        pairs = self.kinds and self.square
        varied = len(words.QUERY_FACTS) * len(self._varied) + self.kinds * words.PAIRED * len(self._located)
        widths = {
            SINK_LOGIT: int(self.sink),
            **Counter(feature.group for feature in self._ordered),
            TOKENS: len(self.token_ids),
            words.KINDS: self.kinds * COMPONENTS,
            words.AFTER: self.kinds * COMPONENTS,
            words.NEARBY: self.kinds * words.NEAR * len(self.near),
            words.PAIRS: pairs * words.PAIRED**2,
            words.PAIRS_AFTER: pairs * words.PAIRED_AFTER**2,
            ATTENDING: self.square * varied,
        }
        ends = accumulate(widths.values())
        return {group: slice(end - width, end) for (group, width), end in zip(widths.items(), ends) if width}

    @property
    def width(self) -> int:
        """The number of columns."""
        return max((part.stop for part in self.groups.values()), default=0)

    @cached_property
    def products(self) -> tuple[Product, ...]:
        """The columns of word pairs and of the attending token: products of a fact on the row and a factor of the cell.

        The facts on a row are the components of its token, if they are known, and `words.QUERY_FACTS`. The factors are
        the components of the key and of the token before it, and the varied features.
        """
        if not self.square:
            return ()
        paired, after = self.kinds * words.PAIRED, self.kinds * words.PAIRED_AFTER
        first = (
            self.width - paired * (paired + len(self._located)) - after**2 - len(words.QUERY_FACTS) * len(self._varied)
        )
        keys, before, varied = first, first + paired, first + paired + after
        parts = (
            (slice(0, paired), slice(keys, before)),
            (slice(0, after), slice(before, varied)),
            (slice(paired, self.facts), slice(varied, varied + len(self._varied))),
            (slice(0, paired), slice(varied, varied + len(self._located))),
        )
        products = list[Product]()
        for facts, factors in parts:
            stop = first + (facts.stop - facts.start) * (factors.stop - factors.start)
            if stop > first:
                products.append(Product(columns=slice(first, stop), facts=facts, factors=factors))
            first = stop
        return tuple(products)

    @property
    def stored(self) -> int:
        """The number of columns and factors that are stored."""
        return max((product.factors.stop for product in self.products), default=self.width)

    @property
    def facts(self) -> int:
        """The number of facts on a row."""
        return self.kinds * words.PAIRED + len(words.QUERY_FACTS)

    @property
    def positions(self) -> slice:
        """The columns that depend on positions alone, and on whether the key is a learned sink."""
        parts = [part.stop for group, part in self.groups.items() if group in (*OFFSETS, SINK_LOGIT)]
        return slice(0, max(parts, default=0))

    def names(self, group: str) -> list[str]:
        """Return the names of a group's features; an empty list for groups of tokens, kinds of words or products."""
        return [feature.name for feature in self._ordered if feature.group == group]

    def compute(self, context: RowContext, cells: NDArray[np.bool_]) -> tuple[Singles, Singles]:
        """Compute the columns and factors of some cells of one input, and the facts on its rows; see `RowBlock`.

        Args:
            context: context of the rows.
            cells: mask of the cells, row by row; the last key is the learned sink, `[row, key + 1]`.

        Returns:
            `[cell, column]` and `[row, fact]`.
        """
        row, key = np.nonzero(cells)
        number = len(context.keys)
        on_sink = key == number
        at = np.where(on_sink, 0, key)
        values = np.zeros((len(row), self.stored), np.float32)
        plain = {feature.name: feature.cells(context, row, at) for feature in self._ordered}
        if self.sink:
            values[:, 0] = on_sink
        for feature, column in zip(self._ordered, range(int(self.sink), self.width), strict=False):
            values[:, column] = plain[feature.name]
        ids = context.keys.ids
        if len(self.token_ids):
            values[:, self.groups[TOKENS]] = ids[at][:, None] == self.token_ids
        facts: list[Singles] = []
        factors: list[Singles] = []
        if self.kinds:
            kinds = context.vocabulary.kinds(ids)
            before = np.concatenate([np.zeros((1, COMPONENTS), np.float32), kinds[:-1]])
            of_keys, after = kinds[at], before[at]
            is_special = context.keys.are(KeyClass.CLS, KeyClass.SEP)[at]
            values[:, self.groups[words.KINDS]] = np.where(is_special[:, None], np.float32(0), of_keys)
            values[:, self.groups[words.AFTER]] = after
            if self.near:
                nearby = of_keys[:, : words.NEAR, None] * _stacked(plain, self.near)[:, None, :]
                values[:, self.groups[words.NEARBY]] = nearby.reshape(len(row), words.NEAR * len(self.near))
            facts = [context.vocabulary.kinds(context.queries.ids[context.rows])[:, : words.PAIRED]]
            factors = [of_keys[:, : words.PAIRED], after[:, : words.PAIRED_AFTER]]
        if self.square:
            factors.append(_stacked(plain, self._varied))
            values[:, self.stored - sum(each.shape[1] for each in factors) :] = np.concatenate(factors, axis=1)
        values[on_sink, int(self.sink) :] = 0.0
        return values, np.concatenate([*facts, words.query_facts(context)], axis=1)

    @cached_property
    def _ordered(self) -> list[Feature]:
        """The features sorted by group, position groups first."""
        groups = list(dict.fromkeys([*OFFSETS, *(feature.group for feature in self.features)]))
        return sorted(self.features, key=lambda feature: groups.index(feature.group))

    def _present(self, names: Sequence[str]) -> tuple[str, ...]:
        known = {feature.name for feature in self.features}
        return tuple(name for name in names if name in known)

    @cached_property
    def near(self) -> tuple[str, ...]:
        """The names of the position features in the columns of nearby words."""
        return self._present(words.NEAR_FEATURES)

    @cached_property
    def _located(self) -> tuple[str, ...]:
        return self._present(words.LOCATED)

    @cached_property
    def _varied(self) -> tuple[str, ...]:
        return self._present(words.VARIED)


def _stacked(plain: Mapping[str, Singles], names: Sequence[str]) -> Singles:
    """Stack the named features, `[cell, feature]`."""
    some = next(iter(plain.values()), np.zeros(0, np.float32))
    return np.stack([plain[name] for name in names], axis=1) if names else np.zeros((len(some), 0), np.float32)
