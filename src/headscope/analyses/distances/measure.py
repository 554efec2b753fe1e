"""The stage of distances between heads (section 6): a scan of the text, and its table."""

from collections.abc import Iterator

from headscope.analyses.distances.accumulator import DivergenceAccumulator
from headscope.analyses.distances.pair_table import pair_table
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult, notes_on
from headscope.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.sums.kept import in_single_precision


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
        facts = {
            result.kind: {"segments": result.segments, "rows": result.n, "rows_read": result.rows_read}
            for result in results
        }
        sampled = [
            f"of {result.n:,} rows of {result.kind} attention a seeded sample of {result.rows_read:,} was read; "
            "sampling_error says how far off that may be"
            for result in results
            if result.rows_read < result.n
        ]
        return StageResult(
            name="distances",
            tables={"head_distances": pair_table(results)},
            facts={"distances": facts},
            notes=notes_on("distances", *sampled),
            state=in_single_precision(divergences.state()),
        )
