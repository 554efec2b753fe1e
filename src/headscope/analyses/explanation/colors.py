"""The color of each group of features; heads are drawn in at most nine colors."""

from collections.abc import Mapping

from headscope.analyses.explanation.catalog import GROUPS
from headscope.analyses.explanation.feature import ATTENDING
from headscope.report_kit.head_looks import BROAD, LOOKS, UNEXPLAINED
from headscope.report_kit.words import Words

WHAT_ATTENDS = "broad"
ADDED = "added"
_OF_FAMILY: Mapping[str, str] = {
    "position": "position",
    "class of key": "period_comma",
    "copies": "copies",
    "word structure": "word",
    "content": "content",
    "words": "content",
    ATTENDING: WHAT_ATTENDS,
    "treebank": "syntax",
    "coreference": "coreference",
}
_OF_GROUP: Mapping[str, str] = {
    "previous": "previous",
    "next": "next",
    "current": "copies",
    "cls": "cls",
    "sink_logit": "cls",
    "induction": "after_copy",
}
_LABELS: Mapping[str, str] = {
    "cls": "{cls}",
    "syntax": "syntax",
    "coreference": "coreference",
    WHAT_ATTENDS: "varies with the attending token",
}
COLORS = (*(color for color in LOOKS if color not in (BROAD, UNEXPLAINED)), "syntax", "coreference", WHAT_ATTENDS)
"""Names in the palette, in the order in which a bar is stacked."""


def color_of(group: str) -> str:
    """Return the name of a group's color in the palette; all groups that a user adds share one color."""
    if group not in GROUPS:
        return ADDED
    return _OF_GROUP.get(group) or _OF_FAMILY[GROUPS[group].family]


def label_of(color: str, words: Words) -> str:
    """Return the label of a color's groups, with the model's names of special tokens."""
    return words.fill(_LABELS.get(color) or LOOKS[color].label)
