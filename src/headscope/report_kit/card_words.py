"""Words of rows on the atlas's cards: each once for all cards of a kind, rows naming them by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from headscope.figures.labels import label
from headscope.visible import titled

_GOES_ON = "##"


class CardWords:
    """The words of some rows, numbered as they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, token: Any) -> int:
        """Return a token's number, from 0."""
        return self._numbers.setdefault(str(token), len(self._numbers))

    def row(self, tokens: Iterable[Any], joined: Iterable[Any] | None = None) -> list[int]:
        """Return the numbers of tokens one after another; `~number` of one that goes on with the word before it.

        Args:
            tokens: of the row.
            joined: the places of those that go on, as a table has them; None for a table of before they were told.
                Those that say so by a `##` of their own keep their number.
        """
        goes_on = set() if joined is None else {int(position) for position in joined}
        return [
            ~self.number(token) if position in goes_on and not str(token).startswith(_GOES_ON) else self.number(token)
            for position, token in enumerate(tokens)
        ]

    def attending(self, row: Mapping[Any, Any]) -> list[Any]:
        """Return a row as the card has it, of a table of rows with the tokens around them.

        The weight of its strongest key, that key's word (-1 for a learned sink), how many tokens the key is behind it
        (None across attention and for a sink), which of its words attends, and its words as `row` numbers them.
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
        """Return every word by its number: as it is drawn, and in full where that differs."""
        return [list(dict.fromkeys((label(word), titled(word)))) for word in self._numbers]
