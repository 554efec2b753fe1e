"""The catalog of statistics of a head's attention: for each statistic, its row quantity, its rows and its words.

The sums, the table, `headscope stats`, the report's labels, sections, definitions and table of all heads, the atlas's
words and cards, figures 2 and 4 and the page of definitions iterate over the rows. A new statistic is a row here, with
a quantity of `attention.row_quantities` where none says it yet. Another package adds one of a quantity that is measured
here with an entry point `headscope.statistics` that names its `Statistic`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Literal

from headscope.attention.row_quantities import RowQuantity
from headscope.encoding.vocabulary import KeyClass
from headscope.entry_points import installed
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
    """The unit of a statistic, as labeled arrays call it."""

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

    Words may have `{cls}` and `{sep}` in them, which `Special.fill` replaces.

    Attributes:
        name: the name in tables and in Python.
        quantity: the row quantity that is averaged.
        rows: the rows that are averaged.
        unit: the unit of the values.
        label: the name on pages.
        meaning: the text in the page of definitions; neighbors with the same text share a line.
        on: the target of a share, as a sentence says it; the label when empty.
        term: the entry in the report's list of definitions; the label and the meaning when None.
        topic: the part of the report, and the panel of figure 2 or 4, that shows it.
        search_words: words that find it in the atlas, beside its label; empty where a role of this name has them.
        drawn: the label in figures without names of special tokens; `label` when empty.
        ink: the key of its color in the palette, where statistics are drawn side by side; `name` when empty.
        shape: the key of its shape in the palette; `name` when empty.
        heading: the heading of its column in a terminal; `name` when empty.
        heading_says: the explanation of the heading, where one is needed.
        less: the statistic whose layer means are compared with those of this statistic.
        ranked: whether the head with the highest value is compared with its nearest rival.
        rare: whether few models have it, so that it is not mentioned where it cannot occur.
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

    @property
    def target(self) -> str:
        """What a share is on, as a sentence says it: "the previous token"."""
        return self.on or self.label


_POSITIONS = Term(
    name="Previous, next, current token",
    says="weight on the position before, after, or of the token that attends; the first token’s previous and the last "
    "one’s next are 0, and those rows count",
)
_NEIGHBORS = (
    "weight on the token before, after, and on itself; the first token's `previous` and the last one's `next` are 0, "
    "and those rows count"
)
_CLASSES = Term(
    name="{Cls}, {sep}, period or comma",
    says="total weight on keys of that class; classes go by token id",
)
_SEP_FROM = Term(
    name="{sep} to {sep}, other to {sep}",
    says="weight on {sep} from rows that are {sep}, and from all other rows",
)
_SEP_FROM_MEANING = "weight on sep from sep, and from all other tokens"
_ENTROPIES = Term(
    name="Entropy", says="−Σ w ln w of a row, in nats, averaged over rows; from {cls}: of its row only"
)

_HERE = (
    Statistic(
        name="previous",
        quantity=RowQuantity.PREVIOUS,
        label="previous token",
        on="the previous token",
        meaning=_NEIGHBORS,
        term=_POSITIONS,
        topic="position",
        ranked=True,
    ),
    Statistic(
        name="next",
        quantity=RowQuantity.NEXT,
        label="next token",
        on="the next token",
        meaning=_NEIGHBORS,
        term=_POSITIONS,
        topic="position",
        ranked=True,
    ),
    Statistic(
        name="current",
        quantity=RowQuantity.CURRENT,
        label="current token",
        on="the current token",
        meaning=_NEIGHBORS,
        term=_POSITIONS,
        topic="position",
        search_words=("current token", "current", "itself", "same token"),
        ink="mixed",
        shape="coreference",
    ),
    Statistic(
        name="cls",
        quantity=RowQuantity.CLS,
        label="{cls}",
        meaning="weight on the tokenizer's cls token, else bos, else a decoder's first position",
        term=_CLASSES,
        topic="special",
    ),
    Statistic(
        name="sep",
        quantity=RowQuantity.SEP,
        label="{sep}",
        meaning="weight on the tokenizer's sep token, else an eos that it adds",
        term=_CLASSES,
        topic="special",
    ),
    Statistic(
        name="period_comma",
        quantity=RowQuantity.PERIOD_COMMA,
        label="period or comma",
        on="periods and commas",
        meaning="weight on pieces that are exactly `.` or `,`, without their word-start mark",
        term=_CLASSES,
        topic="special",
        drawn=". and ,",
    ),
    Statistic(
        name="punctuation",
        quantity=RowQuantity.PUNCTUATION,
        label="punctuation",
        on="punctuation",
        meaning="weight on pieces that are nothing but punctuation (Unicode's categories P), `.` and `,` among them",
        term=Term(
            name="Punctuation",
            says="total weight on keys that are nothing but punctuation of any kind, periods and commas among them",
        ),
        search_words=("punctuation marks", "brackets", "quotes", "question marks"),
        heading="punct.",
        heading_says="weight on punctuation of any kind",
    ),
    Statistic(
        name="sink_logit",
        quantity=RowQuantity.SINK_LOGIT,
        label="learned sink",
        on="the learned sink",
        meaning="weight on the learned sink, a logit without a token that some models give every head",
        term=Term(
            name="Learned sink",
            says="weight on a logit without a token, in models that have one; uniform attention, entropy and largest "
            "weight count it as one key more",
        ),
        topic="special",
        search_words=("learned sink", "sink logit"),
        ink="coreference",
        shape="coreference",
        rare=True,
    ),
    Statistic(
        name="sep_to_sep",
        quantity=RowQuantity.SEP,
        rows=Rows.SEP,
        label="{sep} to {sep}",
        meaning=_SEP_FROM_MEANING,
        term=_SEP_FROM,
        topic="noop",
        drawn="{sep} → {sep}",
        ink="sep",
        shape="sep",
        less="other_to_sep",
    ),
    Statistic(
        name="other_to_sep",
        quantity=RowQuantity.SEP,
        rows=Rows.NOT_SEP,
        label="other to {sep}",
        meaning=_SEP_FROM_MEANING,
        term=_SEP_FROM,
        topic="noop",
        drawn="other → {sep}",
        ink="mixed",
        shape="broad",
    ),
    Statistic(
        name="entropy",
        quantity=RowQuantity.ENTROPY,
        unit=Unit.NATS,
        label="entropy",
        meaning="-sum w ln w, nats, 0 ln 0 = 0",
        term=_ENTROPIES,
        topic="focus",
        search_words=("entropy",),
    ),
    Statistic(
        name="entropy_cls",
        quantity=RowQuantity.ENTROPY,
        rows=Rows.CLS,
        unit=Unit.NATS,
        label="entropy from {cls}",
        meaning="the same from the cls token only",
        term=_ENTROPIES,
        topic="focus",
        less="entropy",
    ),
    Statistic(
        name="max_weight",
        quantity=RowQuantity.MAX_WEIGHT,
        label="largest weight",
        meaning="mean over rows of the largest weight",
        term=Term(name="Largest weight", says="the largest weight of a row, averaged over rows"),
        search_words=("largest weight", "sharp", "focused", "confident", "peaked"),
        heading="largest",
        heading_says="mean over tokens of the largest weight",
    ),
)

_INSTALLED = installed("headscope.statistics", Statistic, taken=frozenset(row.name for row in _HERE))
STATISTICS: Mapping[str, Statistic] = MappingProxyType({row.name: row for row in (*_HERE, *_INSTALLED)})
NAMES = tuple(STATISTICS)
"""In the order of the table, of the report and of the sums' columns."""


def is_share(name: str) -> bool:
    """Return whether a statistic is a share of attention, in [0, 1]."""
    return name in STATISTICS and STATISTICS[name].unit is Unit.SHARE


def of_topic(topic: Topic, *, unit: Unit | None = None) -> tuple[str, ...]:
    """Return the names of the statistics that a part of the report shows, in order.

    Args:
        topic: the part.
        unit: only those of this unit.
    """
    return tuple(
        statistic.name
        for statistic in STATISTICS.values()
        if statistic.topic == topic and (unit is None or statistic.unit is unit)
    )


def figure_names() -> dict[str, str]:
    """Return what figures call each statistic where nobody says what the model's tokens are called."""
    return {
        statistic.name: Special().fill(statistic.drawn or statistic.label)
        for statistic in STATISTICS.values()
    }
