"""The roles of heads, one row per role, and the role of each head: the first whose condition is true."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from headscope.statistics.inference.significance import LEAST_SHARE, SIGNIFICANT
from headscope.statistics.statistic_catalog import NAMES, STATISTICS
from headscope.statistics.tables.frames import WEIGHT, of_measure

BROAD_RATIO = 0.783
"""The paper's 3.8 nats divided by ln 128, the entropy of uniform attention."""
_HEAD = ["kind", "layer", "head"]


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


_OF_UNIFORM = tuple(dict.fromkeys(role.statistic for role in ROLES.values() if role.of_uniform))


def role_of(values: Mapping[str, float], *, uniform: Mapping[str, float]) -> str:
    """Return the first role of the catalog that a head has.

    Args:
        values: the statistics of the head by name; a missing or NaN value has no role.
        uniform: the values of uniform attention over the same visible keys, for statistics that are compared with it.
    """
    for role in ROLES.values():
        value = values.get(role.statistic, np.nan)
        if role.of_uniform:
            even = uniform.get(role.statistic, np.nan)
            value = value / even if even > 0 else np.nan
        if role.statistic and value > role.above:
            return role.name
    return OTHERWISE


def roles(stats: pd.DataFrame, *, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the role of every head.

    Args:
        stats: the table `stats.parquet`.
        measure: `weight`, or `norm` for norm-weighted attention, which is known for some heads only.

    Returns:
        Columns `kind layer head role`, in the order of the table.
    """
    rows = of_measure(stats, measure)
    rows = rows[rows["head"].notna()]
    values: dict[tuple[str, int, int], dict[str, float]] = {}
    uniform: dict[tuple[str, int, int], dict[str, float]] = {}
    columns = (rows[name].to_list() for name in (*_HEAD, "statistic", "value", "uniform"))
    for kind, layer, number, statistic, value, even in zip(*columns, strict=True):
        head = kind, int(layer), int(number)
        values.setdefault(head, {})[statistic] = value
        uniform.setdefault(head, {})[statistic] = even
    named = [
        (*head, role_of(by_name, uniform=uniform[head]))
        for head, by_name in values.items()
        if all(name in by_name for name in _OF_UNIFORM)
    ]
    return pd.DataFrame(named, columns=[*_HEAD, "role"]).astype(
        {"kind": rows["kind"].dtype, "layer": "int64", "head": "int64"}
    )


def finds(chosen: pd.DataFrame, *, by: str = "", name: str = "") -> dict[tuple[str, int, int], list[str]]:
    """Return the items that each head finds: those for which it is selected held out and beats its baseline.

    The selection must beat every baseline with q < 0.05, and the named head must be a point above its own baseline.

    Args:
        chosen: selected heads: `model selection kind layer head q_value`, and `margin` if the head's own baseline is
            known.
        by: the column with the name of the item; empty if all rows have the same item.
        name: name of that item.

    Returns:
        By (kind, layer, head), 1-based; heads that find nothing are omitted.
    """
    by_head: dict[tuple[str, int, int], list[str]] = {}
    if chosen.empty:
        return by_head
    significant = chosen[
        (chosen["model"] == "trained") & (chosen["selection"] == "held-out") & (chosen["q_value"] < SIGNIFICANT)
    ]
    for row in significant.to_dict("records"):
        if row.get("margin", 1.0) >= LEAST_SHARE:
            head = (str(row["kind"]), int(row["layer"]), int(row["head"]))
            by_head.setdefault(head, []).append(str(row[by]) if by else name)
    return by_head


def strongest(stats: pd.DataFrame, named: pd.DataFrame) -> pd.DataFrame:
    """Return, for each kind and role but `mixed`, the head with the highest value.

    Returns:
        Columns `kind layer head role statistic value`: for each role the head with the highest value of the statistic
        that defines it.
    """
    heads = of_measure(stats)
    heads = heads[heads["head"].notna()].merge(named, on=["kind", "layer", "head"])
    rows = []
    for kind in heads["kind"].unique():
        for role in SHOWN:
            statistic = ROLES[role].statistic
            with_role = heads[(heads["kind"] == kind) & (heads["role"] == role) & (heads["statistic"] == statistic)]
            if len(with_role):
                rows.append(
                    with_role.loc[with_role["value"].idxmax(), ["kind", "layer", "head", "role", "statistic", "value"]]
                )
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "role", "statistic", "value"]).reset_index(drop=True)
