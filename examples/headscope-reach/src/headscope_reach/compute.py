"""The stage: its sums over the text, and the table computed from them."""

from collections.abc import Iterator

import pandas as pd

from headscope.analyses.measurement import Measurement, StageResult
from headscope.scans.prepare.prepared_run import Stream
from headscope.scans.scan_declaration import RunText, Scan, ScanSums
from headscope.statistics.inference.confidence import ends_of
from headscope_reach.sums import ReachAccumulator
from headscope_reach.tables import REACH


class ReachMeasurement(Measurement[Stream]):
    """How far away what each head attends to the most is."""

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the text."""
        yield Scan(RunText(self.run), [ReachAccumulator()])

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the table."""
        reach = sums.of(ReachAccumulator)
        return StageResult(name="reach", tables={"reach": reach_table(reach)}, state=reach.state())


def reach_table(sums: ReachAccumulator) -> pd.DataFrame:
    """Lay the sums out, a row for each head; layers and heads are 1-based."""
    rows = [
        {
            "kind": kind,
            "layer": layer + 1,
            "head": head + 1,
            **ends_of(interval, (layer, head)),
            "n_inputs": int(inputs[layer]),
        }
        for kind, (interval, inputs) in sums.compute().items()
        if kind != "cross"
        for layer, heads in enumerate(interval.value)
        for head in range(len(heads))
    ]
    return pd.DataFrame(rows, columns=REACH.names)
