"""The color of each group of features: that of the role which the group defines, else that of its family."""

from collections.abc import Mapping

from headscope.analyses.explanation.catalog import GROUPS
from headscope.analyses.explanation.feature import ATTENDING
from headscope.palette import palette
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
_OF_GROUP: Mapping[str, str] = {"sink_logit": "cls"}
_LABELS: Mapping[str, str] = {
    "period_comma": "punctuation",
    "word": "words and pieces",
    "content": "particular tokens",
    WHAT_ATTENDS: "what attends",
    "syntax": "syntax",
}
COLORS = (
    *("previous", "next", "position", "cls", "sep", "period_comma", "copies", "word", "content"),
    *("syntax", "coreference", ADDED, WHAT_ATTENDS),
)
"""Names in the palette, in the order in which a bar is stacked."""


def color_of(group: str) -> str:
    """Return the name of a group's color in the palette; all groups that a user adds have the same."""
    if group not in GROUPS:
        return ADDED
    role = group if group in COLORS else _OF_GROUP.get(group)
    return role or _OF_FAMILY[GROUPS[group].family]


def label_of(color: str, words: Words) -> str:
    """Return what the groups of a color are called, with the model's names of special tokens."""
    return _LABELS.get(color) or words.roles.get(color) or palette().roles[color].label
