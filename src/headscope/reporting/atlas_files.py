"""A whole report: measure, write the run folder, draw figures and pages, and pack them into a file to send."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from headscope.present.manifest import MANIFEST
from headscope.present.study import Study, open_study
from headscope.reporting.study_words import STUDY_WORDS
from headscope.running.parts import FinishedPart, check_parts
from headscope.running.ray_engine import RayEngine
from headscope.running.run_folder import check_run_folder, free_folder, run_name
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import ModelRun, prepare
from headscope.scans.progress import Watcher
from headscope.storage.atomic import whole_or_absent
from headscope.storage.lock import folder_held

ATLAS = "atlas"


def run_report(
    options: RunOptions,
    *,
    out: Path | None,
    watch: Watcher | None = None,
    parts: Sequence[FinishedPart] = (),
    engine: RayEngine | None = None,
) -> Study:
    """Run the report of `hs.report`, from prepared options.

    The folder is checked before the scan, so that no work is lost to a wrong `--out`. A finished run of the same
    signature is not computed again; only its figures and page are rewritten. Without `out` the folder is named after
    the run: the folder of the same run, or a new one. Shards that the parts of the run have scanned are not scanned
    again. The engine, if given, computes the shards.

    Raises:
        InputError: the text, the model or an option differs from that of the parts.
    """
    run = None
    if out is None:
        run = prepare(options, watch=watch)
        out = free_folder(run_name(options, run.signature["model"]["name"]), run.signature["id"])
    check_run_folder(out)
    # The lock is taken at the start, so that a second run is refused before it loads its model.
    with folder_held(out) as lock:
        run = prepare(options, watch=watch) if run is None else run
        check_parts(parts, run.signature["id"])
        if engine is not None and isinstance(run, ModelRun):
            engine.serve(run)
        folders = [each.folder for each in parts]
        write_run(run, out, watch=watch, further=1, parts=folders, executor=engine)
        study = open_study(out, words=STUDY_WORDS)
        lock.check()
        draw(study)
    return study


def draw(study: Study) -> None:
    """Write the report's page of a run, and the head atlas that the page links to."""
    from headscope.reporting.atlas_page import INDEX, write_atlas
    from headscope.reporting.report_page import write_report

    write_report(study, study.path, atlas=f"{ATLAS}/{INDEX}")
    write_atlas(study, study.path / ATLAS, report=f"../{study.report_path.name}")


PARTS = (MANIFEST, "report.html", ATLAS, "tables")
"""Contents of the zip; files needed only to resume a run are excluded."""


def write_bundle(study: Study) -> Path:
    """Write `NAME.zip` next to a run's folder, atomically, and return its path; an existing zip is replaced.

    It unpacks to one folder with the run's name, whose `report.html` and its links work offline.

    Args:
        study: a run whose pages are written.

    Raises:
        FileNotFoundError: the run has no page yet.
        OSError: the location is not writable.
    """
    folder = study.path.resolve()
    if not study.report_path.exists():
        raise FileNotFoundError(f"{study.report_path} is not there; write the report before it is bundled")
    archive = folder.with_name(f"{folder.name}.zip")
    with whole_or_absent(archive, replace=True) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in _sent(folder):
            packed.write(path, f"{folder.name}/{path.relative_to(folder).as_posix()}")
    return archive


def _sent(folder: Path) -> Iterator[Path]:
    for name in PARTS:
        part = folder / name
        if part.is_file():
            yield part
        elif part.is_dir():
            yield from sorted(path for path in part.rglob("*") if path.is_file())
