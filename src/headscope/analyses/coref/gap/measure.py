"""The stage on GAP: which head points a pronoun at the right one of two names."""

from headscope.analyses.coref.gap.accumulator import GapAccumulator
from headscope.analyses.coref.gap.gap_segments import GapCounts, gap_segments
from headscope.analyses.coref.result_tables import gap_table
from headscope.analyses.stage_result import StageResult
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.prepare.model_run import ModelRun
from headscope.prepare.progress import Watcher, scan_teller
from headscope.prepare.sharded_scan import scan_shards


def measure_gap(run: ModelRun, watch: Watcher | None = None) -> StageResult:
    """Score every head on GAP's rows, by gender.

    Args:
        run: a `ModelRun` with GAP files.
        watch: called with the progress.

    Raises:
        InputError: no row fits into an input.
    """
    assert run.gap is not None
    counts, known = GapCounts(), KnownPieces(run.encoder, "GAP")
    sums = _scanned(run, watch, counts, known)
    if not counts.used:
        raise InputError(
            f"no row of {run.gap.name} fits into --max-length {run.options.max_length} tokens; raise it"
        )
    lost = dict(sorted(counts.lost.items()))
    facts = {
        "name": run.gap.name,
        "kinds": [part.kind for part in sums.layout],
        "rows": counts.rows,
        "used": counts.used,
        "shortened": counts.shortened,
    }
    return StageResult(
        name="gap",
        tables={"gap": gap_table(sums.compute(), seed=run.options.seed)},
        facts={"gap": {**facts, "lost": lost}},
        notes=tuple(filter(None, [known.note()])),
        state=sums.state(),
    )


def scan_gap(run: ModelRun, watch: Watcher | None = None) -> None:
    """Scan this part's shards of GAP's rows."""
    _scanned(run, watch, GapCounts(), KnownPieces(run.encoder, "GAP"))


def _scanned(run: ModelRun, watch: Watcher | None, counts: GapCounts, known: KnownPieces) -> GapAccumulator:
    assert run.gap is not None
    sums = GapAccumulator(run.layout, pieces=run.options.pieces)

    tell = scan_teller(watch, "GAP", int, total=None, limit=run.options.max_inputs)
    segments = gap_segments(
        run.gap.read(limit=run.options.max_inputs, seed=run.options.seed),
        run.encoder,
        max_length=run.options.max_length,
        counts=counts,
    )
    scan_shards(run.over(known.watch(segments)), [sums], kept=run.kept, progress=tell)
    return sums
