"""Why a token attends to another: the sources of a single score above the mean score of its row, and their bars in a
terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch

from headscope.analyses.why.parts import label_of
from headscope.analyses.why.pulls import SIDES, accounts_of
from headscope.analyses.why.source import PullSource
from headscope.attention.head_id import HeadId, check_head
from headscope.attention.interventions.intervention import NoTiles
from headscope.attention.model.tap import AttentionCall
from headscope.attention.tile import AttentionTile
from headscope.errors import OptionError
from headscope.models.anatomy import CallSite
from headscope.present.page_tables import Grid
from headscope.present.words import plain


@dataclass(eq=False, repr=False)
class ScoreSource(PullSource):
    """Run a model over a segment, and decompose one score.

    Args:
        model, anatomy, vocabulary, batches: as `PullSource` takes them.
        head: the head.
        query, key: 0-based positions of the tokens.

    Attributes:
        weight: attention weight.
        above_mean: score above the mean score of the row's visible keys, nats.
        sources: a row for each side and source, the largest part first: `side`, `source` and `nats`; on each side they
            sum to `above_mean`.
    """

    _: KW_ONLY
    head: HeadId
    query: int
    key: int
    weight: float = field(init=False)
    above_mean: float = field(init=False)
    sources: pd.DataFrame = field(init=False)

    def tile_of(self, tile: AttentionTile, call: AttentionCall, site: CallSite) -> AttentionTile:
        """Decompose the score if the tile is of the head's layer."""
        layer, head = self.head.position
        if not self.opened:
            return super().tile_of(tile, call, site)
        if (site.kind, site.layer) != (self.head.kind, layer):
            return tile
        weights = tile.weights[0]
        for position, side, number in zip((self.query, self.key), SIDES, weights.shape[1:], strict=True):
            if not 0 <= position < number:
                raise OptionError(f"there is no {side} token {position + 1}; expected 1 to {number}")
        visible = tile.visibility.visible[0, self.query]
        if not visible[self.key]:
            raise OptionError(
                f"token {self.query + 1} does not see token {self.key + 1} in head {self.head}; choose one of the "
                f"{int(visible.sum())} tokens that it sees, as {int(visible.nonzero()[-1]) + 1}"
            )
        tilt = torch.zeros_like(weights)[None]
        tilt[0, head, self.query, self.key] = 1.0
        tilt[0, head, self.query] -= visible / visible.sum()
        with torch.enable_grad():
            accounts = accounts_of(self.scores(call, site), tilt, self.index)[head, 0]
        names = [label_of(source) for source in self.index]
        parts = [
            pd.DataFrame({"side": side, "source": names, "nats": values.numpy()})
            for side, values in zip(SIDES, accounts, strict=True)
        ]
        table = pd.concat([part[part["nats"] != 0] for part in parts], ignore_index=True)
        order = np.lexsort((-table["nats"].abs(), table["side"].map(SIDES.index)))
        self.weight, self.above_mean = float(weights[head, self.query, self.key]), float(accounts[0].sum())
        self.sources = table.iloc[order].reset_index(drop=True)
        return tile


def score_sources(text: Any, *, head: HeadId, query: int, key: int) -> ScoreSource:
    """Decompose the score of a query and a key of one head, above the mean score of the row, by source.

    The part of a source d of the key is `q_i . (k_j^d - mean_j k_j^d)` times the factor of the scores; that of a source
    c of the query `q_i^c . (k_j - mean_j k_j)`. A position bias is a source on both sides, above its mean.

    Args:
        text: text as a model read it: `reader` and `segment`.
        head: the head.
        query, key: 0-based positions of the tokens.

    Raises:
        ModelError: the sources of the model's scores are not known.
        OptionError: the model has no such head, or the query does not see the key.
    """
    reader = text.reader
    check_head(head, reader.anatomy.layout)
    source = ScoreSource(reader.model, reader.anatomy, reader.encoder.vocabulary, (), head=head, query=query, key=key)
    source.over([text.segment], source.begun(NoTiles()))
    return source


MOST_SOURCES = 12
"""Number of sources of a side that a page shows; the rest is summed."""


def score_json(text: Any, *, head: HeadId, query: int, key: int) -> dict[str, Any]:
    """Decompose a score of a text, for a page.

    Args:
        text, head, query, key: as for `score_sources`.

    Returns:
        `weight`, `above_mean` (nats), and for each side in `sides` the sources, as a name and nats, the largest first.
    """
    found = score_sources(text, head=head, query=query, key=key)
    return {
        "weight": found.weight,
        "above_mean": found.above_mean,
        "sides": {side: largest_sources(found, side) for side in SIDES},
    }


