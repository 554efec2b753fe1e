"""A finished run: its manifest, its tables, and the views derived from them."""

import shutil
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from headscope.attention.head_id import HeadId
from headscope.errors import InputError, OutputError
from headscope.present.head_columns import finders, head_columns, summaries, verdicts_by_head
from headscope.present.manifest import CHANGED, MANIFEST, RunTables, read_manifest
from headscope.present.paper_table import PaperTable, is_bert_base
from headscope.present.values import Findings, HeadCard, StudyWords, labeled_array
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions
from headscope.statistics.roles import roles
from headscope.statistics.tables.frames import WEIGHT, of_measure
from headscope.storage.atomic import is_free
from headscope.storage.lock import placed
from headscope.storage.places import is_own
from headscope.visible import count

_HEAD_COLUMNS = ["kind", "layer", "head"]
_OF_PAPER = {name: analysis for analysis in ANALYSES for name in analysis.paper}


class Study:
    """The results of one run, for users, pages and the atlas: labeled arrays and tables.

    >>> study = open_study("out")
    >>> study["entropy"].sel(layer=1, head=8)

    Attributes:
        manifest: signature, kinds, counts, timings and notes.
        tables: data frames by name; a table of a run's folder is read when it is first used.
        path: the run's folder.
    """

    def __init__(
        self,
        manifest: Mapping[str, Any],
        tables: Mapping[str, Any],
        *,
        path: Path = Path(),
        words: StudyWords | None = None,
    ) -> None:
        """Put a study together; `open_study` reads one from a run's folder.

        Args:
            manifest: manifest as a run writes it.
            tables: data frames by name; each is read when it is first used.
            path: the run's folder.
            words: renderer of the study and its heads in words.
        """
        self.manifest = manifest
        self.tables: Mapping[str, pd.DataFrame] = tables
        self.path = path
        self._words = words

    def __getitem__(self, statistic: str) -> xr.DataArray:
        """Return a statistic of the model's first kind of attention, dims `layer`, `head`, 1-based."""
        return self.array(statistic)

    def array(self, statistic: str, *, kind: str | None = None, measure: str = WEIGHT) -> xr.DataArray:
        """Return a statistic as a labeled array, `[layer, head]`, with `ci_low` and `ci_high`.

        Args:
            statistic: a name of `stats.parquet`.
            kind: `encoder`, `decoder` or `cross`; the model's first kind when None.
            measure: `weight` for attention weights, or `norm` for norm-weighted attention.

        Raises:
            KeyError: no such statistic, kind or measure; the message lists those available.
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
        """The rows of `stats.parquet` that measure attention weights: fractions, nats, 1-based layers and heads.

        `table("stats")` has norm-weighted attention, too.
        """
        return of_measure(self.table("stats"))

    @cached_property
    def roles(self) -> pd.DataFrame:
        """The role of each head and the relations it finds: columns `kind layer head role finds`; see `behaviors`."""
        relations_of = finders(self.tables.get) or {}
        named = roles(self.stats)
        keys = zip(named["kind"], named["layer"], named["head"], strict=True)
        return named.assign(finds=pd.Series([relations_of.get(key, []) for key in keys], dtype=object))

    @cached_property
    def heads(self) -> pd.DataFrame:
        """A row for each head, a column for each measure of every analysis of the run.

        Columns: `kind layer head` (1-based); `summary`, the first line of the head's card, if the study was opened
        from its folder; `role` and `finds`, if statistics were measured; `shows`, the behaviors that the head shows,
        if behaviors were measured; and the measures, named `analysis.measure` or `analysis.measure.class`:
        `stats.previous`, `stats.previous.norm`, `behaviors.induction`, `syntax.nsubj.dependent_to_head`,
        `coref.pronoun` ... Units are those of the source tables; docs/python.md lists them.
        """
        table = head_columns(self.tables.get)
        first = table[_HEAD_COLUMNS]
        keys = list(first.itertuples(index=False, name=None))
        if "stats" in self.tables:
            first = first.merge(self.roles, on=_HEAD_COLUMNS, how="left")
            if self._words is not None:
                lines = self._words.summaries(self)
                first.insert(len(_HEAD_COLUMNS), "summary", [lines.get(key) for key in keys])
        if (every := verdicts_by_head(self.tables.get)) is not None:
            first = first.assign(shows=pd.Series([every.get(key, []) for key in keys], dtype=object))
        return pd.concat([first, table.drop(columns=_HEAD_COLUMNS)], axis=1)

    @cached_property
    def examples(self) -> pd.DataFrame:
        """The table `examples.parquet`: sentences with the attention of selected heads."""
        return self.table("examples")

    @cached_property
    def findings(self) -> Findings:
        """The sentences that the run supports, with their numbers and intervals, as the report prints them.

        Raises:
            InputError: the study was built from tables in memory; only a study opened from its folder has sentences.
        """
        return self._in_words.findings(self)

    def head(self, layer: int | str | HeadId, head: int | None = None, *, kind: str | None = None) -> HeadCard:
        """Return one head: the first line of its card, and example sentences of its behavior.

        >>> study.head(3, 10)
        >>> study.head("3-10")

        Args:
            layer: layer of the head, from 1; or the head itself, as `3-10` or a `HeadId`.
            head: number of the head in its layer, from 1.
            kind: `encoder`, `decoder` or `cross`; the model's first kind when None.

        Raises:
            KeyError: the model has no such head; the message gives the range of heads.
            InputError: the study was built from tables in memory, or has no statistics.
        """
        named = HeadId.parse(layer, kind=kind or self.kinds[0]) if isinstance(layer, str) else layer
        if not isinstance(named, HeadId):
            if head is None:
                raise KeyError(f"layer {layer} alone is not a head; give layer and head, as study.head(3, 10)")
            named = HeadId(kind or self.kinds[0], named, head)
        sizes = {part["kind"]: part for part in self.manifest["kinds"]}
        if named.kind not in sizes:
            raise KeyError(f"no {named.kind} attention; this study has {', '.join(sizes)}")
        size = sizes[named.kind]
        if not (1 <= named.layer <= size["layers"] and 1 <= named.head <= size["heads"]):
            raise KeyError(f"no head {named}; this study has 1-1 to {size['layers']}-{size['heads']}")
        return self._head_card(named)

    @cached_property
    def _head_card(self) -> Callable[[HeadId], HeadCard]:
        self.table("stats")
        return self._in_words.head_cards(self)

    @property
    def _in_words(self) -> StudyWords:
        if self._words is None:
            raise InputError("this study is of tables in memory; open its folder with headscope.open_study for words")
        return self._words

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the run; `tables.get` returns None if the run did not write it.

        Raises:
            KeyError: the run has no such table; the message lists its tables.
            InputError: the table's file is missing, or has changed since the run wrote it.
        """
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; this study has {', '.join(self.tables)}")
        return self.tables[name]

    def table_1(self) -> PaperTable:
        """Return table 1 of the paper with this run's numbers: the best head of each dependency relation.

        `to_latex()` and `to_csv()` write it, `frame` holds the numbers.

        Raises:
            KeyError: the run measured no dependency relations; the message names the options that would.
        """
        return self._paper_table("table-1")

    def table_2(self) -> PaperTable:
        """Return table 2 of the paper with this run's numbers: antecedents by type of mention; see `table_1`."""
        return self._paper_table("table-2")

    def table_3(self) -> PaperTable:
        """Return table 3 of the paper with this run's numbers: syntax trees found by probes; see `table_1`."""
        return self._paper_table("table-3")

    def paper_tables(self) -> list[PaperTable]:
        """Return the tables for a paper that the run has numbers for, those of Clark et al. 2019 first."""
        tables = [analysis.load(analysis.paper[name])(self) for name, analysis in sorted(_OF_PAPER.items())]
        return [table for table in tables if table is not None]

    def _paper_table(self, name: str) -> PaperTable:
        analysis = _OF_PAPER[name]
        table: PaperTable | None = analysis.load(analysis.paper[name])(self)
        if table is None:
            options = options_of(RunOptions).values()
            needs = [each.flag for corpus in analysis.stages[0].corpora for each in options if corpus in each.holds]
            raise KeyError(
                f"this study has no {name} ({analysis.question[:1].lower()}{analysis.question[1:]}); "
                f"run headscope report with {' and '.join(needs)}"
            )
        return table

    @cached_property
    def is_bert_base(self) -> bool:
        """True if the model is the paper's; only then the paper's numbers are printed next to the measured ones."""
        return is_bert_base(self.manifest)

    @property
    def report_path(self) -> Path:
        """Path of the report page."""
        return self.path / "report.html"

    def save(self, folder: str | Path) -> "Study":
        """Copy the run's folder, and return the study of the copy.

        >>> study = hs.report(text="my.txt").save("my-report")

        Args:
            folder: path of the copy: new, or an empty folder.

        Raises:
            InputError: the study was built from tables in memory, which have no folder.
            OutputError: `folder` exists and is not empty.
        """
        if not isinstance(self.tables, RunTables):
            raise InputError(
                "this study is of tables in memory; only a study that is opened from its folder can be saved"
            )
        out = Path(folder)
        if not is_free(out):
            raise OutputError(f"{out} is there already; give save() the path of a new folder")
        with placed(out) as part:
            shutil.copytree(self.path, part, ignore=lambda path, names: [name for name in names if is_own(Path(name))])
        return open_study(out, words=self._words)

    def summary(self) -> str:
        """Return one line that names the model, its kinds of attention and the size of the input."""
        model = self.manifest["signature"]["model"]["name"]
        counts = self.manifest["counts"]
        kinds = ", ".join(f"{k['layers']} x {k['heads']} {k['kind']} heads" for k in self.manifest["kinds"])
        said = [f"{model}: {kinds}"]
        if counts["segments"]:
            said.append(f"{count(counts['segments'], 'segment')} of {count(counts['documents_used'], 'document')}")
        return "; ".join([*said, *summaries(self.manifest)])

    def __repr__(self) -> str:
        return f"<Study of {self.summary()}; {self.path}>"

    def _repr_html_(self) -> str | None:
        return None if self._words is None else self._words.card(self)

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names of the statistics, for completion of `study["...`."""
        return [str(name) for name in self.stats["statistic"].unique()] if "stats" in self.tables else []


def open_study(path: str | Path, *, words: StudyWords | None = None) -> Study:
    """Open a run's folder.

    Args:
        path: path of the folder.
        words: renderer of the study and its heads in words.

    Raises:
        InputError: the folder has no run, or its manifest has changed since the run wrote it.
    """
    folder = Path(path)
    sealed = read_manifest(folder)
    if sealed is None:
        raise InputError(
            f"{path} holds no headscope run: expected a manifest.json, as headscope report --out writes it"
        )
    if not sealed.whole:
        raise InputError(f"{folder / MANIFEST} {CHANGED.format(path=path)}")
    return Study(sealed.content, RunTables(folder, sealed.content), path=folder, words=words)
