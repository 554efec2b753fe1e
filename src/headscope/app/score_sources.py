"""The sources of a single score of a text that the user gives: in Python, and as bars in a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headscope.attention.head_id import HeadId
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError
from headscope.present.page_tables import Grid
from headscope.present.words import plain

if TYPE_CHECKING:
    from headscope.analyses.why.cell import ScoreSources
    from headscope.views.snapshot.attention_snapshot import Axis

MOST_LINES = 12
"""Number of sources of a side that a terminal shows; the rest is summed."""
_WIDTH = 30  # characters of the longest bar


def score_sources(
    text: str, *, head: str, query: str, key: str, model: Any = None, text_b: str | None = None, **loading: Any
) -> ScoreSources:
    """Implement `hs.score_sources`, with options that were checked.

    Raises:
        HeadscopeError: the model, the text, the head or a token is invalid.
    """
    return _decomposed(text, head=head, query=query, key=key, model=model, text_b=text_b, **loading)[0]


def bars(text: str, **options: Any) -> Iterator[Grid | str]:
    """Yield the sources of a score as lines and bars for a terminal, with the arguments of `score_sources`."""
    found, query, key = _decomposed(text, **options)
    yield (
        f"Head {found.head} gives {100 * found.weight:.1f}% of the attention of {query} to {key}; the score is "
        f"{found.above_mean:+.2f} nats above the mean of its row."
    )
    largest = float(found.sources["nats"].abs().max())
    for side, name in (("key", key), ("query", query)):
        rows = found.sources[found.sources["side"] == side]
        shown = list(zip(rows["source"].tolist(), rows["nats"].tolist(), strict=True))[:MOST_LINES]
        if len(rows) > MOST_LINES:
            shown.append((f"{len(rows) - MOST_LINES} others", float(rows["nats"].iloc[MOST_LINES:].sum())))
        yield ""
        yield f"Sources of {name}, on the {side} side:"
        yield Grid(
            ["source", "nats", "part"],
            [
                [source, f"{nats:+.3f}", ("#" if nats > 0 else "-") * max(1, round(_WIDTH * abs(nats) / largest))]
                for source, nats in shown
            ],
            words=("part",),
        )


def _decomposed(
    text: str,
    *,
    head: str | None,
    query: str | None,
    key: str | None,
    model: Any = None,
    text_b: str | None = None,
    **loading: Any,
) -> tuple[ScoreSources, str, str]:
    """Return the sources of a score, and the names of the query and the key."""
    from headscope.analyses.why.cell import score_sources as decompose
    from headscope.views.snapshot.model_input import ReadingRequest, read
    from headscope.views.snapshot.snapshot_of import reader_of

    if not head or not query or not key:
        raise OptionError("a single score needs a head, a query and a key; give --head 2-8 --query WORD --key WORD")
    reader = reader_of(model, **{name: value for name, value in loading.items() if name in LOADING})
    kinds = [part.kind for part in reader.anatomy.layout]
    try:
        named = HeadId.parse(head, kind=kinds[0])
    except ValueError as error:
        raise OptionError(f"--head: {error}") from error
    if named.kind not in kinds:
        raise OptionError(f"--head: {reader.loaded.name} has no {named.kind} attention, only {' and '.join(kinds)}")
    reading = read(
        reader.loaded,
        reader.encoder,
        reader.anatomy,
        ReadingRequest(text=text, text_b=text_b),
        target_encoder=reader.target_encoder,
    )
    queries, keys = reading.sides(named.kind)
    at_query = position_of(query, queries.axis, "query")
    at_key = position_of(key, (keys or queries).axis, "key")
    found = decompose(
        reader.model,
        reader.anatomy,
        reader.encoder.vocabulary,
        reading.source.segment,
        head=named,
        query=at_query,
        key=at_key,
    )
    return found, _name(at_query, queries.axis), _name(at_key, (keys or queries).axis)


def position_of(wanted: str, axis: Axis, side: str) -> int:
    """Return the 0-based position of a token, from its text, the word that it ends, or its position from 1.

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
    if len(at) == 1:
        return at[0]
    if not at:
        listed = " ".join(f"{number}:{plain(token)}" for number, token in enumerate(tokens, start=1))
        raise OptionError(f"--{side}: the text has no token {wanted!r}; its tokens are {listed}")
    positions = ", ".join(str(index + 1) for index in at)
    raise OptionError(f"--{side}: {wanted!r} is at positions {positions}; give one of these numbers")


def _name(position: int, axis: Axis) -> str:
    return f"{plain(axis.tokens[position].strip())!r} (token {position + 1})"
