"""Words of rows on the atlas's cards, stored once for all cards of a kind; rows refer to them by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from headscope.figures.style import label
from headscope.visible import titled

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
