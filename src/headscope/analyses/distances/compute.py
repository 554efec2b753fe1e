"""The stages of distances between heads: a scan of the text with its pairs; and the map, clusters and layer effect."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.distances.clusters import (
    FEWEST_CLUSTERS,
    MOST_CLUSTERS,
    RESAMPLES,
    cluster,
    embed,
    medoid,
    stability,
)
from headscope.analyses.distances.sums import DivergenceAccumulator, DivergenceResult
from headscope.analyses.distances.tables import MAP_TABLES, pair_table
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.errors import OptionError
from headscope.present.head_columns import HeadNumber, finders
from headscope.scans.declarations.analysis_list import of_table
from headscope.scans.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.roles import roles
from headscope.statistics.sums.kept import in_single_precision

_MENTIONED = 0.005
"""Sampling error in nats above which a note mentions that rows were sampled."""


class DistancesMeasurement(Measurement[Stream]):
    """The Jensen-Shannon divergence between all heads of a kind."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text."""
        divergences = DivergenceAccumulator(self.run.layout, seed=self.run.options.seed)
        yield Scan(RunText(self.run), [divergences], label="head distances")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the table of pairs of heads."""
        divergences = sums.of(DivergenceAccumulator)
        results = divergences.compute()
        sampled = [
            f"of {result.n:,} rows of {result.kind} attention a seeded sample of {result.rows_read:,} was read; "
            "sampling_error says how far off that may be"
            for result in results
            if result.rows_read < result.n and result.sampling_error.max() > _MENTIONED
        ]
        read = {each.kind: {"segments": each.segments, "rows": each.n, "rows_read": each.rows_read} for each in results}
        return StageResult(
            name="distances",
            tables={"head_distances": pair_table(results)},
            facts={"distances": read},
            notes=notes_on("distances", *sampled),
            state=in_single_precision(divergences.state()),
        )


class HeadMapMeasurement(Measurement[Stream]):
    """The heads of each kind embedded and clustered, with their roles and the relations that they find.

    It reads no text. It runs after `distances`; after `stats` for roles; after `syntax` and `coref` for the relations
    that heads find. Without `stats` roles are null; without both of the last two `finds` is null.
    """

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables.

        Raises:
            OptionError: distances were not measured.
        """
        if "distances" not in self.earlier:
            raise OptionError("the map of heads needs their distances; request the stage distances as well")
        results = DivergenceAccumulator.from_state(self.earlier["distances"].state).compute()
        tables = map_tables(results, roles=self._roles(), finds=finders(self._read), seed=self.run.options.seed)
        reasons = tables["layer_effect"].dropna(subset=["reason"])
        notes = [
            f"map: whether heads of a layer are alike cannot be said of {kind} attention: {reason}"
            for kind, reason in zip(reasons["kind"], reasons["reason"], strict=True)
        ]
        facts = {
            "permutations": PERMUTATIONS,
            "resamples": RESAMPLES,
            "fewest_clusters": FEWEST_CLUSTERS,
            "most_clusters": MOST_CLUSTERS,
        }
        return StageResult(name="map", tables=tables, facts={"map": facts}, notes=tuple(notes))

    def _roles(self) -> dict[HeadNumber, str]:
        stats = self._read("stats")
        rows = () if stats is None else roles(stats)[["kind", "layer", "head", "role"]].itertuples(index=False)
        return {(kind, layer, head): role for kind, layer, head, role in rows}

    def _read(self, table: str) -> pd.DataFrame | None:
        """Return a table of an earlier stage; None if the stage was not measured."""
        stage = self.earlier.get(of_table()[table].name)
        return None if stage is None else stage.tables[table]


