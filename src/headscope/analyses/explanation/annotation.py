"""The annotation of an input's words: parts of speech, trees, and mentions of entities."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.coref.mentions import FIELD, Mentions
from headscope.corpora.trees.universal_tags import universal_tag
from headscope.encoding.packing.sentence_packing import arcs_of_fields, tags_of_fields

_OF_TREES = ("heads", "relns", "tags")
_OF_MENTIONS = ("starts", "ends", "heads", "entities")
CLAUSES = ("root", "csubj", "ccomp", "xcomp", "advcl", "acl", "parataxis", "rcmod", "pcomp", "partmod")
"""Relations of words that head a clause of their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Annotation:
    """The annotation of an input's words; a field is None where the corpus lacks it.

    Attributes:
        tags: universal part of speech, empty where it is not known, `[word]`.
        heads: index of the word's head, -1 for the root and for heads outside the input, `[word]`.
        relations: relation to the head, without its sub-type, `[word]`.
        entities: number of the entity of the shortest mention that the word is in, -1 for none, `[word]`.
        heads_mention: True for the head word of a mention, `[word]`.
    """

    tags: tuple[str, ...] | None = None
    heads: NDArray[np.int64] | None = None
    relations: tuple[str, ...] | None = None
    entities: NDArray[np.int64] | None = None
    heads_mention: NDArray[np.bool_] | None = None

    @cached_property
    def clauses(self) -> NDArray[np.int64]:
        """The head word of each word's clause, `[word]`; -1 where there is no tree, or where its arcs form a cycle."""
        if self.heads is None or self.relations is None:
            return np.zeros(0, dtype=np.int64)
        clauses = np.full(len(self.heads), -1)
        for word in range(len(clauses)):
            at = word
            for _ in range(len(clauses)):
                if at < 0 or self.relations[at] in CLAUSES:
                    break
                at = int(self.heads[at])
            clauses[word] = at
        return clauses


def kept_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotation fields of an input in a form that JSON can hold.

    Args:
        fields: fields of the input, as the packers of treebanks and coreference corpora store them.
    """
    kept: dict[str, Any] = {name: list(fields[name]) for name in _OF_TREES if name in fields}
    if isinstance(mentions := fields.get(FIELD), Mentions):
        kept[FIELD] = {name: getattr(mentions, name).tolist() for name in _OF_MENTIONS}
    return kept


def annotation_of(fields: Mapping[str, Any], words: int, *, origin: str) -> Annotation:
    """Read the annotation from the kept fields of an input.

    Args:
        fields: fields returned by `kept_fields`.
        words: number of words.
        origin: name of the input in error messages.

    Raises:
        InputError: the number of annotations differs from the number of words.
    """
    tags = tags_of_fields(fields, words, origin)
    heads = relations = entities = heads_mention = None
    if "heads" in fields:
        governors, labels = arcs_of_fields(fields, words, origin)
        heads = np.array(governors, dtype=np.int64) - 1
        heads[heads >= words] = -1
        relations = tuple(label.partition(":")[0] for label in labels)
    if FIELD in fields:
        starts, ends, mention_heads, numbers = (np.array(fields[FIELD][name], dtype=np.int64) for name in _OF_MENTIONS)
        entities, heads_mention = np.full(words, -1, dtype=np.int64), np.zeros(words, dtype=bool)
        # Shorter mentions overwrite longer ones.
        for mention in np.argsort(starts - ends, kind="stable"):
            entities[starts[mention] : ends[mention]] = numbers[mention]
        heads_mention[mention_heads[mention_heads < words]] = True
    return Annotation(
        tags=tuple(map(universal_tag, tags)) if tags else None,
        heads=heads,
        relations=relations,
        entities=entities,
        heads_mention=heads_mention,
    )
