"""The tables of distances between heads, and of their map."""

from collections.abc import Iterator
from dataclasses import replace
from math import log

from headscope.statistics.roles import ROLES
from headscope.statistics.tables.columns import (
    FEW,
    FROM_ONE,
    KIND,
    PLACE,
    POSITIVE,
    SHARE,
    count,
    difference,
    ends,
    number,
    share,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

_ROWS = "rows of attention"
_NATS = "nats"
_JS = (0.0, log(2))
_ONE = "no such pair exists"
_SINGLE = "one cluster, or a cluster of one head"


def _with_percentiles(column: Column, *, prefix: str) -> Iterator[Column]:
    """Yield a column and its 2.5 and 97.5 percentiles over the resamples."""
    yield column
    for end, percent in (("low", "2.5"), ("high", "97.5")):
        meaning = f"{percent} percentile of that over the resamples"
        yield replace(column, name=f"{prefix}_{end}", meaning=meaning)


HEAD_DISTANCES = TableSchema(
    name="head_distances",
    meaning="The Jensen-Shannon divergence of each pair of heads of a kind.",
    columns=(
        *(
            replace(column, name=f"{column.name}_{side}", meaning=f"{column.meaning}: {which} head")
            for side, which in (("a", "first"), ("b", "second"))
            for column in PLACE
        ),
        Column("divergence", "mean over all rows of all inputs", unit=_NATS, bounds=_JS),
        *ends("divergence", unit=_NATS, bounds=POSITIVE),
        Column("sampling_error", "its standard error for a sample of rows; 0 for all", unit=_NATS, bounds=POSITIVE),
        count("n_rows", _ROWS),
    ),
    key=("kind_a", "layer_a", "head_a", "kind_b", "layer_b", "head_b"),
)

HEAD_MAP = TableSchema(
    name="head_map",
    meaning="Each head's position on the map of distances, its cluster, its role and the relation that it finds.",
    columns=(
        *PLACE,
        number("x", "place across", unit=_NATS),
        number("y", "place upwards", unit=_NATS),
        Column("cluster", "number of its cluster", "int64", bounds=FROM_ONE),
        text("role", "its role", missing="statistics were not measured", choices=tuple(ROLES)),
        text(
            "finds",
            "relations, and `coreference`, with commas between them",
            missing="neither relations nor coreference were measured",
        ),
    ),
    key=("kind", "layer", "head"),
)

HEAD_CLUSTERS = TableSchema(
    name="head_clusters",
    meaning="Heads that are alike: average linkage on the root of the divergence.",
    columns=(
        KIND,
        Column("cluster", "its number", "int64", bounds=FROM_ONE),
        count("size", "heads", meaning="how many it has"),
        *_with_percentiles(
            share(
                "stability",
                "mean Jaccard index with its likest cluster over resampled documents",
                missing=f"{FEW}, {_SINGLE}",
            ),
            prefix="ci",
        ),
        Column("silhouette", "mean silhouette of its heads", missing=_SINGLE, bounds=(-1.0, 1.0)),
        Column("medoid_layer", "layer of the head in its middle", "int64", bounds=FROM_ONE),
        Column("medoid_head", "head in its middle", "int64", bounds=FROM_ONE),
        Column("divergence", "mean within it", unit=_NATS, missing="it has one head", bounds=_JS),
        count("n_rows", _ROWS),
    ),
    key=("kind", "cluster"),
)

LAYER_EFFECT = TableSchema(
    name="layer_effect",
    meaning="Whether heads of a layer are more alike than heads of different layers, and how good the map and the "
    "clusters are.",
    columns=(
        KIND,
        Column("within", "mean divergence of heads of one layer", unit=_NATS, missing=_ONE, bounds=_JS),
        Column("between", "mean divergence of heads of two layers", unit=_NATS, missing=_ONE, bounds=_JS),
        *difference("`between` less `within`", name="effect", unit=_NATS, missing=_ONE),
        Column("p", "of heads dealt to the layers at random", missing=_ONE, bounds=SHARE),
        count("n_rows", _ROWS),
        Column("stress", "Kruskal's stress of the map; 0 is exact", bounds=POSITIVE),
        count("clusters", "clusters", meaning="how many there are"),
        Column("silhouette", "mean silhouette of the clusters", missing="one cluster", bounds=(-1.0, 1.0)),
        *_with_percentiles(
            Column(
                "adjusted_rand",
                "mean adjusted Rand index with clusters of resampled documents",
                missing=f"{FEW}, or one cluster",
                bounds=(-1.0, 1.0),
            ),
            prefix="adjusted_rand",
        ),
        text("reason", "reason for a missing effect", missing="there is one"),
    ),
    key=("kind",),
)

DISTANCE_TABLES = (HEAD_DISTANCES,)
MAP_TABLES = (HEAD_MAP, HEAD_CLUSTERS, LAYER_EFFECT)
