"""The catalog of features that explain a head's attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headscope.analyses.explanation.feature import Feature, Group
from headscope.analyses.explanation.features import (
    content,
    copies,
    key_class,
    mentions,
    position,
    tag_pairs,
    tree,
    word_structure,
    words,
)
from headscope.errors import OptionError

_MODULES = (position, key_class, copies, word_structure, content, tree, tag_pairs, mentions)

FEATURES: Mapping[str, Feature] = {feature.name: feature for module in _MODULES for feature in module.FEATURES}
"""Every feature by its name."""
GROUPS: Mapping[str, Group] = {group.name: group for module in (*_MODULES, words) for group in module.GROUPS}
"""Every group by its name, in the order of tables and legends."""


@dataclass(frozen=True)
class Catalog:
    """Features and groups by name: built-in ones and those that a user adds."""

    features: Mapping[str, Feature]
    groups: Mapping[str, Group]

    def plus(self, added: Sequence[Feature]) -> "Catalog":
        """Return a catalog with more features; a new group takes its phrase from its first feature.

        Args:
            added: features to add.

        Raises:
            OptionError: a feature of that name exists already.
        """
        features, groups = dict(self.features), dict(self.groups)
        for feature in added:
            if feature.name in features:
                raise OptionError(
                    f"there is a feature {feature.name!r} already; expected a name that is not in the catalog: give "
                    "the feature another name"
                )
            features[feature.name] = feature
            groups.setdefault(feature.group, Group(feature.group, "added", feature.sentence))
        return Catalog(features, groups)


CATALOG = Catalog(FEATURES, GROUPS)
