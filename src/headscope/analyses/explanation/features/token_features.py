"""Features of a token alone, how it is written and how frequent it is, from which features of pairs are made."""

from collections.abc import Mapping

from headscope.analyses.explanation.feature import Feature
from headscope.analyses.explanation.features import content, key_class, word_structure

TOKEN_FEATURES: Mapping[str, Feature] = {
    feature.name: feature for module in (key_class, content, word_structure) for feature in module.FEATURES
}
"""By name."""
