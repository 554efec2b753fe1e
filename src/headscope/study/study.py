"""A run's directory, and what is in it."""

import json
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from headscope.errors import InputError, OutputError
from headscope.heads.behaviours import finds, roles
from headscope.study.results import surface_array

MANIFEST = "manifest.json"


class Study:
    """The results of one run: labelled arrays and tables, read from its directory when asked for.

    >>> study = open_study("out")
    >>> study["entropy"].sel(layer=1, head=8)

    Attributes:
        path: the run's directory.
        manifest: signature, kinds, counts, timings and notes.
    """

    def __init__(self, path: Path, manifest: Mapping[str, Any]) -> None:
        self.path = path
        self.manifest = manifest

    def __getitem__(self, statistic: str) -> xr.DataArray:
        """Return a surface statistic of the model's first kind of attention, dims `layer`, `head`, 1-based."""
        return self.array(statistic)

    def array(self, statistic: str, *, kind: str | None = None) -> xr.DataArray:
        """Return a surface statistic as a labelled array, `[layer, head]`, with `ci_low` and `ci_high`.

        Args:
            statistic: a name of `surface.parquet`.
            kind: `encoder`, `decoder` or `cross`; the first that the model has when None.

        Raises:
            KeyError: no such statistic or kind; names those there are.
        """
        return surface_array(self.surface, statistic, kind=kind or self.kinds[0])

    @property
    def kinds(self) -> list[str]:
        """The kinds of attention of the model."""
        return [part["kind"] for part in self.manifest["kinds"]]

    @cached_property
    def surface(self) -> pd.DataFrame:
        """The table `surface.parquet`: fractions, nats, 1-based layers and heads."""
        return self.table("surface")

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The role of each head, and what it finds: columns `kind layer head role finds`; see `behaviours`."""
        found = finds(self.optional_table("dependency_best"), self.optional_table("coreference"))
        named = roles(self.surface)
        keys = zip(named["kind"], named["layer"], named["head"], strict=True)
        return named.assign(finds=pd.Series([found.get(key, []) for key in keys], dtype=object))

    @cached_property
    def examples(self) -> pd.DataFrame:
        """The table `examples.parquet`: sentences on which heads are drawn."""
        return self.table("examples")

    def optional_table(self, name: str) -> pd.DataFrame | None:
        """Read a table, or return None where the run did not make it."""
        return self.table(name) if name in self.tables else None

    @property
    def tables(self) -> list[str]:
        """Names of the tables that the run wrote."""
        return sorted(path.stem for path in (self.path / "tables").glob("*.parquet"))

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of the run as a data frame.

        Raises:
            KeyError: the run has no such table; names those it has.
        """
        path = self.path / "tables" / f"{name}.parquet"
        if not path.is_file():
            raise KeyError(f"no table {name!r}; this study has {', '.join(self.tables)}")
        return pd.read_parquet(path)

    @property
    def report_path(self) -> Path:
        """Where the report page is."""
        return self.path / "report.html"

    def summary(self) -> str:
        """Say in one line what was run."""
        model = self.manifest["signature"]["model"]["name"]
        counts = self.manifest["counts"]
        kinds = ", ".join(f"{k['layers']} x {k['heads']} {k['kind']} heads" for k in self.manifest["kinds"])
        read = []
        if counts["segments"]:
            read.append(f"{counts['segments']:,} segments of {counts['documents_used']:,} documents")
        if treebank := self.manifest.get("treebank"):
            read.append(f"trees of {treebank['sentences']:,} sentences")
        if coreference := self.manifest.get("coreference"):
            read.append(f"{coreference['counted']:,} mentions with an antecedent")
        if gap := self.manifest.get("gap"):
            read.append(f"{gap['used']:,} rows of GAP")
        return f"{model}: {kinds}; {'; '.join(read)}"

    def __repr__(self) -> str:
        return f"<Study of {self.summary()}; {self.path}>"

    def _repr_html_(self) -> str:
        named = self.roles.groupby(["kind", "role"]).size().unstack(fill_value=0)
        return (
            f"<p><b>headscope study</b> of {escape(self.summary())}<br>"
            f"<code>{escape(str(self.report_path))}</code></p>"
            f"<p>Heads by role:</p>{named.to_html(border=0)}"
            f"<p>Statistics: {escape(', '.join(self.surface['statistic'].unique()))}; "
            f"tables: {escape(', '.join(self.tables))}</p>"
        )


