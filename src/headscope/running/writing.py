"""Measure a run's stages and write each when it is done, so that nothing computed is lost."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headscope.analyses.measurement import StageResult
from headscope.present.manifest import MANIFEST, write_manifest
from headscope.present.study import open_study
from headscope.running.run_folder import check_out, finished_stages
from headscope.running.stages import (
    check_stages,
    check_tables,
    manifest_of,
    measure_stage,
    notes_of,
    scan_runner,
    stage_signatures,
    watched_stages,
    with_stage,
)
from headscope.scans.prepare.prepared_run import Run
from headscope.scans.progress import Watcher
from headscope.scans.scan_declaration import ShardExecutor
from headscope.scans.shard_checkpoint import ShardCheckpoint, forget_shards
from headscope.storage.files import read_arrays, write_arrays, write_parquet
from headscope.storage.lock import Held, folder_held
from headscope.storage.sealed import Sealed


def write_run(
    run: Run,
    out: Path,
    *,
    watch: Watcher | None = None,
    further: int = 0,
    parts: Sequence[Path] = (),
    executor: ShardExecutor | None = None,
) -> None:
    """Measure a run's stages and write their tables; a stage whose signature the folder already holds is kept.

    The folder is locked and checked before a scan, so that no work is lost to a wrong path or a concurrent run. Stages
    in the folder that this run does not request stay. A finished stage whose files have changed since they were
    written is measured again, with a note. Only the last writing of the manifest marks the run as complete. `further`
    is the number of steps that follow, such as drawing, for the watcher. Shards that the folders of `parts` hold are
    not scanned again; the others are computed by the executor if one is given.

    Raises:
        OutputError: the folder holds something else, or another run has locked it.
    """
    with folder_held(out) as lock:
        earlier_manifest, words = _usable_manifest(check_out(out, run.signature), out, run)
        manifest = {**manifest_of(run), **earlier_manifest, "signature": run.signature}
        ids = stage_signatures(run)
        finished = finished_stages(out, manifest["stages"], ids, words)

        def keep(stage: str) -> ShardCheckpoint:
            return ShardCheckpoint(
                out,
                stage=stage,
                signature=ids[stage],
                versions=run.signature["versions"],
                minutes=run.options.shard_minutes,
                opened=partial(_open, lock, {**manifest, "complete": False}),
                beside=parts,
            )

        check_stages(run)
        runner = scan_runner(run, finished=finished, checkpoint=keep, executor=executor)
        before: list[str] = []
        for stage, stage_watch in watched_stages(run, watch, further=further, finished=finished):
            earlier = _Written(out, list(before))
            before.append(stage.name)
            if stage.name in finished:
                continue
            result = measure_stage(stage, run, earlier, stage_watch, runner)
            lock.check()
            # The stage is removed from the manifest before its tables are overwritten.
            manifest = {**manifest, "stages": {k: v for k, v in manifest["stages"].items() if k != stage.name}}
            files = _write_stage(out, manifest, result)
            manifest = with_stage(manifest, run, result, signature=ids[stage.name], files=files)
            # The manifest is written after each stage, because the next stage may be stopped before it writes anything.
            write_manifest(out, {**manifest, "complete": False})
            forget_shards(out, [stage.name])
        # Only the run that measures a damaged stage again reports the damage.
        notes = list(dict.fromkeys([*words, *notes_of(run, manifest["stages"])]))
        whole = {**manifest, "notes": notes, "complete": True}
        lock.check()
        if whole != earlier_manifest:
            write_manifest(out, whole)
        # Shards may be left by a run that was killed between writing the manifest and deleting them.
        forget_shards(out, list(manifest["stages"]))


def _open(lock: Held, manifest: Mapping[str, Any]) -> None:
    """Write the manifest of the run before sums of shards are stored in its folder."""
    lock.check()
    if not (lock.folder / MANIFEST).is_file():
        write_manifest(lock.folder, manifest)


def _usable_manifest(before: Sealed | None, out: Path, run: Run) -> tuple[dict[str, Any], list[str]]:
    """Return the part of an earlier manifest that is still valid, and notes for the user about the rest."""
    if before is None:
        return {}, []
    if not before.whole:
        return {}, [f"{MANIFEST} was not as it was written: everything was measured again"]
    # Numbers of other versions are recomputed.
    same = before.content["signature"].get("versions") == run.signature["versions"]
    return (before.content if same else {}), []


def read_stages(out: Path, *names: str) -> list[StageResult]:
    """Read stages of a run, the named ones or all, from its folder, for code that shows their tables.

    Sums are not read.
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


def _write_stage(out: Path, manifest: dict[str, Any], result: StageResult) -> dict[str, str]:
    """Write a stage's tables and sums; return the hash of each file, by its path in the folder.

    Raises:
        ValueError: a table does not match its schema; nothing is written.
    """
    check_tables(result)
    # The manifest comes before anything else in the folder, and never claims tables of which half are older.
    write_manifest(out, {**manifest, "complete": False})
    tables = {f"tables/{table}.parquet": frame for table, frame in result.tables.items()}
    files = {file: write_parquet(out / file, frame) for file, frame in tables.items()}
    state = f"state/{result.name}.safetensors"
    about = {"signature": manifest["signature"]["id"]}
    return {**files, state: write_arrays(out / state, result.state, about=about)}


class _Written(Mapping[str, StageResult]):
    """The finished stages of this run, read from its folder when a later stage needs one."""

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
