"""Run folders that were damaged, edited or left by a killed process: every kind of damage to every file of a run."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.storage.sealed import SEAL, seal_of
from support.hostile import Case

MANIFEST = "manifest.json"


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 8)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _gone(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _no_rows(path: Path) -> None:
    pd.read_parquet(path).head(0).to_parquet(path, index=False)


def _other_columns(path: Path) -> None:
    pd.DataFrame({"a": [1], "b": ["x"]}).to_parquet(path, index=False)


def _edited(path: Path) -> None:
    table = pd.read_parquet(path)
    table.head(len(table) - 1).to_parquet(path, index=False)


FILE_DAMAGE = (_truncated, _one_bit, _garbage, _empty, _gone, _folder)
TABLE_DAMAGE = (*FILE_DAMAGE, _no_rows, _other_columns, _edited)
_VALUES: dict[str, Any] = {
    "null": None,
    "number": 7,
    "huge": 10**400,
    "text": "x",
    "escapes": "\x1b[2J\u202e[/x]",
    "list": [],
    "dict": {},
    "deep": {"a": [[[[{"b": {}}]]]]},
}
# Keys of the manifest that a run's pages read; a dot enters a nested dict, a number a list.
PARTS = (
    *("signature", "signature.model", "signature.model.name", "signature.corpus", "signature.versions"),
    *("kinds", "kinds.0", "kinds.0.kind", "kinds.0.layers", "kinds.0.heads", "counts", "counts.segments"),
    *("stages", "stages.stats", "stages.stats.tables", "stages.stats.files", "stages.stats.notes"),
    *("stages.stats.signature", "notes", "created", "complete", "tap"),
)


def damaged_files(run: Path) -> Iterator[Case]:
    """Yield the run with each table and state file damaged in each way, and the message that names the damage."""
    for file in sorted([*run.glob("tables/*"), *run.glob("state/*")]):
        name = str(file.relative_to(run))
        for damage in TABLE_DAMAGE if file.suffix == ".parquet" else FILE_DAMAGE:
            says = {_gone: "is not there any more", _folder: "is a folder; expected a regular file"}.get(
                damage, "was changed or damaged since the run wrote it"
            )
            yield Case(f"{name}-{damage.__name__[1:]}", _copy_with(run, name, damage), says)


def damaged_manifests(run: Path) -> Iterator[Case]:
    """Yield the run with a manifest that is not JSON, is deeply nested, or has a part of another type."""
    broken = {
        "truncated": (_truncated, "is not JSON"),
        "garbage": (_garbage, "is not JSON"),
        "empty": (_empty, "is not JSON"),
        "folder": (_folder, "is a folder; expected a regular file"),
        "nested": (lambda path: path.write_text("[" * 100_000), "is nested more than 50 deep"),
        "nested-part": (lambda path: path.write_text('{"signature":' * 100_000), "is nested more than 50 deep"),
        "list": (lambda path: path.write_text("[]"), "is not the manifest of a headscope run"),
        "number": (lambda path: path.write_text("7"), "is not the manifest of a headscope run"),
        "others": (lambda path: path.write_text('{"name": "x"}'), "is not the manifest of a headscope run"),
        "large": (_enlarge, "expected at most 67,108,864"),
    }
    for name, (damage, says) in broken.items():
        yield Case(f"manifest-{name}", _copy_with(run, MANIFEST, damage), says)
    for part in PARTS:
        for name, value in _VALUES.items():
            changed = _change(part, value)
            if changed(json.loads((run / MANIFEST).read_text())) is not None:
                yield Case(f"{part}-{name}", _copy_with(run, MANIFEST, _rewrite(changed)), "")


def resealed_manifests(run: Path) -> Iterator[Case]:
    """Yield the run with a part of another type and a matching seal, as a forger would write it."""
    for part in PARTS:
        for name, value in _VALUES.items():
            changed = _change(part, value)
            if changed(json.loads((run / MANIFEST).read_text())) is not None:
                make = _copy_with(run, MANIFEST, _rewrite(changed, seal=True))
                yield Case(f"sealed-{part}-{name}", make, "")


def _enlarge(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(65 << 20)


def _copy_with(run: Path, name: str, damage: Callable[[Path], object]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        copy = folder / "run"
        shutil.copytree(run, copy)
        damage(copy / name)
        return copy

    return make


def _change(part: str, value: Any) -> Callable[[dict[str, Any]], dict[str, Any] | None]:
    """Return a function that sets a value in a manifest; it returns None where that changes nothing."""

    def change(manifest: dict[str, Any]) -> dict[str, Any] | None:
        *way, last = [int(step) if step.isdecimal() else step for step in part.split(".")]
        inner: Any = manifest
        for step in way:
            inner = inner[step]
        if inner[last] == value:
            return None
        inner[last] = value
        return manifest

    return change


def _rewrite(change: Callable[[dict[str, Any]], Any], *, seal: bool = False) -> Callable[[Path], object]:
    def rewrite(path: Path) -> None:
        manifest = change(json.loads(path.read_text()))
        if seal:
            manifest.pop(SEAL)
            manifest[SEAL] = seal_of(manifest)
        path.write_text(json.dumps(manifest))

    return rewrite
