"""The stage: what it sums over the text, and the table that is made of it."""

import pandas as pd

from headscope.analyses.stage_result import StageResult
from headscope.prepare.prepared_run import Stream
from headscope.prepare.progress import Watcher
from headscope.prepare.shared_scan import read_text
from headscope.statistics.confidence import ends_of
from headscope_reach.accumulator import ReachAccumulator
from headscope_reach.tables import REACH


def measure_reach(run: Stream, watch: Watcher | None = None) -> StageResult:
    """Measure how far away what each head attends to the most is."""
    sums = scan_reach(run, watch)
    return StageResult(name="reach", tables={"reach": reach_table(sums)}, state=sums.state())


def scan_reach(run: Stream, watch: Watcher | None = None) -> ReachAccumulator:
    """Sum over the text, in the one scan that all stages share."""
    (sums,) = reach_sums(run)
    read_text(run, [sums], stage="reach", said="reach", watch=watch)
    return sums


def reach_sums(run: Stream) -> tuple[ReachAccumulator]:
    """Return what the stage keeps of the text."""
    return (ReachAccumulator(run.layout),)


def reach_table(sums: ReachAccumulator) -> pd.DataFrame:
    """Lay the sums out, a row for each head; layers and heads are 1-based."""
    rows = [
        {
            "kind": kind,
            "layer": layer + 1,
            "head": head + 1,
            **ends_of(interval, (layer, head)),
            "n": int(inputs[layer]),
        }
        for kind, (interval, inputs) in sums.compute().items()
        if kind != "cross"
        for layer, heads in enumerate(interval.value)
        for head in range(len(heads))
    ]
    return pd.DataFrame(rows, columns=REACH.names)
