"""A report as one file to send: its page, atlas, figures and tables in a zip in which every link leads somewhere."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from headscope.atlas.atlas_files import ATLAS
from headscope.storage.atomic import whole_or_absent
from headscope.study.manifest import MANIFEST
from headscope.study.study import Study

PARTS = (MANIFEST, "report.html", ATLAS, "figures", "tables")
"""What is sent; what only resuming a run needs stays behind."""


def write_bundle(study: Study) -> Path:
    """Write `NAME.zip` beside a run's folder, whole or not at all, and return its path; an earlier one gives way.

    It unpacks to one folder of the run's name, whose `report.html` opens offline, with what it links.

    Args:
        study: a run whose pages are written.

    Raises:
        FileNotFoundError: the run has no page yet.
        OSError: the place cannot be written to.
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
