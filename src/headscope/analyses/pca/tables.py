"""The tables of principal directions, and of the map along the first two."""

from headscope.analyses.pca.directions import MOST
from headscope.analyses.pca.sums import KEY, ROW, SIDES
from headscope.encoding.vocabulary import KeyClass
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import (
    FROM_ONE,
    IN_SEGMENT,
    KIND,
    NOT_NEGATIVE,
    PLACE,
    count,
    number,
    text,
    words_around,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

EFFECTIVE = "effective_dimension"
SHARE_NAMES = tuple(f"share_{rank}" for rank in range(1, MOST + 1))
STATISTICS = (EFFECTIVE, *SHARE_NAMES)
TITLES = dict(zip(SIDES, ("queries", "keys", "output"), strict=True))
_VECTORS = text(
    "vectors",
    "`query` and `key` after rotary positions, `output` before the output projection; heads that share keys have "
    "equal rows",
    choices=SIDES,
)
_TOKEN = Column(
    "token", "index among the sampled tokens, from 1, in the order of their hashes", "int64", bounds=FROM_ONE
)
_UNIT = "directions, or share of the variance"

PCA_TABLE = TableSchema(
    name="pca",
    meaning="The effective dimension of every head's queries, keys and outputs, and the share of variance along "
    "each of the first principal directions.",
    columns=(
        *PLACE,
        _VECTORS,
        text("statistic", "the effective dimension, or the share of variance along a direction", choices=STATISTICS),
        Column("value", "its value", unit=_UNIT, missing="the vectors do not vary", bounds=NOT_NEGATIVE),
        count("n_tokens", "tokens"),
    ),
    key=("kind", "layer", "head", "vectors", "statistic"),
)
MAP = TableSchema(
    name="pca_map",
    meaning="Positions of sampled tokens along the first two principal directions of every head's vectors.",
    columns=(
        *PLACE,
        _VECTORS,
        _TOKEN,
        number("first", "along the first direction, from the mean", unit="of the vectors"),
        number("second", "along the second", unit="of the vectors", missing="vectors of one number"),
        Column("length", "of the vector itself", unit="of the vectors", bounds=NOT_NEGATIVE),
    ),
    key=("kind", "layer", "head", "vectors", "token"),
)
TOKENS = TableSchema(
    name="pca_tokens",
    meaning="The tokens on these maps, the same for all heads of a kind.",
    columns=(
        KIND,
        text(
            "axis",
            "`row`: attending tokens; `key`: attended tokens of cross attention, to which these keys belong",
            choices=(ROW, KEY),
        ),
        _TOKEN,
        *IN_SEGMENT,
        Column("position", "of the token in the input, from 0", "int64", bounds=NOT_NEGATIVE),
        text("token_class", "its class as a key", choices=tuple(name.lower() for name in KeyClass.__members__)),
        *words_around("it"),
    ),
    key=("kind", "axis", "token"),
)

TABLES = (PCA_TABLE, MAP, TOKENS)

HEAD_LABELS = {
    (side, EFFECTIVE): MeasureLabel(label=f"directions of its {title}", unit="directions")
    for side, title in TITLES.items()
}
