"""A run's stages measured and written, each as it is done, so that nothing computed is lost."""

from pathlib import Path

from headscope.study.files import write_arrays, write_json, write_parquet
from headscope.study.options import Watcher
from headscope.study.results import StageResult
from headscope.study.stages import Run, manifest_of, stages_of, with_stage
from headscope.study.study import MANIFEST, check_out, has_stage, open_study


def write_run(run: Run, out: Path, *, watch: Watcher | None = None) -> None:
    """Measure a run's stages and write their tables; stages that the folder holds already are kept.

    The folder is looked at before a scan, so that no work is lost to a wrong place. Only the last writing of the
    manifest says that the run is whole.

    Raises:
        OutputError: the folder holds something else.
    """
    manifest = check_out(out, run.signature) or manifest_of(run)
    for name, stage in stages_of(run).items():
        if has_stage(out, manifest, name):
            continue
        result = stage(run, watch)
        # The folder says whose it is before anything else lies in it.
        write_json(out / MANIFEST, {**manifest, "complete": False})
        for table, frame in result.tables.items():
            write_parquet(out / "tables" / f"{table}.parquet", frame)
        about = {"signature": run.signature["id"]}
        write_arrays(out / "state" / f"{name}.safetensors", result.state, about=about)
        manifest = with_stage(manifest, run, result)
        # Now, not with the next stage: that may be stopped long before it has anything to write.
        write_json(out / MANIFEST, {**manifest, "complete": False})
    write_json(out / MANIFEST, {**manifest, "complete": True})


def read_stages(out: Path) -> list[StageResult]:
    """Read a run's stages back from its folder, for what shows their tables; sums are left on the disk."""
    study = open_study(out)
    return [
        StageResult(
            name=name,
            tables={table: study.table(table) for table in stage["tables"]},
            facts=study.manifest,
            notes=tuple(study.manifest["notes"]),
            seconds=stage["seconds"],
        )
        for name, stage in study.manifest["stages"].items()
    ]
