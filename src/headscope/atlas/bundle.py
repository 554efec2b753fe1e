"""A report as one file to send: its page, atlas, figures and tables in a zip without broken links."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from headscope.atlas.atlas_files import ATLAS
from headscope.storage.atomic import whole_or_absent
from headscope.study.manifest import MANIFEST
from headscope.study.study import Study

PARTS = (MANIFEST, "report.html", ATLAS, "figures", "tables")
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
