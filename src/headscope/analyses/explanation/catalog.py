"""The catalog of features: what a head's attention is explained by."""

from collections.abc import Mapping

from headscope.analyses.explanation.feature import WHAT_ATTENDS, Feature, Group
from headscope.analyses.explanation.features import (
    content,
    copies,
    key_class,
    mentions,
    position,
    tree,
    word_structure,
)

_MODULES = (position, key_class, copies, word_structure, content, tree, mentions)
_WHAT_ATTENDS = Group(
    name=WHAT_ATTENDS, family="what attends", label="what attends", phrase="by what attends"
)

FEATURES: Mapping[str, Feature] = {
    feature.name: feature for module in _MODULES for feature in module.FEATURES
}
"""Every feature by its name."""
GROUPS: Mapping[str, Group] = {
    group.name: group for group in (*(group for module in _MODULES for group in module.GROUPS), _WHAT_ATTENDS)
}
"""Every group by its name, in the order of tables and legends."""
