"""The definition of a statistic of a head's attention: a row quantity, the rows that it is averaged over, and texts."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from headscope.attention.row_quantities import RowQuantity
from headscope.encoding.vocabulary import KeyClass
from headscope.visible import capital

Topic = Literal["position", "special", "noop", "focus"]


class Rows(Enum):
    """The rows of a segment that a mean runs over: all, those of a class of tokens (True), or all others (False)."""

    ALL = (None, True)
    SEP = (KeyClass.SEP, True)
    CLS = (KeyClass.CLS, True)
    NOT_SEP = (KeyClass.SEP, False)

    def __init__(self, key_class: KeyClass | None, inside: bool) -> None:
        self.key_class = key_class
        self.inside = inside


class Unit(Enum):
    """The unit of a statistic, as named in labeled arrays."""

    SHARE = "share of attention"
    NATS = "nats"


@dataclass(frozen=True)
class Special:
    """The names of a model's special tokens."""

    cls: str = "[CLS]"
    sep: str = "[SEP]"

    def fill(self, words: str) -> str:
        """Replace `{cls}` and `{sep}` by the names of the tokens; `{Cls}` and `{Sep}` begin with a capital."""
        capitals = {"Cls": capital(self.cls), "Sep": capital(self.sep)}
        return words.format(cls=self.cls, sep=self.sep, **capitals)


@dataclass(frozen=True, kw_only=True)
class Term:
    """An entry of the report's list of definitions, for a statistic or for several together."""

    name: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A statistic: the mean of a row quantity over a segment's rows, then over the segments that have such a row.

    Texts may contain `{cls}` and `{sep}`, which `Special.fill` replaces.

    Attributes:
        name: the name in tables and in Python.
        quantity: the row quantity that is averaged.
        rows: the rows that are averaged.
        unit: the unit of the values.
        label: the name on pages.
        meaning: the text in the page of definitions; neighbors with the same text share a line.
        on: the target of a share, worded for a sentence; the label when empty.
        term: the entry in the report's list of definitions; the label and the meaning when None.
        topic: the part of the report, and the panel of figure 2 or 4, that shows it: `focus` for statistics in nats,
            one of the others for a share; None for a statistic that only the table of all heads shows.
        search_words: words that find it in the atlas, besides its label; empty if a role of this name has them.
        drawn: the label in figures without names of special tokens; `label` when empty.
        ink: the key of its color in the palette, where statistics are drawn side by side; `name` when empty.
        shape: the key of its shape in the palette; `name` when empty.
        heading: the heading of its column in a terminal; `name` when empty.
        heading_says: the explanation of the heading, if it needs one.
        less: the statistic whose layer means are compared with those of this statistic.
        ranked: True if the head with the highest value is compared with its nearest rival.
        rare: True if few models have it, so that it is not mentioned where it cannot occur.
    """

    name: str
    quantity: RowQuantity
    rows: Rows = Rows.ALL
    unit: Unit = Unit.SHARE
    label: str
    meaning: str
    on: str = ""
    term: Term | None = None
    topic: Topic | None = None
    search_words: tuple[str, ...] = ()
    drawn: str = ""
    ink: str = ""
    shape: str = ""
    heading: str = ""
    heading_says: str = ""
    less: str = ""
    ranked: bool = False
    rare: bool = False

    def __post_init__(self) -> None:
        # Otherwise its panel would be on an axis with another unit: percent in figure 2, nats in figure 4.
        if self.topic is not None and (self.topic == "focus") != (self.unit is Unit.NATS):
            raise ValueError(
                f"statistic {self.name} is in {self.unit.value} and has the topic {self.topic}; expected focus for "
                "nats, and another topic, or none, for a share of attention"
            )

    @property
    def target(self) -> str:
        """The target of a share, worded for a sentence: "the previous token"."""
        return self.on or self.label
