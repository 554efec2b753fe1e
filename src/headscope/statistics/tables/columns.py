"""Columns that tables of several analyses share: position of a head, shares, counts, intervals."""

from math import inf

from headscope.attention.head_id import KINDS
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.tables.table_schema import Column

FEW = f"fewer than {FEWEST_DOCUMENTS} documents"
SHARE = (0.0, 1.0)
NOT_NEGATIVE = (0.0, inf)
FROM_ONE = (1.0, inf)
COUNTS = "n_"  # prefix of the columns that count the items behind a row
OF_LAYER = "the mean over the layer's heads"

KIND = Column("kind", "kind of attention", "text", choices=KINDS)
LAYER = Column("layer", "layer within its kind, from 1", "int64", bounds=FROM_ONE)
HEAD = Column("head", "head in its layer, from 1", "int64", bounds=FROM_ONE)
HEAD_OR_MEAN = Column("head", "head in its layer, from 1", "Int64", missing=OF_LAYER, bounds=FROM_ONE)
PLACE = (KIND, LAYER, HEAD)
Q_VALUE = Column("q_value", "false discovery rate at which it is found", missing="not tested", bounds=SHARE)


def text(name: str, meaning: str, *, missing: str = "", choices: tuple[str, ...] = (), others: bool = False) -> Column:
    """Return a column of text."""
    return Column(name, meaning, "text", missing=missing, choices=choices, others=others)


def share(name: str, meaning: str, *, missing: str = "", unless: tuple[str, tuple[str, ...]] | None = None) -> Column:
    """Return a column of shares, from 0 to 1."""
    return Column(name, meaning, unit="share", missing=missing, bounds=SHARE, unless=unless)


def number(name: str, meaning: str, *, unit: str, missing: str = "") -> Column:
    """Return a column of numbers without bounds, in a unit."""
    return Column(name, meaning, unit=unit, missing=missing)


def count(name: str, of: str, *, meaning: str = "number over which the value is computed") -> Column:
    """Return a column that counts something; if it counts the items behind a row, its name is `n_...`."""
    return Column(name, meaning, "int64", unit=of, bounds=NOT_NEGATIVE)


IN_SEGMENT = (
    text("document", "id of the document"),
    Column("segment", "which input of the document it is, from 0", "int64", bounds=NOT_NEGATIVE),
)
"""The columns that identify an input of a document."""


def words_around(what: str) -> tuple[Column, ...]:
    """Return the columns of the tokens around something, and of the position of the first."""
    return (
        Column("start", "position of the first of `tokens`", "int64", bounds=NOT_NEGATIVE),
        Column("tokens", f"readable tokens around {what}", "list of text"),
        Column("continues_word", "indices into `tokens`, from 0, of tokens that continue the word of the token "
        "before", "list of int64"),
    )  # fmt: skip


def excerpt(key: str, *, missing: str = "") -> tuple[Column, ...]:
    """Return the columns of a row of attention with the tokens around it.

    Args:
        key: description of the token with the largest weight.
        missing: reason why there may be none.
    """
    most = f"{key} that it attends to most"
    return (
        *IN_SEGMENT,
        Column("row", "position of the token that attends, in the input", "int64", bounds=NOT_NEGATIVE),
        Column("key", f"position of the {most}", "Int64" if missing else "int64", missing=missing, bounds=NOT_NEGATIVE),
        share("weight", "weight on it"),
        *words_around("the row"),
        text("key_token", f"readable {most}", missing=missing),
    )  # fmt: skip


def ends(
    of: str,
    *,
    prefix: str = "",
    unit: str = "",
    bounds: tuple[float, float] | None = None,
    unless: tuple[str, tuple[str, ...]] | None = None,
    missing: str = FEW,
) -> tuple[Column, Column]:
    """Return the two columns of an interval, `PREFIXci_low` and `PREFIXci_high`.

    Args:
        of: name of the column that the interval belongs to.
        prefix: prefix of the two names.
        unit, bounds, unless: unit, bounds and exceptions of that column.
        missing: reason why there may be none.
    """
    low, high = (
        Column(
            f"{prefix}ci_{end}", f"{word} end of the 95% interval of `{of}`",
            unit=unit, missing=missing, bounds=bounds, unless=unless,
        )
        for end, word in (("low", "lower"), ("high", "upper"))
    )  # fmt: skip
    return low, high


def estimate(
    name: str,
    meaning: str,
    *,
    unit: str,
    prefix: str = "",
    bounds: tuple[float, float] | None = None,
    unless: tuple[str, tuple[str, ...]] | None = None,
    missing: str = "",
) -> tuple[Column, Column, Column]:
    """Return a column and the two of its interval, which is also missing if there are too few documents."""
    column = Column(name, meaning, unit=unit, missing=missing, bounds=bounds, unless=unless)
    without = f"{missing}, or {FEW}" if missing else FEW
    return column, *ends(name, prefix=prefix, unit=unit, bounds=bounds, unless=unless, missing=without)


def shares(
    name: str, meaning: str, *, prefix: str = "", unless: tuple[str, tuple[str, ...]] | None = None, missing: str = ""
) -> tuple[Column, Column, Column]:
    """Return a column of shares and the two of its interval."""
    return estimate(name, meaning, unit="share", prefix=prefix, bounds=SHARE, unless=unless, missing=missing)


def on_all_documents(*, missing: str = "") -> tuple[Column, Column, Column]:
    """Return the columns of the named head's value on all documents, including those that selected it."""
    meaning = "the named head on all documents, also those that selected it: biased upwards if heads are nearly equal"
    return shares("all_documents", meaning, prefix="all_documents_", missing=missing)


def difference(
    meaning: str, *, name: str = "difference", prefix: str = "", missing: str = "", unit: str = "share"
) -> tuple[Column, Column, Column]:
    """Return a column of differences of two numbers in one unit, and the two of its interval."""
    return estimate(name, meaning, unit=unit, prefix=prefix, missing=missing)
