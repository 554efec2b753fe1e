"""The columns of the fit (features, kinds of words, and products of both) for every cell of a row and a key."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from headscope.analyses.explanation import words
from headscope.analyses.explanation.features import ATTENDING, OFFSETS, SINK_LOGIT, TOKENS, Feature
from headscope.analyses.explanation.row_block import Flags, Integers, Product, Singles
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.vocabulary_facts import COMPONENTS
from headscope.encoding.vocabulary import KeyClass


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
        varied = len(words.QUERY_FACTS) * len(self._present(words.VARIED))
        located = self.kinds * words.PAIRED * len(self._present(words.LOCATED))
        widths = {
            SINK_LOGIT: int(self.sink),
            **Counter(feature.group for feature in self._ordered),
            TOKENS: len(self.token_ids),
            words.KINDS: self.kinds * COMPONENTS,
            words.AFTER: self.kinds * COMPONENTS,
            words.NEARBY: self.kinds * words.NEAR * len(self.near),
            words.PAIRS: pairs * words.PAIRED**2,
            words.PAIRS_AFTER: pairs * words.PAIRED_AFTER**2,
            ATTENDING: self.square * (varied + located),
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
        varied, located = (len(self._present(names)) for names in (words.VARIED, words.LOCATED))
        # The first fact, the number of facts, the first factor, and the number of factors.
        parts = (
            (0, paired, 0, paired),
            (0, after, paired, after),
            (paired, len(words.QUERY_FACTS), paired + after, varied),
            (0, paired, paired + after, located),
        )
        start = first = self.width - sum(n_facts * n_factors for _, n_facts, _, n_factors in parts)
        products = list[Product]()
        for fact, n_facts, factor, n_factors in parts:
            if stop := n_facts * n_factors:
                facts, factors = slice(fact, fact + n_facts), slice(start + factor, start + factor + n_factors)
                products.append(Product(columns=slice(first, first + stop), facts=facts, factors=factors))
            first += stop
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

    def compute(self, context: RowContext, cells: Flags) -> tuple[Singles, Singles]:
        """Compute the columns and factors of some cells of one input, and the facts on its rows; see `RowBlock`.

        Args:
            context: context of the rows.
            cells: mask of the cells, row by row; the last key is the learned sink, `[row, key + 1]`.

        Returns:
            `[cell, column]` and `[row, fact]`.
        """
        row, key = np.nonzero(cells)
        on_sink = key == len(context.keys)
        at = np.where(on_sink, 0, key)
        values = np.zeros((len(row), self.stored), np.float32)
        plain = {feature.name: feature.cells(context, row, at) for feature in self._ordered}

        def stacked(names: Collection[str]) -> Singles:
            """Stack the named features, `[cell, feature]`."""
            return np.array([plain[name] for name in names], np.float32).reshape(len(names), len(row)).T

        if self.sink:
            values[:, 0] = on_sink
        values[:, int(self.sink) : int(self.sink) + len(plain)] = stacked(plain)
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
                nearby = of_keys[:, : words.NEAR, None] * stacked(self.near)[:, None, :]
                values[:, self.groups[words.NEARBY]] = nearby.reshape(len(row), words.NEAR * len(self.near))
            facts = [context.vocabulary.kinds(context.queries.ids[context.rows])[:, : words.PAIRED]]
            factors = [of_keys[:, : words.PAIRED], after[:, : words.PAIRED_AFTER]]
        if self.square:
            joined = np.concatenate([*factors, stacked(self._present(words.VARIED))], axis=1)
            values[:, self.stored - joined.shape[1] :] = joined
        values[on_sink, int(self.sink) :] = 0.0
        return values, np.concatenate([*facts, words.query_facts(context)], axis=1)

    @cached_property
    def _ordered(self) -> list[Feature]:
        """The features sorted by group, position groups first."""
        groups = list(dict.fromkeys([*OFFSETS, *(feature.group for feature in self.features)]))
        return sorted(self.features, key=lambda feature: groups.index(feature.group))

    def _present(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the features that have a column."""
        known = {feature.name for feature in self.features}
        return tuple(name for name in names if name in known)

    @cached_property
    def near(self) -> tuple[str, ...]:
        """The names of the position features in the columns of nearby words."""
        return self._present(words.NEAR_FEATURES)
