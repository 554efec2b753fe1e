"""The catalog of features that explain a head's attention, and the features that a user adds to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from headscope.analyses.explanation import annotated, features, words
from headscope.analyses.explanation.features import Feature, Group, pair_feature
from headscope.analyses.explanation.row_block import Doubles, Flags, Integers
from headscope.analyses.explanation.row_context import RowContext
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import OptionError
from headscope.scans.declarations.user_functions import TextFeature

ADDED = "added"
"""The role of the groups that a user adds."""
_MODULES = (features, words, annotated)

FEATURES: Mapping[str, Feature] = {feature.name: feature for module in _MODULES for feature in module.FEATURES}
"""Every feature by its name."""
GROUPS: Mapping[str, Group] = {
    group.name: group
    for groups in (*(module.GROUPS for module in _MODULES), words.KIND_GROUPS) for group in groups
}  # fmt: skip
"""Every group by its name, in the order of tables and legends."""


@dataclass(frozen=True)
class Catalog:
    """Features and groups by name: built-in ones and those that a user adds."""

    features: Mapping[str, Feature]
    groups: Mapping[str, Group]

    def plus(self, added: Sequence[Feature]) -> "Catalog":
        """Return a catalog with more features; a new group takes its phrase from its first feature.

        Args:
            added: features to add.

        Raises:
            OptionError: a feature of that name exists already.
        """
        features, groups = dict(self.features), dict(self.groups)
        for feature in added:
            if feature.name in features:
                raise OptionError(
                    f"there is a feature {feature.name!r} already; expected a name that is not in the catalog: give "
                    "the feature another name"
                )
            features[feature.name] = feature
            groups.setdefault(feature.group, Group(feature.group, ADDED, feature.sentence))
        return Catalog(features, groups)


CATALOG = Catalog(FEATURES, GROUPS)


@dataclass(frozen=True, kw_only=True, eq=False)
class AnnotatedTokens:
    """The tokens of an input, with their words and annotation.

    Attributes:
        tokens: the text of each token without the tokenizer's marks; empty for special tokens, and for a piece of a
            character that a later token completes.
        ids: token ids, `[token]`.
        special: mask of special tokens, including the first token of the input, `[token]`.
        word_ids: index of each token's word, -1 for special tokens, `[token]`.
        words: the text of each word in lower case, pieces joined, by its index.
        tags: universal part of speech of each word; None without a treebank.
        heads: index of the word that each word depends on, -1 for the root, `[word]`; None without a treebank.
        relations: relation of each word to its head; None without a treebank.
        entities: number of the entity of each word, -1 for none, `[word]`; None without coreference.
    """

    tokens: tuple[str, ...]
    ids: Integers
    special: Flags
    word_ids: Integers
    words: dict[int, str]
    tags: tuple[str, ...] | None
    heads: Integers | None
    relations: tuple[str, ...] | None
    entities: Integers | None

    def __len__(self) -> int:
        return len(self.tokens)


def catalog_with(features: Iterable[TextFeature]) -> Catalog:
    """Return the catalog with a user's features.

    Raises:
        OptionError: a feature of that name exists already.
    """
    added = (
        pair_feature(each.name, each.group or each.name, each.sentence, partial(_values_of, each), each.opposite)
        for each in features
    )
    return CATALOG.plus(list(added))


def _values_of(feature: TextFeature, rows: RowContext) -> Doubles:
    """Return the values that a user's function returns, `[key]`, or their rows in the context, `[row, key]`.

    Raises:
        OptionError: the values are not a finite number for each key, or for each pair.
    """
    keys, annotation, n, name = rows.keys, rows.annotation, len(rows.keys), feature.name
    values = feature.compute(
        AnnotatedTokens(
            tokens=tuple(rows.texts_of(keys)), ids=keys.ids, special=keys.are(KeyClass.CLS, KeyClass.SEP),
            word_ids=keys.word_ids, words=rows.words, tags=annotation.tags, heads=annotation.heads,
            relations=annotation.relations, entities=annotation.entities,
        )
    )  # fmt: skip
    numbers, wrong = np.zeros(n), ""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        wrong = f"a {type(values).__name__} that holds other things than numbers"
    if numbers.shape not in ((n,), (n, n)):
        wrong = f"{' x '.join(map(str, numbers.shape)) or '1'} numbers for a text of {n} tokens"
    elif not np.isfinite(numbers).all():
        wrong = "a number that is not finite"
    if wrong:
        raise OptionError(
            f"feature {name!r} returned {wrong}; expected {n} finite numbers, one a key, or {n} x {n}, [query, key]: "
            "give 0 where a token has no number"
        )
    return numbers if numbers.ndim == 1 else numbers[rows.rows]