def map_tables(
    results: Sequence[DivergenceResult],
    *,
    roles: Mapping[HeadNumber, str],
    finds: Mapping[HeadNumber, Sequence[str]] | None,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, pd.DataFrame]:
    """Embed and cluster the heads of each kind, and compare heads of a layer with those of others.

    Args:
        results: one for each kind of attention.
        roles: roles of heads; null in the table for a head without a role.
        finds: relations that heads find; None where they were not measured, then null in the table.
        seed: seed of the map, the resamples and the permutations.
        resamples: number of resamples of the documents, for the clusters' stability.

    Returns:
        The tables of `MAP_TABLES` by name.
    """
    rows: dict[str, list[dict[str, Any]]] = {schema.name: [] for schema in MAP_TABLES}
    for result in results:
        points, stress = embed(result.divergence, seed=seed)
        clusters = cluster(result.divergence)
        jaccard, rand = stability(result, clusters, resamples=resamples, seed=seed)
        for number, ((x, y), label) in enumerate(zip(points, clusters.labels, strict=True)):
            head = (result.kind, number // result.heads + 1, number % result.heads + 1)
            names = None if finds is None else ",".join(finds.get(head, []))
            more = {"x": x, "y": y, "cluster": label, "role": roles.get(head), "finds": names}
            rows["head_map"].append({**dict(zip(("kind", "layer", "head"), head)), **more})
        for number, silhouette in enumerate(clusters.silhouettes):
            members = np.flatnonzero(clusters.labels == number + 1)
            middle = medoid(result.divergence, members)
            apart = result.divergence[np.ix_(members, members)][np.triu_indices(len(members), k=1)]
            # A single head is trivially the same on other documents, so its stability is undefined.
            stable = jaccard[:, number] if len(members) > 1 else np.full(3, np.nan)
            rows["head_clusters"].append(
                {
                    "kind": result.kind,
                    "cluster": number + 1,
                    "size": len(members),
                    **dict(zip(("stability", "ci_low", "ci_high"), stable, strict=True)),
                    "silhouette": silhouette,
                    "medoid_layer": middle // result.heads + 1,
                    "medoid_head": middle % result.heads + 1,
                    "divergence": apart.mean() if len(apart) else np.nan,
                    "n_rows": result.n,
                }
            )
        rows["layer_effect"].append(
            {
                "kind": result.kind,
                **layer_effect(result, seed=seed),
                "stress": stress,
                "clusters": clusters.number,
                "silhouette": clusters.silhouette,
                **dict(zip(("adjusted_rand", "adjusted_rand_low", "adjusted_rand_high"), rand, strict=True)),
            }
        )
    return {schema.name: schema.frame(rows[schema.name]) for schema in MAP_TABLES}


PERMUTATIONS = 10_000
_CELLS_AT_ONCE = 1 << 23
ONE_LAYER = "there is one layer, and no pair of heads of different layers"
ONE_HEAD = "each layer has one head, and no pair of heads is of one layer"


def layer_effect(result: DivergenceResult, *, permutations: int = PERMUTATIONS, seed: int = 0) -> dict[str, Any]:
    """Compare heads of a layer with heads of different layers (paper section 6).

    Args:
        result: divergences with their sums by group of documents.
        permutations: number of permutations of the heads' layer labels.
        seed: seed of the permutations.

    Returns:
        Columns of `layer_effect.parquet`, in nats; NaN where the model has no such pair of heads. The bounds of the
        interval are also NaN with fewer than 10 documents.
    """
    a, b = np.triu_indices(len(result.divergence), k=1)
    same = result.layer_of[a] == result.layer_of[b]
    apart = result.divergence[a, b]
    within = float(apart[same].mean()) if same.any() else np.nan
    between = float(apart[~same].mean()) if not same.all() else np.nan
    reason = ONE_LAYER if result.layers == 1 else ONE_HEAD if result.heads == 1 else None
    means = {"within": within, "between": between, "n_rows": result.n, "reason": reason}
    if reason is not None:
        return means | dict.fromkeys(("effect", "ci_low", "ci_high", "p"), np.nan)
    by_group = result.group_sums[:, a, b]
    gaps = by_group[:, ~same].mean(1) - by_group[:, same].mean(1)
    interval = ratio_interval(gaps, result.group_rows, scale="real", documents=result.documents)
    p = permutation_p(result.divergence, result.layers, permutations=permutations, seed=seed)
    ends = {"ci_low": float(interval.low), "ci_high": float(interval.high)}
    return {**means, "effect": between - within, **ends, "p": p}


def permutation_p(
    divergence: NDArray[np.float64], layers: int, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> float:
    """Return the one-sided p of the layer effect under random assignments of heads to layers.

    The sum over all pairs is constant, so an effect is at least as large if the sum within layers is at most as large.
    p = (1 + number of such permutations) / (1 + permutations), which is never 0.

    Args:
        divergence: in nats, heads layer by layer, `[head, head]`.
        layers: number of layers, all with the same number of heads.
        permutations: number of permutations.
        seed: seed of the permutations.
    """
    heads = len(divergence) // layers
    a, b = np.triu_indices(heads, k=1)

    def within(order: NDArray[np.int64]) -> NDArray[np.float64]:
        dealt = order.reshape(-1, layers, heads)
        return np.asarray(divergence[dealt[..., a], dealt[..., b]].sum((1, 2)), dtype=np.float64)

    heads_in_order = np.arange(layers * heads)
    # Assignments that differ only in the order of layers must count as ties, whatever the rounding.
    bound = float(within(heads_in_order)[0]) + 1e-9 * float(np.abs(divergence).max(initial=0.0))
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // max(len(heads_in_order), layers * len(a)))
    as_large = 0
    for start in range(0, permutations, at_once):
        deals = np.tile(heads_in_order, (min(at_once, permutations - start), 1))
        as_large += int((within(generator.permuted(deals, axis=1)) <= bound).sum())
    return (1 + as_large) / (1 + permutations)
