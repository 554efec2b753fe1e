"""The tables of what draws each head: its pull, the share of each source, and of pairs of sources."""

from headscope.analyses.why.pulls import KEYS, SIDES
from headscope.attention.head_id import KINDS
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import FROM_ONE, HEAD, KIND, LAYER, NOT_NEGATIVE, SHARE, count, estimate, text
from headscope.statistics.tables.table_schema import Column, TableSchema

LEAST_PULL = 0.1
"""Pull in nats that a head's interval must exceed for its sources to be tested: below, it attends almost evenly."""
ABOVE_RANDOM, LEAST_ABOVE = 0.25, 0.03
"""An established share lies above the largest of random weights by a quarter of it, and by 3 points: the largest share
varies by up to that much between seeds (`benchmarks/why_worlds.py`)."""
MOST_SOURCES = 32
"""Number of sources of a head and side with a row of their own, by size; the rest is summed."""
OTHERS = "others"
PARTS = (*("token", "position", "segment", "bias", "output_bias", "position_bias", "encoder", "head", "mlp"), OTHERS)
_NO_CONTROLS = "no controls"
_NOT_REPLACED = "not replaced: a constant, or not among the strongest"


def source_columns(prefix: str, of: str) -> tuple[Column, ...]:
    """Return the columns that name a source.

    Args:
        prefix: prefix of the names.
        of: description of the source.
    """
    return (
        text(
            f"{prefix}part",
            f"{of}: an embedding (`token`, `position`, `segment`), a `head`, an `mlp`, the biases of output "
            "projections (`output_bias`), other constants (`bias`), the `position_bias` of scores, the output of the "
            f"`encoder`, or the sum of all smaller sources (`{OTHERS}`)",
            choices=PARTS,
        ),
        text(f"{prefix}kind", f"kind of attention of {of}", choices=KINDS, missing="not a head or an MLP"),
        Column(
            f"{prefix}layer", f"layer of {of}, from 1", "Int64", missing="not a head or an MLP", bounds=FROM_ONE
        ),
        Column(f"{prefix}head", f"head of {of}, from 1", "Int64", missing="not a head", bounds=FROM_ONE),
    )  # fmt: skip


_KEYS = text("keys", "`all` keys, or those that are neither the first token nor a separator (`non_sink`)", choices=KEYS)
PULLS = TableSchema(
    name="pulls",
    meaning="How far the scores of attended tokens lie above the mean score of each head's rows.",
    columns=(
        *(KIND, LAYER, HEAD, _KEYS),
        *estimate(
            "pull", "sum_j (a_ij - u_ij) s_ij, mean over rows, then over inputs", unit="nats", missing="no such row"
        ),
        Column("random", "largest pull of the layer's heads with random weights", unit="nats", missing=_NO_CONTROLS),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "keys"),
)
SOURCES = TableSchema(
    name="sources",
    meaning="The share of each source of the stream in the pull of each head, on the side of its queries and of its "
    "keys; the shares of one side sum to 1.",
    columns=(
        *(KIND, LAYER, HEAD, _KEYS),
        text("side", "`query`: the source is in the attending token; `key`: in the attended token", choices=SIDES),
        *source_columns("source_", "the source"),
        *estimate("share", "share of the pull; it may be negative, or above 1", unit="share", missing="no such row"),
        Column(
            "random", "largest share of such a source in the layer's heads with random weights", missing=_NO_CONTROLS
        ),
        Column(
            "established",
            f"whether the interval of the share lies above `random` by {100 * ABOVE_RANDOM:g}% of it and by "
            f"{100 * LEAST_ABOVE:g} points, at a false discovery rate of 5% over the sources of the head",
            "boolean",
            missing=f"no controls, fewer than 10 documents, a pull not above {LEAST_PULL:g} nats, or `{OTHERS}`",
        ),
        *estimate(
            "moved",
            "total variation between the attention before and after the source is replaced on this side by its mean "
            "in other documents",
            unit="share", prefix="moved_", bounds=SHARE, missing=_NOT_REPLACED,
        ),
        Column(
            "moved_less",
            "whether it is less than for the source whose replacement moves most: the 95% interval of the paired "
            "difference is below 0",
            "boolean",
            missing=f"{_NOT_REPLACED}; or fewer than 10 documents",
        ),
        Column("n_replaced", "inputs in which it was replaced", "Int64", missing=_NOT_REPLACED, bounds=NOT_NEGATIVE),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "keys", "side", "source_part", "source_kind", "source_layer", "source_head"),
)  # fmt: skip
PAIRS = TableSchema(
    name="source_pairs",
    meaning="The share of pairs of the strongest sources, one of the query and one of the key, in the pull of each "
    "head off the sink.",
    columns=(
        *(KIND, LAYER, HEAD),
        *source_columns("query_", "the source of the query"),
        *source_columns("key_", "the source of the key"),
        *estimate("share", "share of the pull", unit="share"),
        count("n_inputs", "inputs"),
    ),
    key=(
        *("kind", "layer", "head"),
        *("query_part", "query_kind", "query_layer", "query_head", "key_part", "key_kind", "key_layer", "key_head"),
    ),
)
TABLES = (PULLS, SOURCES, PAIRS)
HEAD_LABELS = {
    ("non_sink",): MeasureLabel(label="pull", description="excess of scores over the row's mean", unit="nats")
}
