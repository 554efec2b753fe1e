"""The sources of a single score in a terminal: a sentence, and a bar for each source of the key and of the query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.analyses.why.cell import MOST_SOURCES, ScoreSources, largest_sources, score_sources
from headscope.attention.head_id import HeadId
from headscope.errors import OptionError
from headscope.present.page_tables import Grid
from headscope.present.words import plain

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
                for source, nats in largest_sources(found, side, most=MOST_SOURCES)
            ],
            words=("part",),
        )


def text_sources(text: Any, *, head: str, query: str, key: str) -> ScoreSources:
    """Return the sources of a score of a text, with the arguments of `bars`."""
    if not head or not query or not key:
        raise OptionError("a single score needs a head, a query and a key; give --head 2-8 --query WORD --key WORD")
    reader = text.reader
    kinds = [part.kind for part in reader.anatomy.layout]
    try:
        named = HeadId.parse(head, kind=kinds[0])
    except ValueError as error:
        raise OptionError(f"--head: {error}") from error
    if named.kind not in kinds:
        raise OptionError(f"--head: {reader.loaded.name} has no {named.kind} attention, only {' and '.join(kinds)}")
    queries, keys = text.axes(named.kind)
    return score_sources(
        reader.model,
        reader.anatomy,
        reader.encoder.vocabulary,
        text.segment,
        head=named,
        query=position_of(query, queries, "query"),
        key=position_of(key, keys, "key"),
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
