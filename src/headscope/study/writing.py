"""A run's stages measured and written, each as it is done, so that nothing computed is lost."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.study.files import read_arrays, write_arrays, write_json, write_parquet
from headscope.study.options import Watcher
from headscope.study.results import StageResult
from headscope.study.stage_table import Stage, stage_signature
from headscope.study.stages import Run, manifest_of, measure_stage, notes_of, stages_of, with_stage
from headscope.study.study import MANIFEST, check_out, has_stage, open_study


def write_run(run: Run, out: Path, *, watch: Watcher | None = None) -> None:
    """Measure a run's stages and write their tables; a stage whose signature the folder holds already is kept.

    The folder is looked at before a scan, so that no work is lost to a wrong place. Stages of the folder that this
    run does not ask for stay. Only the last writing of the manifest says that the run is whole.

    Raises:
        OutputError: the folder holds something else.
    """
    found = check_out(out, run.signature)
    manifest = {**manifest_of(run), **(found or {}), "signature": run.signature}
    ids: dict[str, str] = {}
    for stage in stages_of(run):
        earlier = _Written(out, list(ids))
        signature = stage_signature(stage, run.signature, run.options, before=ids)
        ids[stage.name] = signature
        if has_stage(out, manifest, stage.name, signature=signature):
            continue
        result = measure_stage(stage, run, earlier, watch)
        manifest = _write_stage(out, _without(manifest, stage), result)
        manifest = with_stage(manifest, run, result, signature=signature)
        # Now, not with the next stage: that may be stopped long before it has anything to write.
        write_json(out / MANIFEST, {**manifest, "complete": False})
    whole = {**manifest, "notes": notes_of(run, manifest["stages"]), "complete": True}
    if whole != found:
        write_json(out / MANIFEST, whole)


def read_stages(out: Path, *names: str) -> list[StageResult]:
    """Read a run's stages back from its folder, those named or all, for what shows their tables.

    Sums are left on the disk.
    """
    study = open_study(out)
    return [
        StageResult(
            name=name,
            tables={table: study.table(table) for table in stage["tables"]},
            facts=study.manifest,
            notes=tuple(stage["notes"]),
            seconds=stage["seconds"],
        )
        for name, stage in study.manifest["stages"].items()
        if not names or name in names
    ]


def _without(manifest: dict[str, Any], stage: Stage) -> dict[str, Any]:
    """Return the manifest without a stage, before its tables are written over."""
    return {**manifest, "stages": {k: v for k, v in manifest["stages"].items() if k != stage.name}}


def _write_stage(out: Path, manifest: dict[str, Any], result: StageResult) -> dict[str, Any]:
    # The folder says whose it is before anything else lies in it, and never claims tables half of which are older.
    write_json(out / MANIFEST, {**manifest, "complete": False})
    for table, frame in result.tables.items():
        write_parquet(out / "tables" / f"{table}.parquet", frame)
    about = {"signature": manifest["signature"]["id"]}
    write_arrays(out / "state" / f"{result.name}.safetensors", result.state, about=about)
    return manifest


class _Written(Mapping[str, StageResult]):
    """The stages of this run that are done, read from its folder when a later stage asks for one."""

    def __init__(self, out: Path, names: Sequence[str]) -> None:
        self.out, self.names = out, names

    def __getitem__(self, name: str) -> StageResult:
        if name not in self.names:
            raise KeyError(name)
        (result,) = read_stages(self.out, name)
        state, _ = read_arrays(self.out / "state" / f"{name}.safetensors")
        return StageResult(name=name, tables=result.tables, facts=result.facts, state=state)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
