"""A worker of a cluster: one process that holds the model and computes the shards it is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope.attention.model.segment_source import SegmentSource
from headscope.declarations.analysis_list import STAGES
from headscope.declarations.run_options import RunOptions
from headscope.encoding.shards import Shard
from headscope.errors import ModelError
from headscope.prepare.model_run import ModelRun
from headscope.prepare.prepared_run import prepare_model_run
from headscope.running.stages import measurement_of, scan_runner
from headscope.scans.scan_declaration import Scan
from headscope.scans.scan_runner import ScanRunner
from headscope.scans.shard_sums import ShardSums, joined
from headscope.scans.sharded_scan import compute_shard
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import State


@dataclass(frozen=True, kw_only=True)
class WorkersRun:
    """What a worker is told of the run.

    Attributes:
        options: of the run; files by paths, or addresses, that are the same for all.
        text: number of documents and hash of the text, which workers do not read: they are given what they compute.
        signature: of the run, as its `id` and `versions`.
    """

    options: RunOptions
    text: tuple[int, str]
    signature: Mapping[str, Any]


@dataclass(frozen=True)
class _OpenScan:
    """A scan, ready to be computed.

    Attributes:
        source: the model that it reads with.
        sums: empty, with the scan's options.
        layout_accumulators: of other stages, as `scan_shards` takes them.
    """

    source: SegmentSource
    sums: ShardSums
    layout_accumulators: Sequence[Accumulator]


class ShardWorker:
    """Computes shards of a run; it is loaded when first needed, so that one that was started anew loads again.

    Args:
        run_description: of the run.
    """

    def __init__(self, run_description: WorkersRun) -> None:
        self._run_description = run_description
        self._at: tuple[str, str] | None = None
        self._open_scan: _OpenScan | None = None
        self._scans_of: tuple[str, Mapping[str, Scan]] | None = None

    @cached_property
    def run(self) -> ModelRun:
        """The run, with its model.

        Raises:
            HeadscopeError: it cannot be prepared here, or is another than the one that was told of.
        """
        run = prepare_model_run(self._run_description.options, text_read=self._run_description.text)
        signature_here, signature_there = (_essential(run.signature), _essential(self._run_description.signature))
        if signature_here != signature_there:
            differing = ", ".join(name for name in signature_there if signature_here.get(name) != signature_there[name])
            raise ModelError(
                f"a worker of the cluster would compute something else than was asked for: {differing} differs there; "
                "give all nodes the same files, and the same versions of headscope, torch and transformers"
            )
        return run

    def ready(self) -> None:
        """Load what is needed to compute.

        Raises:
            HeadscopeError: as `run`.
        """
        _ = self.run

    def shard(self, stage: str, scan_name: str, shard: Shard) -> State:
        """Return the state of what one shard adds up to."""
        scan = self._scan(stage, scan_name)
        return compute_shard(shard, scan.source, scan.sums, layout_accumulators=scan.layout_accumulators).state()

    def join(self, stage: str, scan_name: str, *states: State) -> State:
        """Return the state of several shards that follow one another."""
        return joined(self._scan(stage, scan_name).sums, states)

    def _scan(self, stage: str, scan_name: str) -> _OpenScan:
        """Return the model and the empty sums of a scan; those of the last one stay at hand."""
        if self._open_scan is None or self._at != (stage, scan_name):
            self._open_scan = None  # its model may be large, and another comes
            self._open_scan = self._open(stage, scan_name)
            self._at = stage, scan_name
        return self._open_scan

    def _open(self, stage: str, scan_name: str) -> _OpenScan:
        """Look a scan up among those that its stage declares, and make ready to compute shards of it."""
        scans = self._scans(stage)
        if scan_name not in scans:
            raise ValueError(
                f"stage {stage} declares no scan {scan_name!r} on a worker, but {', '.join(scans) or 'none'}; `scans` "
                "must yield the same scans in every process"
            )
        scan = scans[scan_name]
        source = scan.corpus.source()
        assert isinstance(source, SegmentSource)
        sums = ShardSums.of(source, scan.accumulators)
        return _OpenScan(source, sums, self._runner.layout_accumulators(stage, scan))

    @cached_property
    def _runner(self) -> ScanRunner:
        """What knows the scans of the text of all stages, which decide about tiles and batches together."""
        return scan_runner(self.run)

    def _scans(self, stage: str) -> Mapping[str, Scan]:
        """Return the scans of a stage by their names, made once while the scans of that stage follow one another."""
        if self._scans_of is None or self._scans_of[0] != stage:
            scans = measurement_of(STAGES[stage], self.run).scans()
            self._scans_of = stage, {scan.name: scan for scan in scans}
        return self._scans_of[1]


def _essential(signature: Mapping[str, Any]) -> dict[str, str]:
    """Return what must be the same on all nodes; builds of one version for other processors may differ."""
    versions = {name: str(version).partition("+")[0] for name, version in signature["versions"].items()}
    return {"model, corpora or options": signature["id"], **versions, "python": ""}
