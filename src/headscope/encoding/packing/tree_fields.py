"""The tree of a segment, read from its fields, where packers of treebanks or saved maps put it."""

import re
from collections.abc import Mapping
from typing import Any

from headscope.errors import InputError

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # half a character, which no table can hold


def arcs_of_fields(fields: Mapping[str, Any], words: int, origin: str) -> tuple[list[int], list[str]]:
    """Return heads and relations from a segment's fields, in the form of treebanks and the original's JSON.

    Raises:
        InputError: there are none, not one per word, or they are not whole numbers and names.
    """
    heads, relations = fields.get("heads"), fields.get("relns")
    if heads is None or relations is None:
        raise InputError(
            f"{origin} has no tree: expected the fields heads and relns beside its words; give a treebank, or maps "
            "that were extracted from one"
        )
    if not _whole_numbers(heads) or not _names(relations):
        raise InputError(
            f"{origin}: expected heads as a list of whole numbers, and relns as a list of names; give a treebank, or "
            "maps that were extracted from one"
        )
    if not len(heads) == len(relations) >= words:
        raise InputError(
            f"{origin}: expected a head and a relation for each of its {words} words, found {len(heads)} heads and "
            f"{len(relations)} relations"
        )
    return list(heads[:words]), list(relations[:words])


def tags_of_fields(fields: Mapping[str, Any], words: int, origin: str) -> list[str]:
    """Return the parts of speech from a segment's fields; empty if there are none.

    Raises:
        InputError: there is not one per word, or they are not names.
    """
    tags = fields.get("tags")
    if tags is None:
        return []
    if not _names(tags) or len(tags) < words:
        came = f"{len(tags)}" if _names(tags) else "something else"
        raise InputError(
            f"{origin}: expected tags as a list of names, one for each of its {words} words, found {came}; give a "
            "treebank, or maps that were extracted from one"
        )
    return list(tags[:words])


def _whole_numbers(values: Any) -> bool:
    """Return True for numbers of words: -1 or 0 for the root, and none that is too large for an array."""
    return isinstance(values, list | tuple) and all(
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 31 for value in values
    )


def _names(values: Any) -> bool:
    return isinstance(values, list | tuple) and all(
        isinstance(value, str) and (value.isascii() or not _LONE_SURROGATE.search(value)) for value in values
    )
