"""Names in the report and on cards: statistics, roles, heads and relations, so that text and tables agree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import pandas as pd

from headscope.present.figures.style import label, shorten, visible
from headscope.statistics.roles import ROLES, SHOWN
from headscope.statistics.statistic import Special
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.visible import capital as capital
from headscope.visible import count as count
from headscope.visible import titled


@dataclass(frozen=True)
class Words:
    """The names of statistics and roles, for a model whose special tokens may have any names."""

    statistics: Mapping[str, str]
    roles: Mapping[str, str]
    cls: str
    sep: str

    def fill(self, words: str) -> str:
        """Insert the tokens' names into a text of the catalogs."""
        return Special(cls=self.cls, sep=self.sep).fill(words)


def words_for(manifest: Mapping[str, Any]) -> Words:
    """Build the names from the special tokens in the manifest; `[CLS]` and `[SEP]` if it has none."""
    special = manifest["signature"]["model"].get("special", {"cls": "[CLS]", "sep": "[SEP]"})
    cls = special.get("cls") or "the first token"
    sep = special.get("sep") or "the separator"
    tokens = Special(cls=cls, sep=sep)
    return Words(
        statistics={row.name: tokens.fill(row.label) for row in STATISTICS.values()},
        roles={name: tokens.fill(ROLES[name].called) for name in SHOWN},
        cls=cls,
        sep=sep,
    )


def join(parts: list[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def join_first(parts: list[str], *, most: int) -> str:
    """Return `a, b and c`, or the first `most` and the number of the others: `a, b, c and 5 more`."""
    more = len(parts) - most
    return join([*parts[:most], f"{more:,} more"] if more > 0 else parts)


def either(parts: list[str]) -> str:
    """Return `a`, `a or b` or `a, b or c`, for negations and questions."""
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def layer_list(layers: list[int], *, most: int | None = None) -> str:
    """Return `layer 3`, `layers 2 to 5` or `layers 2, 3 and 6`; with `most`, `layers 2, 3, 6 and 2 more`."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if len(layers) > 2 and layers == list(range(layers[0], layers[-1] + 1)):
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {join_first([str(layer) for layer in layers], most=len(layers) if most is None else most)}"


def plain(value: object) -> str:
    """Return text of the run for display: control characters visible, and limited in length."""
    written = str(value)
    return shorten(visible(written[:2000]), 600) if written else ""


_GOES_ON = "##"


class CardWords:
    """The words of several rows, numbered in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, token: Any) -> int:
        """Return a token's number, from 0."""
        return self._numbers.setdefault(str(token), len(self._numbers))

    def row(self, tokens: Iterable[Any], joined: Iterable[Any] | None = None) -> list[int]:
        """Return the numbers of a row's tokens; `~number` for a token that continues the word before it.

        Args:
            tokens: tokens of the row.
            joined: positions of the continuing tokens, from the table; None for older tables without them. Tokens that
                are marked by their own `##` keep their number.
        """
        goes_on = set() if joined is None else {int(position) for position in joined}
        return [
            ~self.number(token) if position in goes_on and not str(token).startswith(_GOES_ON) else self.number(token)
            for position, token in enumerate(tokens)
        ]

    def attending(self, row: Mapping[Any, Any]) -> list[Any]:
        """Return a row of a table with the tokens around it, in the form of the card.

        The fields are the weight of its strongest key, the key's word (-1 for a learned sink), its distance behind the
        query in tokens (None for cross attention and for a sink), the index of the query among the words, and the words
        as numbered by `row`.
        """
        on_token = not pd.isna(row["key"])
        return [
            round(float(row["weight"]), 3),
            self.number(row["key_token"]) if on_token else -1,
            int(row["row"]) - int(row["key"]) if on_token and row["kind"] != "cross" else None,
            int(row["row"]) - int(row["start"]),
            self.row(row["tokens"], row.get("continues_word")),
        ]

    def drawn(self) -> list[list[str]]:
        """Return every word by its number: as it is drawn, and in full if that differs."""
        return [list(dict.fromkeys((label(word), titled(word)))) for word in self._numbers]


COREFERENCE = "coreference"
OVERALL = ("all", "all_but_punct_root")
LONGEST_RELATION = 22
_FILE = resources.files("headscope").joinpath("data/relations.json")
RELATIONS: Mapping[str, Mapping[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
"""Relations by label: the dependent and its head word, as used after "of a" and "the", and further search words."""
BASIC_RELATIONS = tuple(relation for relation in RELATIONS if ":" not in relation)
"""Every relation with a name in words, without sub-types."""
DIRECTIONS = {
    "dependent->head": "dependent → head word",
    "head->dependent": "head word → dependent",
    "both": "both ways, added",
}


def terms(relation: str) -> tuple[str, str] | None:
    """Return the words for a relation's dependent and head word; a sub-type without its own uses those of its base."""
    known = RELATIONS.get(relation) or RELATIONS.get(relation.split(":", 1)[0])
    return (known["dependent"], known["head"]) if known else None


def short(relation: str) -> str:
    """Return a relation's label for figures; the two rows over all relations are in words."""
    known = {"all": "all words", "all_but_punct_root": "all but punctuation", COREFERENCE: "coreference"}
    return known.get(relation) or label(relation, LONGEST_RELATION)


def gloss(relation: str) -> str:
    """Return a few words on a relation for the table, or nothing if its label is unknown."""
    overall = {"all": "root always wrong", "all_but_punct_root": "and without the root"}
    known = terms(relation)
    return overall.get(relation) or (known[0] if known else "")


def found_words(relation: str) -> str:
    """Return a phrase for the found word, to follow "finds": `the verb of a direct object (obj)`."""
    known = terms(relation)
    if known is None:
        return f"the head word of a word marked {short(relation)}"
    return f"the {known[1]} of {article(known[0])} {known[0]} ({short(relation)})"


def dependents(relation: str) -> str:
    """Return a phrase for a relation's dependents: `words marked obj (direct object)`."""
    known = terms(relation)
    return f"words marked {short(relation)}" + (f" ({known[0]})" if known else "")


def attending(relation: str, direction: str) -> str:
    """Return a phrase for the attending words of a relation: dependents, their head words, or both."""
    marked = dependents(relation)
    head_words = {"head->dependent": f"the head words of {marked}", "both": f"{marked} and their head words"}
    return head_words.get(direction, marked)


def article(noun: str) -> str:
    """Return `a` or `an`."""
    return "an" if noun[:1] in "aeiou" else "a"
