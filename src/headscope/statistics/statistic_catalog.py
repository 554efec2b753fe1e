"""The catalog of statistics of a head's attention: for each statistic, its row quantity, its rows and its words.

The sums, the table, `headscope stats`, the report's labels, sections, definitions and table of all heads, the atlas's
words and cards, figures 2 and 4 and the page of definitions iterate over the rows. A new statistic is a row here, with
with a quantity of `attention.row_quantities`, added there if it is missing. Another package can add a statistic of an
existing quantity with an entry point `headscope.statistics` that names its `Statistic`.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from headscope.attention.row_quantities import RowQuantity
from headscope.installing import installed
from headscope.statistics.statistic import Rows, Special, Statistic, Term, Topic, Unit

_POSITIONS = Term(
    name="Previous, next, current token",
    says="weight on the token before, after, or at the position of the attending token; the first token’s previous and "
    "the last one’s next are 0, and those rows count",
)
_NEIGHBORS = (
    "weight on the token before, after, and on itself; the first token's `previous` and the last one's `next` are 0, "
    "and those rows count"
)
_CLASSES = Term(
    name="{Cls}, {sep}, period or comma", says="total weight on keys of that class; classes are sets of token ids"
)
_SEP_FROM = Term(
    name="{sep} to {sep}, other to {sep}", says="weight on {sep} from rows that are {sep}, and from all other rows"
)
_SEP_FROM_MEANING = "weight on sep from sep, and from all other tokens"
_ENTROPIES = Term(name="Entropy", says="−Σ w ln w of a row, in nats, averaged over rows; from {cls}: of its row only")

# Common fields of the rows of a topic.
_position = partial(Statistic, meaning=_NEIGHBORS, term=_POSITIONS, topic="position")
_class = partial(Statistic, term=_CLASSES, topic="special")
_from_sep = partial(Statistic, quantity=RowQuantity.SEP, meaning=_SEP_FROM_MEANING, term=_SEP_FROM, topic="noop")
_entropy = partial(Statistic, quantity=RowQuantity.ENTROPY, unit=Unit.NATS, term=_ENTROPIES, topic="focus")

_HERE = (
    _position(
        name="previous", quantity=RowQuantity.PREVIOUS, label="previous token", on="the previous token", ranked=True
    ),
    _position(name="next", quantity=RowQuantity.NEXT, label="next token", on="the next token", ranked=True),
    _position(
        name="current",
        quantity=RowQuantity.CURRENT,
        label="current token",
        on="the current token",
        search_words=("current token", "current", "itself", "same token"),
        ink="mixed",
        shape="coreference",
    ),
    _class(
        name="cls",
        quantity=RowQuantity.CLS,
        label="{cls}",
        meaning="weight on the tokenizer's cls token, else bos, else a decoder's first position",
    ),
    _class(
        name="sep",
        quantity=RowQuantity.SEP,
        label="{sep}",
        meaning="weight on the tokenizer's sep token, else an eos that it adds",
    ),
    _class(
        name="period_comma",
        quantity=RowQuantity.PERIOD_COMMA,
        label="period or comma",
        on="periods and commas",
        meaning="weight on pieces that are exactly `.` or `,`, without their word-start mark",
        drawn=". and ,",
    ),
    Statistic(
        name="punctuation",
        quantity=RowQuantity.PUNCTUATION,
        label="punctuation",
        on="punctuation",
        meaning="weight on pieces that consist of punctuation (Unicode's categories P), including `.` and `,`; a "
        "piece of a character is none",
        term=Term(
            name="Punctuation", says="total weight on keys that consist of punctuation, including periods and commas"
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
            "weight count it as an additional key",
        ),
        topic="special",
        search_words=("learned sink", "sink logit"),
        ink="coreference",
        shape="coreference",
        rare=True,
    ),
    _from_sep(
        name="sep_to_sep",
        rows=Rows.SEP,
        label="{sep} to {sep}",
        drawn="{sep} → {sep}",
        ink="sep",
        shape="sep",
        less="other_to_sep",
    ),
    _from_sep(
        name="other_to_sep",
        rows=Rows.NOT_SEP,
        label="other to {sep}",
        drawn="other → {sep}",
        ink="mixed",
        shape="broad",
    ),
    _entropy(name="entropy", label="entropy", meaning="-sum w ln w, nats, 0 ln 0 = 0", search_words=("entropy",)),
    _entropy(
        name="entropy_cls",
        rows=Rows.CLS,
        label="entropy from {cls}",
        meaning="the same from the cls token only",
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
INSTALLED = frozenset(row.name for row in _INSTALLED)
"""The names of the statistics of installed packages."""
NAMES = tuple(STATISTICS)
"""Names in the order of the table, of the report and of the sums' columns."""


def is_share(name: str) -> bool:
    """Return True if a statistic is a share of attention, in [0, 1]."""
    return name in STATISTICS and STATISTICS[name].unit is Unit.SHARE


def of_topic(topic: Topic) -> tuple[str, ...]:
    """Return the names of the statistics that a part of the report shows, in order."""
    return tuple(statistic.name for statistic in STATISTICS.values() if statistic.topic == topic)


def figure_names() -> dict[str, str]:
    """Return each statistic's name in figures, for use without the names of the model's tokens."""
    return {statistic.name: Special().fill(statistic.drawn or statistic.label) for statistic in STATISTICS.values()}
