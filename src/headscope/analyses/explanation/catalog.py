"""The catalog of features: what a head's attention is explained by."""

from collections.abc import Mapping

from headscope.analyses.explanation.feature import TOKENS, Feature, Group
from headscope.analyses.explanation.features import position

_MODULES = (position,)
_TOKENS = Group(name=TOKENS, family="content", label="particular tokens", phrase="particular tokens")

FEATURES: Mapping[str, Feature] = {
    feature.name: feature for module in _MODULES for feature in module.FEATURES
}
"""Every feature by its name."""
GROUPS: Mapping[str, Group] = {
    group.name: group for group in (*(group for module in _MODULES for group in module.GROUPS), _TOKENS)
}
"""Every group by its name, in the order of tables and legends; `tokens` has no features but a bias for each token."""
