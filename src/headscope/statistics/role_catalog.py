"""The catalog of roles of heads: for each role, its statistic, its threshold and its words.

The palette has its color and shape under the same name. `statistics.roles` assigns the roles to heads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from headscope.statistics.statistic_catalog import NAMES, STATISTICS

BROAD_RATIO = 0.783
"""The paper's 3.8 nats divided by ln 128, the entropy of uniform attention."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """A role: the first in the catalog whose statistic exceeds its threshold.

    Texts may contain `{cls}` and `{sep}`, which `Special.fill` replaces.

    Attributes:
        name: name in tables and in the palette.
        statistic: the statistic that defines the role; empty for the role of all remaining heads.
        above: threshold of the statistic.
        of_uniform: True if the threshold is relative to uniform attention.
        label: label on pages; the statistic's when empty.
        brief: name in the list of thresholds; the label when empty.
        says: text after the value of the statistic, or alone if there is no value; when empty, the target of the
            share.
        search_words: words that find it in the atlas, besides its label.
        shown_by: the statistic that selects the example sentences of the role; `statistic` when empty.
        shown_says: text after the value of `shown_by`, if that is another statistic.
    """

    name: str
    statistic: str = ""
    above: float = 0.0
    of_uniform: bool = False
    label: str = ""
    brief: str = ""
    says: str = ""
    search_words: tuple[str, ...] = ()
    shown_by: str = ""
    shown_says: str = ""

    @property
    def called(self) -> str:
        """The label of the role, or of its statistic."""
        return self.label or STATISTICS[self.statistic].label

    @property
    def listed(self) -> str:
        """The name of the role in the list of thresholds."""
        return self.brief or self.called

    @property
    def phrase(self) -> str:
        """The text after the value: "of its attention is on the previous token"."""
        return self.says or f"of its attention is on {STATISTICS[self.statistic].target}"

    @property
    def example(self) -> str:
        """The statistic that selects the example sentences of the role."""
        return self.shown_by or self.statistic


# The first role that fits applies. The thresholds are those of the paper's figure 6: 0.6 on a special token, 0.5 on a
# position, and `BROAD_RATIO`.
_ROWS = (
    Role(
        name="period_comma", statistic="period_comma", above=0.6, search_words=("period", "comma", "full stop", "dot")
    ),
    Role(
        name="sep",
        statistic="sep",
        above=0.6,
        search_words=("sep", "separator", "no-op", "rest", "resting", "nothing to do", "attention sink", "sink"),
    ),
    Role(
        name="cls",
        statistic="cls",
        above=0.6,
        search_words=("cls", "first token", "classification token", "attention sink", "sink"),
    ),
    Role(
        name="broad",
        statistic="entropy",
        above=BROAD_RATIO,
        of_uniform=True,
        label="broad",
        says="of entropy, spread over most of the input",
        search_words=("broad", "spread", "uniform", "everywhere", "everything", "bag of words"),
    ),
    Role(
        name="previous",
        statistic="previous",
        above=0.5,
        brief="previous",
        search_words=("previous", "preceding", "before", "backward", "look back", "left"),
    ),
    Role(
        name="next",
        statistic="next",
        above=0.5,
        brief="next",
        search_words=("next", "following", "after", "forward", "look ahead", "right"),
    ),
    Role(
        name="mixed",
        label="mixed",
        says="No role’s statistic passes its threshold",
        search_words=("mixed", "no role", "without role", "unclear"),
        shown_by="max_weight",
        shown_says="is its largest weight, on average over tokens",
    ),
)

ROLES: Mapping[str, Role] = MappingProxyType({role.name: role for role in _ROWS})
"""Roles in the order in which they are tried."""
OTHERWISE = next(role.name for role in _ROWS if not role.statistic)
"""The role of heads that fit no other role."""


def _place(role: Role) -> int:
    return NAMES.index(role.statistic) if role.statistic else len(NAMES)


SHOWN = tuple(role.name for role in sorted(_ROWS, key=_place))
"""Roles in display order, the order of their statistics."""
