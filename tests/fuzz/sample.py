"""What is given to headscope: a few files by their path in a folder. A corpus is one, a run some twenty."""

import io
import shutil
import zipfile
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

Sample: TypeAlias = dict[str, bytes]


def write_sample(sample: Sample, folder: Path) -> Path:
    """Make the folder hold these files and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in sample.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def read_sample(folder: Path) -> Sample:
    """Return the files that lie in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def pack(sample: Sample) -> bytes:
    """Return a sample as one file, the same each time."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(sample.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def unpack(packed: bytes) -> Sample:
    """Return what `pack` was given."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def named(sample: Sample) -> str:
    """Return 12 hex digits that stand for a sample."""
    digest = blake2b(digest_size=6)
    for name, content in sorted(sample.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
