"""From a prepared run to its tables, stage by stage."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import Any

from headscope.analyses.measurement import NO_RESULTS, Measurement, StageResult
from headscope.errors import OptionError
from headscope.running.run_folder import stage_signature
from headscope.scans.declarations.analysis import Stage
from headscope.scans.declarations.analysis_list import OF_STAGE, STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import Run
from headscope.scans.progress import Progress, TimeLeft, Watcher, in_step, tell
from headscope.scans.scan_declaration import TEXT_PASS, Scan, ShardExecutor
from headscope.scans.scan_runner import MakeScan, ScanRunner, keep_nothing
from headscope.scans.shard_checkpoint import ShardCheckpoint
from headscope.statistics.tables.frames import check_table


def stages_of(run: Run) -> list[Stage]:
    """Return the stages that the run measures, in order."""
    return [stage for stage in run.options.measured if not run.lacking & set(stage.corpora)]


_DRAWING_SECONDS = 0.47
"""Approximate seconds for drawing a stage's part of the pages."""
_SENTENCES, _WORDS = 500, 18_000
"""Numbers of sentences and of words that the costs of stages over annotated corpora are of."""
_HEADS = 72
"""Number of heads that the costs of computations on heads are of."""


def watched_stages(
    run: Run, watch: Watcher | None, *, further: int = 0, finished: Collection[str] = ()
) -> Iterator[tuple[Stage, Watcher | None]]:
    """Yield the stages that the run measures, in order, each with a watcher that knows its position among the steps.

    Args:
        run: run from `prepare`.
        watch: function that receives the progress.
        further: number of steps after the stages, such as drawing.
        finished: names of stages that are not measured again.
    """
    stages = stages_of(run)
    measured = [stage.name not in finished for stage in stages]
    time_left = TimeLeft(
        [_cost(stage, run) * left for stage, left in zip(stages, measured)],
        passes=[stage.passes * left for stage, left in zip(stages, measured)],
        of_text=[n for n, stage in enumerate(stages) if measured[n] and "text" in stage.corpora],
        tokens=lambda: int(run.facts()["counts"]["tokens"]),
        drawing=_DRAWING_SECONDS * len(stages) * further,
        of_heads=[stage.head_cost * _heads(run) / _HEADS * left for stage, left in zip(stages, measured)],
    )
    steps = len(stages) + further
    for index, stage in enumerate(stages):
        yield stage, in_step(watch, index + 1, steps, left=partial(time_left.seconds, index))
    for index in range(len(stages), steps):
        if (drawing := in_step(watch, index + 1, steps, left=partial(time_left.seconds, index))) is not None:
            drawing(Progress("drawing figures and pages"))


def _cost(stage: Stage, run: Run) -> float:
    """Return a stage's cost on the annotated corpora of a run, with its controls."""
    limit = run.options.max_inputs or math.inf
    corpora = getattr(run, "corpora", None)  # saved maps have none
    share = 1.0
    if corpora is not None and "treebank" in stage.corpora:
        share = min(corpora.treebank.sentences, limit) / _SENTENCES
    elif corpora is not None and "coreference" in stage.corpora:
        share = min(corpora.coreference.words, limit * run.options.max_length) / _WORDS
    return stage.cost * share + stage.control_cost * (run.options.controls or 0)


def _heads(run: Run) -> int:
    """Return the number of heads."""
    return sum(part.layers * part.heads for part in run.layout)


def measure(run: Run, *, watch: Watcher | None = None) -> Iterator[StageResult]:
    """Measure the stages one after another.

    Args:
        run: run from `prepare`.
        watch: function that receives the progress after each batch.
    """
    check_stages(run)
    earlier: dict[str, StageResult] = {}
    runner = scan_runner(run)
    for stage, stage_watch in watched_stages(run, watch):
        earlier[stage.name] = measure_stage(stage, run, earlier, stage_watch, runner)
        yield earlier[stage.name]


def stage_signatures(run: Run) -> dict[str, str]:
    """Return the id of everything each stage's numbers depend on, by stage name, in the order of measuring."""
    ids: dict[str, str] = {}
    for stage in stages_of(run):
        ids[stage.name] = stage_signature(stage, run.signature, run.options, before=ids)
    return ids


def measurement_of(
    stage: Stage, run: Run, *, earlier: Mapping[str, StageResult] = NO_RESULTS, watch: Watcher | None = None
) -> Measurement[Any]:
    """Return the measurement of a stage of a run."""
    measurement: Measurement[Any] = OF_STAGE[stage.name].measurement(stage)(run, earlier=earlier, watch=watch)
    return measurement


def shared_scans(stage: Stage, run: Run) -> dict[str, Scan]:
    """Return a stage's scans of inputs that other stages read too, with empty accumulators, by shared pass.

    They come before a stage's other scans.
    """
    scans = measurement_of(stage, run).scans() if "text" in stage.corpora else iter(())
    return {scan.corpus.shared or "": scan for scan in takewhile(lambda scan: scan.corpus.shared, scans)}