def open_study(path: str | Path) -> Study:
    """Open a run's directory.

    Raises:
        InputError: there is no finished run in it.
    """
    manifest = read_manifest(Path(path))
    if manifest is None:
        raise InputError(
            f"{path} holds no headscope run: expected a manifest.json, as headscope report --out writes it"
        )
    return Study(Path(path), manifest)


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Read a run's manifest, or None where there is none.

    Raises:
        InputError: the file is not the manifest of a run.
    """
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise InputError(
            f"{path / MANIFEST} is not JSON ({error}); delete the folder and run again"
        ) from error
    if not isinstance(manifest, dict) or not {"signature", "kinds", "counts"} <= manifest.keys():
        raise InputError(
            f"{path / MANIFEST} is not the manifest of a headscope run; give a folder that headscope report wrote"
        )
    return manifest


def check_out(path: Path, signature: Mapping[str, Any]) -> dict[str, Any] | None:
    """Look whether a directory is free for a run, or holds stages of the same model and corpora already.

    Returns:
        The manifest if it does and was made with the same versions; else None.

    Raises:
        OutputError: it holds a run of another model, of corpora of other names, or something else.
    """
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file; --out expects a folder, new or empty")
    manifest = read_manifest(path)
    if manifest is not None:
        found = manifest["signature"]
        if _same_study(found, signature):
            # Numbers of other versions are computed anew.
            return manifest if found.get("versions") == signature["versions"] else None
        corpora = found.get("corpus", {})
        names = [corpora.get("name"), *(c["name"] for c in corpora.values() if isinstance(c, Mapping))]
        what = "; ".join(
            dict.fromkeys(str(name) for name in [found.get("model", {}).get("name"), *names] if name)
        )
        raise OutputError(
            f"{path} already holds a different run ({what}; signature {found.get('id')}); give another --out, or "
            "delete that folder"
        )
    if path.is_dir() and any(path.iterdir()):
        raise OutputError(f"{path} holds other files and no headscope run; give --out a new or empty folder")
    _try_to_write(path)
    return None


def _same_study(found: Mapping[str, Any], signature: Mapping[str, Any]) -> bool:
    """Whether another run may add to a folder: the same model, and no corpus of another name in an old one's place."""

    def model(of: Mapping[str, Any]) -> list[Any]:
        return [of.get("model", {}).get(key) for key in ("weights", "family")] + [of.get("tokeniser")]

    def clash(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        # The same files under other options give another hash (a limit cuts them); other files have other names.
        return all(key in each for key in ("name", "hash") for each in (old, new)) and all(
            old[key] != new[key] for key in ("name", "hash")
        )

    old, new = found.get("corpus", {}), signature["corpus"]
    parts = [name for name in new if isinstance(new[name], Mapping) and isinstance(old.get(name), Mapping)]
    clashes = [clash(old, new), *(clash(old[name], new[name]) for name in parts)]
    return model(found) == model(signature) and not any(clashes)


def has_stage(path: Path, manifest: Mapping[str, Any], name: str, *, signature: str) -> bool:
    """Whether a stage with this signature is finished: the manifest says so, and its tables are there."""
    stage = manifest.get("stages", {}).get(name)
    if not isinstance(stage, dict) or stage.get("signature") != signature:
        return False
    tables = stage.get("tables", [])
    return bool(tables) and all((path / "tables" / f"{table}.parquet").is_file() for table in tables)


def _try_to_write(path: Path) -> None:
    """Fail now rather than after a long scan, if the folder cannot be made or written to."""
    path.mkdir(parents=True, exist_ok=True)
    probe = path / ".headscope.tmp"
    try:
        probe.touch()
    finally:
        probe.unlink(missing_ok=True)
