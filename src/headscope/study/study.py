"""A run's directory, and what is in it."""

from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import xarray as xr

from headscope.analyses.for_study import finders, head_columns, summaries, verdicts_by_head
from headscope.counted import count
from headscope.errors import InputError
from headscope.statistics.measures import TABLES as OF_BOTH_MEASURES
from headscope.statistics.measures import WEIGHT, of_measure, with_measure
from headscope.statistics.roles import roles
from headscope.storage.atomic import hash_of
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.study.labeled_array import labeled_array
from headscope.study.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from headscope.report_kit.tables.paper_table import PaperTable

_HEAD_COLUMNS = ["kind", "layer", "head"]
_AGAIN = "give the same headscope command with --out {path} again, which measures that part anew"
_CHANGED = f"was changed or damaged since the run wrote it; {_AGAIN}"
_GONE = f"is not there any more; {_AGAIN}"
_MOST_TABLE = 1 << 30  # bytes


class Study:
    """The results of one run: labeled arrays and tables, read from its directory when asked for.

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
        """Return a statistic of the model's first kind of attention, dims `layer`, `head`, 1-based."""
        return self.array(statistic)

    def array(self, statistic: str, *, kind: str | None = None, measure: str = WEIGHT) -> xr.DataArray:
        """Return a statistic as a labeled array, `[layer, head]`, with `ci_low` and `ci_high`.

        Args:
            statistic: a name of `stats.parquet`.
            kind: `encoder`, `decoder` or `cross`; the first that the model has when None.
            measure: of where heads look (`weight`), or of what they write of it (`norm`).

        Raises:
            KeyError: no such statistic, kind or measure; names those there are.
        """
        table = self.table("stats")
        rows = of_measure(table, measure)
        if rows.empty:
            raise KeyError(f"no measure {measure!r}; this study has {', '.join(table['measure'].unique())}")
        return labeled_array(rows, statistic, kind=kind or self.kinds[0])

    @property
    def kinds(self) -> list[str]:
        """The kinds of attention of the model."""
        return [part["kind"] for part in self.manifest["kinds"]]

    @cached_property
    def stats(self) -> pd.DataFrame:
        """The table `stats.parquet`, of where heads look: fractions, nats, 1-based layers and heads.

        `table("stats")` has what they write of it, too.
        """
        return of_measure(self.table("stats"))

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The role of each head, and what it finds: columns `kind layer head role finds`; see `behaviors`."""
        relations_of = finders(self.optional_table) or {}
        named = roles(self.stats)
        keys = zip(named["kind"], named["layer"], named["head"], strict=True)
        return named.assign(finds=pd.Series([relations_of.get(key, []) for key in keys], dtype=object))

    @cached_property
    def heads(self) -> pd.DataFrame:
        """A row for each head, a column for each measure of every analysis that the run made.

        Columns `kind layer head` (1-based); `role` and `finds` where statistics were measured; `shows`, the
        behaviors that it shows, where they were; and the measures, `analysis.measure` with the class behind it where
        there is one: `stats.previous`, `stats.previous.norm`, `behaviors.induction`, `syntax.nsubj.dependent_to_head`,
        `coref.pronoun` ... Units are those of the tables that they come from; which they are stands in docs/python.md.
        """
        table = head_columns(self.optional_table)
        first = table[_HEAD_COLUMNS]
        if "stats" in self.tables:
            first = first.merge(self.roles, on=_HEAD_COLUMNS, how="left")
        if (every := verdicts_by_head(self.optional_table)) is not None:
            keys = first[_HEAD_COLUMNS].itertuples(index=False, name=None)
            first = first.assign(shows=pd.Series([every.get(key, []) for key in keys], dtype=object))
        return pd.concat([first, table.drop(columns=_HEAD_COLUMNS)], axis=1)

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
        return sorted(table for stage in self.manifest["stages"].values() for table in stage["tables"])

    def table(self, name: str) -> pd.DataFrame:
        """Read a table of the run as a data frame.

        Raises:
            KeyError: the run has no such table; names those it has.
            InputError: its file is gone, or is not as the run wrote it.
        """
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; this study has {', '.join(self.tables)}")
        frame = pd.read_parquet(BytesIO(checked(self.path, self.manifest, f"tables/{name}.parquet")))
        return with_measure(frame) if name in OF_BOTH_MEASURES else frame

    def table_1(self) -> "PaperTable":
        """Return table 1 of the paper, of this run's numbers: the best head of each dependency relation.

        `to_latex()` and `to_csv()` write it, `frame` holds the numbers.

        Raises:
            KeyError: the run measured no dependency relations; says what would.
        """
        return self._paper_table(1)

    def table_2(self) -> "PaperTable":
        """Return table 2 of the paper, of this run's numbers: antecedents by type of mention; as `table_1`."""
        return self._paper_table(2)

    def table_3(self) -> "PaperTable":
        """Return table 3 of the paper, of this run's numbers: what probes find of the tree; as `table_1`."""
        return self._paper_table(3)

    def _paper_table(self, number: int) -> "PaperTable":
        from headscope.study.paper_tables import paper_table

        return paper_table(self, number)

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
            read.append(
                f"{count(counts['segments'], 'segment')} of {count(counts['documents_used'], 'document')}"
            )
        read += summaries(self.manifest)
        return f"{model}: {kinds}; {'; '.join(read)}"

    def __repr__(self) -> str:
        return f"<Study of {self.summary()}; {self.path}>"

    def _repr_html_(self) -> str:
        # By its name: findings are put in words further right than tables are read.
        return str(import_module("headscope.reporting.study_card").study_card(self))


def open_study(path: str | Path) -> Study:
    """Open a run's directory.

    Raises:
        InputError: there is no run in it, or its manifest is not as the run wrote it.
    """
    sealed = read_manifest(Path(path))
    if sealed is None:
        raise InputError(
            f"{path} holds no headscope run: expected a manifest.json, as headscope report --out writes it"
        )
    if not sealed.whole:
        raise InputError(f"{Path(path) / MANIFEST} {_CHANGED.format(path=path)}")
    return Study(Path(path), sealed.content)


def checked(folder: Path, manifest: Mapping[str, Any], file: str) -> bytes:
    """Return the bytes of a run's file, if they are those that the run wrote.

    Args:
        folder: of the run.
        manifest: has the file's hash.
        file: its path in the folder, as `tables/stats.parquet`.

    Raises:
        InputError: they are not, the file is gone, or something else lies there; says what to do.
    """
    hashes = [stage["files"].get(file) for stage in manifest["stages"].values()]
    try:
        content = read_regular(folder / file, most=_MOST_TABLE)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder / file} {_GONE.format(path=folder)}") from None
    except UnreadableFileError as error:
        raise InputError(f"{folder / file} {error.problem}; {_AGAIN.format(path=folder)}") from None
    if hash_of(content) not in hashes:
        raise InputError(f"{folder / file} {_CHANGED.format(path=folder)}")
    return content
