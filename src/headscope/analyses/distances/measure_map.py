"""The stage of the map of heads: their coordinates, clusters and roles, and the layer effect."""

from collections.abc import Mapping

import pandas as pd

from headscope.analyses.distances.accumulator import DivergenceAccumulator
from headscope.analyses.distances.clusters import FEWEST_CLUSTERS, MOST_CLUSTERS
from headscope.analyses.distances.layer_effect import PERMUTATIONS
from headscope.analyses.distances.map_tables import HeadNumber, map_tables
from headscope.analyses.distances.stability import RESAMPLES
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult
from headscope.declarations.analysis_list import of_table
from headscope.errors import OptionError
from headscope.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import ScanSums
from headscope.statistics.roles import roles
from headscope.study.head_columns import finders


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
        earlier = self.earlier
        if "distances" not in earlier:
            raise OptionError("the map of heads is made of their distances; ask for the stage distances as well")
        results = DivergenceAccumulator.from_state(earlier["distances"].state).compute()
        tables = map_tables(results, roles=roles_in(earlier), finds=finds_in(earlier), seed=self.run.options.seed)
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


def roles_in(earlier: Mapping[str, StageResult]) -> dict[HeadNumber, str]:
    """Return the role of each head from the statistics, empty where they were not measured."""
    if "stats" not in earlier:
        return {}
    table = roles(earlier["stats"].tables["stats"])
    keys = zip(table["kind"], table["layer"], table["head"], strict=True)
    return dict(zip(keys, table["role"], strict=True))


def finds_in(earlier: Mapping[str, StageResult]) -> dict[HeadNumber, list[str]] | None:
    """Return the relations that heads find, or None where they were not measured."""

    def read(table: str) -> pd.DataFrame | None:
        stage = of_table()[table].name
        return earlier[stage].tables[table] if stage in earlier else None

    return finders(read)
