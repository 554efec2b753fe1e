"""From a prepared run to its tables, stage by stage."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from headscope.attention.source import TileSource
from headscope.encoding.segment import Segment
from headscope.heads.examples import ExampleMaps
from headscope.heads.excerpts import Excerpt
from headscope.models.anatomy import KindLayout
from headscope.study.maps_run import MapsRun
from headscope.study.model_run import ModelRun
from headscope.study.options import RunOptions, Watcher
from headscope.study.results import StageResult
from headscope.study.stage_table import STAGES, Stage


@runtime_checkable
class Run(Protocol):
    """What can be measured: a model over corpora, or saved maps."""

    options: RunOptions
    signature: dict[str, Any]

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The kinds of attention."""

    @property
    def total(self) -> int | None:
        """Documents in all, where that is known."""

    def done(self, segments: int) -> int:
        """About how many documents so many computed segments make up."""

    def source(self) -> TileSource:
        """Return the stream of tiles."""

    def example_source(self) -> TileSource:
        """Return the stream of tiles over a few short inputs."""

    def names(self, maps: ExampleMaps) -> tuple[list[str], list[str]]:
        """Return readable tokens of a map's rows and columns."""

    def again(self, segments: Iterable[Segment]) -> TileSource:
        """Return the stream of tiles over segments that a scan kept."""

    def written(self, excerpt: Excerpt) -> tuple[list[str], list[str], str]:
        """Return readable tokens of an excerpt's rows and columns, and what the model read of it as text."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the run beyond its signature."""


def prepare(options: RunOptions) -> Run:
    """Load what the options name and work out the run's signature, without scanning yet.

    Raises:
        HeadscopeError: the model, the corpus or an option is not as it should be.
    """
    return MapsRun(options) if options.maps is not None else ModelRun(options)


def stages_of(run: Run) -> list[Stage]:
    """Return what the run measures, in order."""
    names = [name for name in run.options.wanted if name != "coreference"]
    if isinstance(run, ModelRun):
        names += ["coreference"] * (run.coreference is not None) + ["gap"] * (run.gap is not None)
    return [stage for name, stage in STAGES.items() if name in names]


def measure(run: Run, *, watch: Watcher | None = None) -> Iterator[StageResult]:
    """Measure the stages one after another.

    Args:
        run: from `prepare`.
        watch: told of progress after each batch.
    """
    earlier: dict[str, StageResult] = {}
    for stage in stages_of(run):
        earlier[stage.name] = measure_stage(stage, run, earlier, watch)
        yield earlier[stage.name]


def measure_stage(
    stage: Stage, run: Run, earlier: Mapping[str, StageResult], watch: Watcher | None
) -> StageResult:
    """Measure one stage, with what it reads of the stages before it."""
    given = [earlier] if stage.after else []
    result: StageResult = stage.measure(run, *given, watch)
    return result


def manifest_of(run: Run) -> dict[str, Any]:
    """Return a run's manifest before its stages: what it is, and that it is not complete."""
    return {
        "headscope": run.signature["versions"]["headscope"],
        "created": datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z"),
        "complete": False,
        "signature": run.signature,
        "kinds": [asdict(part) for part in run.layout],
        "stages": {},
        **run.facts(),
    }


def with_stage(
    manifest: dict[str, Any], run: Run, result: StageResult, *, signature: str, files: Mapping[str, str]
) -> dict[str, Any]:
    """Return the manifest with what a stage found, and the counts as they are now.

    Args:
        manifest: as it was.
        run: what was measured.
        result: of the stage.
        signature: the stage's own.
        files: the hash of each file that it wrote.
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
    """Return what the user should see of the run and of its finished stages, each once."""
    notes = [note for stage in stages.values() for note in stage["notes"]]
    return list(dict.fromkeys([*run.facts()["notes"], *notes]))
