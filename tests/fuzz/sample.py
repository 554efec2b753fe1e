"""An input of headscope: a few files by their path in a folder. A corpus has one, a run some twenty."""

import io
import shutil
import zipfile
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

Sample: TypeAlias = dict[str, bytes]


def write_sample(sample: Sample, folder: Path) -> Path:
    """Write these files into the folder and remove all others."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in sample.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def read_sample(folder: Path) -> Sample:
    """Return the files in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def pack(sample: Sample) -> bytes:
    """Return a sample as one zip file, with the same bytes each time."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(sample.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return held.getvalue()


def unpack(packed: bytes) -> Sample:
    """Return the sample in a zip file of `pack`."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def named(sample: Sample) -> str:
    """Return a name of a sample: 12 hex digits of a hash."""
    digest = blake2b(digest_size=6)
    for name, content in sorted(sample.items()):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
