"""The features that are made of no others, by name: where the key is, what it is, and whether it is a copy."""

from collections.abc import Mapping

from headscope.analyses.explanation.feature import Feature
from headscope.analyses.explanation.features import content, copies, key_class, position, word_structure

PLAIN_FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for module in (position, key_class, copies, word_structure, content)
    for feature in module.FEATURES
}