def largest_sources(found: ScoreSource, side: str) -> list[tuple[str, float]]:
    """Return the names and nats of the largest sources of a side, and the sum of the others as a last one."""
    rows = found.sources[found.sources["side"] == side]
    listed = list(zip(rows["source"].tolist(), rows["nats"].tolist(), strict=True))
    if len(listed) <= MOST_SOURCES:
        return listed
    others = [nats for _, nats in listed[MOST_SOURCES:]]
    return [*listed[:MOST_SOURCES], (f"{len(others)} others", sum(others))]


_WIDTH = 30  # characters of the longest bar


def bars(text: Any, *, head: str = "", query: str = "", key: str = "", **_: Any) -> Iterator[Grid | str]:
    """Yield the sources of a score as lines and bars.

    Args:
        text: text as a model read it: `reader`, `segment` and `axes`.
        head: the head, as `2-8`.
        query, key: the tokens; see `position_of`.

    Raises:
        OptionError: an option is missing, or the head or a token does not exist.
    """
    found = text_sources(text, head=head, query=query, key=key)
    queries, keys = text.axes(found.head.kind)
    query, key = _name(found.query, queries), _name(found.key, keys)
    yield (
        f"Head {found.head} gives {100 * found.weight:.1f}% of the attention of {query} to {key}; the score is "
        f"{abs(found.above_mean):.2f} nats {'above' if found.above_mean >= 0 else 'below'} the mean of its row."
    )
    largest = float(found.sources["nats"].abs().max())
    for side, name in (("key", key), ("query", query)):
        yield ""
        yield f"Sources of {name}, on the {side} side:"
        yield Grid(
            ["source", "nats", "part"],
            [
                [source, f"{nats:+.3f}", ("#" if nats > 0 else "-") * max(1, round(_WIDTH * abs(nats) / largest))]
                for source, nats in largest_sources(found, side)
            ],
            words=("part",),
        )


def text_sources(text: Any, *, head: str, query: str, key: str) -> ScoreSource:
    """Return the sources of a score of a text, with the arguments of `bars`."""
    if not head or not query or not key:
        raise OptionError("a single score needs a head, a query and a key; give --head 2-8 --query WORD --key WORD")
    kinds = [part.kind for part in text.reader.anatomy.layout]
    try:
        named = HeadId.parse(head, kind=kinds[0])
    except ValueError as error:
        raise OptionError(f"--head: {error}") from error
    if named.kind not in kinds:
        raise OptionError(
            f"--head: {text.reader.loaded.name} has no {named.kind} attention, only {' and '.join(kinds)}"
        )
    queries, keys = text.axes(named.kind)
    return score_sources(
        text, head=named, query=position_of(query, queries, "query"), key=position_of(key, keys, "key")
    )


def position_of(wanted: str, axis: Any, side: str) -> int:
    """Return the 0-based position of a token, from its text, the word that it ends, or its position from 1.

    Args:
        wanted: text or position.
        axis: the tokens, with `tokens`, `words` and `word_text`.
        side: `query` or `key`.

    Raises:
        OptionError: no token or several match; the message lists the positions.
    """
    tokens = [token.strip() for token in axis.tokens]
    at = [index for index, token in enumerate(tokens) if token == wanted.strip()]
    if not at and axis.words:
        ends = {word: index for index, word in enumerate(axis.words) if word is not None}
        at = [index for word, index in ends.items() if axis.word_text[word] == wanted.strip()]
    if not at and wanted.isdecimal() and 1 <= int(wanted) <= len(tokens):
        at = [int(wanted) - 1]
    if wanted.isdecimal() and int(wanted) - 1 in at:  # of several equal numbers, the one at this position
        return int(wanted) - 1
    if len(at) == 1:
        return at[0]
    if not at:
        listed = " ".join(f"{number}:{plain(token)}" for number, token in enumerate(tokens, start=1))
        raise OptionError(f"--{side}: the text has no token {wanted!r}; its tokens are {listed}")
    positions = ", ".join(str(index + 1) for index in at)
    raise OptionError(f"--{side}: {wanted!r} is at positions {positions}; give one of these numbers")


def _name(position: int, axis: Any) -> str:
    return f"{plain(axis.tokens[position].strip())!r} (token {position + 1})"
