"""Checks of a run's directory before it is written to: which run it holds, and which stages are finished."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import OutputError
from headscope.scans.shard_checkpoint import SHARDS
from headscope.storage.atomic import hash_of_file
from headscope.storage.places import contents, sweep
from headscope.storage.sealed import Sealed
from headscope.study.manifest import read_manifest

FOLDERS = ("tables", "state", "figures", "atlas", SHARDS)


def check_run_folder(path: Path) -> Sealed | None:
    """Check that a directory is free for a run or already holds one; return the manifest of that run.

    Raises:
        OutputError: the path is a file, or the directory holds something else.
        InputError: its manifest is not a valid manifest.
    """
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file; --out expects a folder, new or empty")
    sealed = read_manifest(path)
    if sealed is None and path.is_dir() and any(contents(path)):
        raise OutputError(f"{path} holds other files and no headscope run; give --out a new or empty folder")
    return sealed


def check_out(path: Path, signature: Mapping[str, Any]) -> Sealed | None:
    """Check that a directory, which the caller has locked, may take a run; remove leftovers of stopped runs.

    Returns:
        The manifest of the run of the same model and corpora that it holds; None if it holds none.

    Raises:
        OutputError: it holds a run of another model, of corpora of other names, or something else.
        InputError: its manifest is not a valid manifest.
    """
    sealed = check_run_folder(path)
    if sealed is not None and not _same_study(sealed.content["signature"], signature):
        raise OutputError(_other_run(path, sealed.content["signature"]))
    sweep(path, *(path / name for name in FOLDERS))
    return sealed


def damaged_files(path: Path, stage: Mapping[str, Any]) -> list[str]:
    """Return the files of a stage, given its entry in the manifest, that are missing or changed since written."""
    files = stage.get("files", {})
    lacking = [f"tables/{table}.parquet" for table in stage.get("tables", [])]
    return [file for file in dict.fromkeys([*lacking, *files]) if hash_of_file(path / file) != files.get(file, "")]


def _other_run(path: Path, signature: Mapping[str, Any]) -> str:
    corpora = signature.get("corpus", {})
    names = [corpora.get("name"), *(c.get("name") for c in corpora.values() if isinstance(c, Mapping))]
    what = "; ".join(dict.fromkeys(str(name) for name in [signature.get("model", {}).get("name"), *names] if name))
    return (
        f"{path} already holds a different run ({what}; signature {signature.get('id')}); give another --out, or "
        "delete that folder"
    )


def _same_study(earlier: Mapping[str, Any], signature: Mapping[str, Any]) -> bool:
    """Return True if another run may add to a folder: the same model, and no corpus replaced by one of another name."""

    def model(of: Mapping[str, Any]) -> list[Any]:
        return [of.get("model", {}).get(key) for key in ("weights", "configuration", "family")] + [of.get("tokenizer")]

    def clash(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        # The same files under other options have another hash (a limit cuts them); other files have other names.
        return all(key in each for key in ("name", "hash") for each in (old, new)) and all(
            old[key] != new[key] for key in ("name", "hash")
        )

    old, new = earlier.get("corpus", {}), signature["corpus"]
    parts = [name for name in new if isinstance(new[name], Mapping) and isinstance(old.get(name), Mapping)]
    clashes = [clash(old, new), *(clash(old[name], new[name]) for name in parts)]
    return model(earlier) == model(signature) and not any(clashes)
