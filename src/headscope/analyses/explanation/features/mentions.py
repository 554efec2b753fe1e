"""What coreference knows: other mentions of the row's entity, and the head words of mentions."""

import numpy as np

from headscope.analyses.explanation.feature import Feature, Floats, Group, Need
from headscope.analyses.explanation.row_context import RowContext

_MENTIONS: frozenset[Need] = frozenset({"same_axis", "mentions"})
GROUPS = (
    Group(
        name="entity",
        family="coreference",
        label="same entity",
        phrase="other mentions of the same entity",
        by_feature=True,
    ),
    Group(name="mention_head", family="coreference", label="heads of mentions", phrase="head words of mentions"),
)


def _entity(rows: RowContext, *, side: int) -> Floats:
    """Return which keys before (-1) or after (1) the row are in a mention of its entity, in another word."""
    assert rows.annotation.entities is not None
    numbers = rows.of_words(rows.annotation.entities + 1)
    same = (numbers[None, :] == numbers[rows.rows, None]) & (numbers[None, :] > 0)
    return np.asarray(same & (np.sign(rows.words_away) == side), dtype=np.float64)


def _mention_head(rows: RowContext) -> Floats:
    assert rows.annotation.heads_mention is not None
    return rows.of_keys(rows.of_words(rows.annotation.heads_mention))


FEATURES = (
    Feature(
        name="earlier_mention",
        group="entity",
        label="earlier mentions of the same entity",
        sentence="earlier mentions of the same entity",
        compute=lambda rows: _entity(rows, side=-1),
        needs=_MENTIONS,
    ),
    Feature(
        name="later_mention",
        group="entity",
        label="later mentions of the same entity",
        sentence="later mentions of the same entity",
        compute=lambda rows: _entity(rows, side=1),
        needs=_MENTIONS,
    ),
    Feature(
        name="mention_head",
        group="mention_head",
        label="head words of mentions",
        sentence="head words of mentions",
        compute=_mention_head,
        needs=_MENTIONS,
    ),
)
