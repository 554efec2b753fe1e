"""Features that a user adds: the argument of their functions, and the conversion of results to catalog features."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.catalog import CATALOG, Catalog
from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats
from headscope.analyses.explanation.row_context import RowContext
from headscope.declarations.user_functions import TextFeature
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import OptionError


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
    ids: NDArray[np.int64]
    special: NDArray[np.bool_]
    word_ids: NDArray[np.int64]
    words: dict[int, str]
    tags: tuple[str, ...] | None
    heads: NDArray[np.int64] | None
    relations: tuple[str, ...] | None
    entities: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.tokens)


def catalog_with(features: Iterable[TextFeature]) -> Catalog:
    """Return the catalog with a user's features.

    Raises:
        OptionError: a feature of that name exists already.
    """
    return CATALOG.plus([_feature_of(each) for each in features])


def _feature_of(feature: TextFeature) -> Feature:
    def values(rows: RowContext) -> Floats:
        return _rows_of(feature.name, feature.compute(_tokens_of(rows)), rows)

    return Feature(
        feature.name,
        feature.group or feature.name,
        feature.sentence,
        values,
        opposite=feature.opposite,
        needs=SAME_AXIS,
    )


def _tokens_of(rows: RowContext) -> AnnotatedTokens:
    keys, annotation = rows.keys, rows.annotation
    return AnnotatedTokens(
        tokens=tuple(rows.texts_of(keys)),
        ids=keys.ids,
        special=keys.are(KeyClass.CLS, KeyClass.SEP),
        word_ids=keys.word_ids,
        words=rows.words,
        tags=annotation.tags,
        heads=annotation.heads,
        relations=annotation.relations,
        entities=annotation.entities,
    )


def _rows_of(name: str, values: object, rows: RowContext) -> Floats:
    """Return the values that a user's function returned, `[key]`, or their rows in the context, `[row, key]`.

    Raises:
        OptionError: the values are not a finite number for each key, or for each pair.
    """
    n = len(rows.keys)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(
            f"feature {name!r} returned a {type(values).__name__} that holds other things than numbers; expected "
            f"{n} numbers, one a token, or {n} x {n}"
        ) from None
    if numbers.shape not in ((n,), (n, n)):
        shape = " x ".join(map(str, numbers.shape)) or "1"
        raise OptionError(
            f"feature {name!r} returned {shape} numbers for a text of {n} tokens; expected {n}, one a key, or "
            f"{n} x {n}, [query, key]"
        )
    if not np.isfinite(numbers).all():
        raise OptionError(
            f"feature {name!r} returned a number that is not finite; expected finite numbers: leave out what a token "
            "has not as 0"
        )
    return numbers if numbers.ndim == 1 else numbers[rows.rows]