def text_scan(stage: Stage, run: Run) -> Scan | None:
    """Return a stage's scan of the run's text, with empty accumulators; None if it has none."""
    return shared_scans(stage, run).get(TEXT_PASS)


def scan_runner(
    run: Run,
    *,
    finished: Collection[str] = (),
    checkpoint: Callable[[str], ShardCheckpoint | None] = keep_nothing,
    executor: ShardExecutor | None = None,
) -> ScanRunner:
    """Return the runner of all stages' scans of a run; scans of the same inputs by the same model share one pass.

    Args:
        run: run from `prepare`.
        finished: names of stages that are not measured again.
        checkpoint: function that returns the shard checkpoint of a stage; None if it keeps none.
        executor: executor that computes the shards; None for this process.
    """

    def make(stage: Stage, name: str) -> Scan:
        return shared_scans(stage, run)[name]

    makers: dict[str, dict[str, MakeScan]] = {}
    for stage in stages_of(run):
        for name in shared_scans(stage, run):
            makers.setdefault(name, {})[stage.name] = partial(make, stage, name)
    return ScanRunner(makers, finished=finished, checkpoint=checkpoint, executor=executor)


def check_stages(run: Run) -> None:
    """Check all stages before the first is measured, and raise an error if one of them cannot be measured.

    Raises:
        HeadscopeError: a stage cannot be measured; the message gives the reason and the remedy.
    """
    for stage in stages_of(run):
        check_maps(stage, run.options)
        measurement_of(stage, run).check()


def check_maps(stage: Stage, options: RunOptions) -> None:
    """Raise an error if a stage cannot be measured over saved maps.

    Raises:
        OptionError: it cannot be measured; the message gives the reason and the remedy.
    """
    if stage.refusal and options.maps is not None:
        raise OptionError(stage.refusal)


def measure_stage(
    stage: Stage, run: Run, earlier: Mapping[str, StageResult], watch: Watcher | None, runner: ScanRunner | None = None
) -> StageResult:
    """Run the scans of one stage, and compute its tables using the results of earlier stages.

    Args:
        stage: the stage.
        run: run from `prepare`.
        earlier: results of the earlier stages, by name.
        watch: function that receives the progress.
        runner: runner of the scans of all stages of the run; if None, the scans of this stage are separate passes.

    Raises:
        ValueError: a table does not match its schema.
    """
    tell(watch, stage.name)
    runner = runner or ScanRunner()
    began = time.perf_counter()
    measurement = measurement_of(stage, run, earlier=earlier, watch=watch)
    result = measurement.compute(runner.run(stage.name, measurement.scans(), watch))
    check_tables(result)
    return replace(result, seconds=time.perf_counter() - began + runner.owed(stage.name))


def check_tables(result: StageResult) -> None:
    """Check a stage's result against the schemas of its tables: exactly these tables, each matching its schema.

    Raises:
        ValueError: a table is missing, unexpected or does not match; the message names it and the difference.
    """
    schemas = {schema.name: schema for schema in OF_STAGE[result.name].tables(STAGES[result.name])}
    if set(result.tables) != set(schemas):
        raise ValueError(
            f"stage {result.name}: expected the tables {', '.join(schemas)}; came {', '.join(result.tables) or 'none'}"
            "; declare what it makes in the tables.py of its analysis"
        )
    for name, table in result.tables.items():
        check_table(schemas[name], table)


def manifest_of(run: Run) -> dict[str, Any]:
    """Return a run's manifest before its stages: its description, marked as incomplete."""
    return {
        "headscope": run.signature["versions"]["headscope"],
        "created": datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z"),
        "complete": False,
        "signature": run.signature,
        "kinds": [part.record() for part in run.layout],
        "stages": {},
        **run.facts(),
    }


def with_stage(
    manifest: dict[str, Any], run: Run, result: StageResult, *, signature: str, files: Mapping[str, str]
) -> dict[str, Any]:
    """Return the manifest with a stage's result added and the counts updated.

    Args:
        manifest: manifest before the stage.
        run: run that was measured.
        result: result of the stage.
        signature: signature of the stage.
        files: hash of each file that the stage wrote.
    """
    facts = run.facts() if "text" in STAGES[result.name].corpora else {}
    done = {
        **manifest["stages"],
        result.name: {
            "signature": signature,
            "seconds": round(result.seconds, 3),
            "tables": list(result.tables),
            "files": dict(files),
            "notes": list(dict.fromkeys([*facts.pop("notes", []), *result.notes])),
        },
    }
    stages = {name: done[name] for name in STAGES if name in done}
    return {**manifest, **facts, **result.facts, "stages": stages, "notes": notes_of(run, stages)}


def notes_of(run: Run, stages: Mapping[str, Any]) -> list[str]:
    """Return the notes for the user on the run and its finished stages, without duplicates."""
    notes = [note for stage in stages.values() for note in stage["notes"]]
    return list(dict.fromkeys([*run.facts()["notes"], *notes]))
