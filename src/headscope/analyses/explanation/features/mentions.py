"""Features from coreference: other mentions of the row's entity, and the head words of mentions."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import Feature, Group, Need
from headscope.analyses.explanation.row_context import RowContext

_MENTIONS: frozenset[Need] = frozenset({"same_axis", "mentions"})
GROUPS = (
    Group("entity", "coreference", "other mentions of the same entity", named_features=1),
    Group("mention_head", "coreference", "head words of mentions"),
)


def _entity(rows: RowContext, *, side: int) -> NDArray[np.bool_]:
    """Return a mask of the keys before (-1) or after (1) the row in a mention of its entity, in another word."""
    assert rows.annotation.entities is not None
    numbers = rows.of_words(rows.annotation.entities + 1)
    same = (numbers[None, :] == numbers[rows.rows, None]) & (numbers[None, :] > 0)
    return np.asarray(same & (np.sign(rows.words_away) == side))


def _mention_head(rows: RowContext) -> NDArray[np.bool_]:
    assert rows.annotation.heads_mention is not None
    return rows.of_words(rows.annotation.heads_mention)


_EARLIER, _LATER = partial(_entity, side=-1), partial(_entity, side=1)
FEATURES = (
    Feature("earlier_mention", "entity", "earlier mentions of the same entity", _EARLIER, needs=_MENTIONS),
    Feature("later_mention", "entity", "later mentions of the same entity", _LATER, needs=_MENTIONS),
    Feature("mention_head", "mention_head", "head words of mentions", _mention_head, needs=_MENTIONS),
)
