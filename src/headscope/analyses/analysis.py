"""What an analysis declares of itself; whoever lists analyses loads nothing of what they do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headscope.analyses.command import Command
from headscope.named import load
from headscope.statistics.table_schema import TableSchema

# Shape every stage over a corpus; over saved maps only the last does, as the maps say the rest.
_ALL = ("max_length", "token_types", "dtype", "max_inputs")
# How text becomes inputs: said by saved maps, too.
PACKING = ("packing", "too_long")
# The same, with whose random cuts they are.
TEXT_INPUTS = (*PACKING, "compat")
# No other model is measured beside saved maps, and their words were joined when they were made.
_OF_MODELS = ("spacing", "controls", "shuffled")
# What saved maps are of: they hold no mentions.
_IN_MAPS = ("text", "treebank")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of an analysis that is measured, kept and measured again by itself.

    Attributes:
        name: as in the manifest.
        measure: `module:function` within the analysis's folder, imported when the stage is measured.
        tables: `module:name` of the schemas of the tables that it makes, imported when they are asked for.
        corpora: what it reads, by the name in the signature; `text` for the text itself.
        options: those of `RunOptions` that shape its numbers, beyond those that shape all.
        after: stages whose tables it reads, where they are measured.
        version: raised with the tables that it makes; a finished stage of another version is measured again.
        listed: `module:name` of a list, in the package, of what its tables tell; a finished stage whose list was
            another is measured again.
        asked: what it is asked for as, where that is not its name; see `asked_as`.
        given: options without which it is measured only where asked for; see `RunOptions.wanted`.
        beside: the stage with which it is measured, whoever asks for that, where what it is `given` is given; empty for
            one that goes by itself.
        by_name: measured only where it is asked for by its name, whatever is given.
        place: among what can be asked for; signatures keep that order. The report's where none is given.
        refused: why it cannot be measured over saved maps, as a sentence with what to do; empty where it can.
        scans: `module:function` of what does its scans alone, as a part of a run does; empty where it does none.
        sums: `module:function` from a run to the accumulators that it reads the text with (`read_text`), for the one
            scan that all such stages share; empty where it reads nothing, or by itself.
    """

    name: str
    measure: str
    tables: str = "tables:TABLES"
    corpora: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    version: int = 1
    listed: str = ""
    asked: str = ""
    given: tuple[str, ...] = ()
    beside: str = ""
    by_name: bool = False
    place: int = 0
    refused: str = ""
    scans: str = ""
    sums: str = ""

    @property
    def asked_as(self) -> str:
        """What it is asked for as."""
        return self.asked or self.name

    @property
    def over_maps(self) -> bool:
        """Whether it can be measured over saved maps."""
        return not self.refused and set(self.corpora) <= set(_IN_MAPS)

    def names(self) -> list[str]:
        """Import the list of what its tables tell; empty where it has none."""
        return list(load(self.listed)) if self.listed else []

    def shaping(self, *, maps: bool) -> tuple[str, ...]:
        """Return the names of the options that shape its numbers.

        Args:
            maps: whether saved maps are read in place of a model and text.
        """
        if self.after:
            return ()
        if maps:
            return ("max_inputs", *(name for name in self.options if name not in (*PACKING, *_OF_MODELS)))
        return (*_ALL, *self.options)


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One question, and where its answer is made.

    Attributes:
        name: of its folder.
        package: whose modules its strings name; empty for the folder of that name here.
        question: in a sentence.
        stages: in the order in which they are measured; none where it shows what others have found.
        report: `module:name` of what it adds to the report.
        terminal: `module:name` of what a terminal shows: a function of results of its stages to lines and tables of
            text; None where it shows nothing.
        command: that measures it; None where it has none.
        study: `module:name` of what it adds to a study, empty where that is nothing.
        figures: names of its figures' files; one of a further kind of attention, or probe, has that after it.
        paper: `module:name` of what makes a table of the paper from a run, by the table's number.
    """

    name: str
    question: str
    stages: tuple[Stage, ...]
    report: str = "in_report:PARTS"
    terminal: str | None = "in_terminal:render_results"
    command: Command | None = None
    study: str = ""
    figures: tuple[str, ...] = ()
    paper: Mapping[int, str] = field(default_factory=dict)
    package: str = ""

    def function(self, stage: Stage) -> Callable[..., Any]:
        """Import what measures a stage: of the run, results of earlier stages where it reads any, and a watcher."""
        found: Callable[..., Any] = self.load(stage.measure)
        return found

    def tables(self, stage: Stage) -> tuple[TableSchema, ...]:
        """Import the schemas of the tables that a stage makes."""
        found: tuple[TableSchema, ...] = self.load(stage.tables)
        return found

    def render_results(self, *results: Any) -> Any:
        """Return what a terminal shows of results of its stages."""
        return () if self.terminal is None else self.load(self.terminal)(*results)

    @property
    def measured(self) -> tuple[str, ...]:
        """What its command measures, as one asks for it."""
        own = tuple(dict.fromkeys(stage.asked_as for stage in self.stages if not stage.beside))
        return own if self.command is None else self.command.stages or own

    def load(self, where: str) -> Any:
        """Import `module:name` of the analysis's folder, or of its package."""
        return load(where, package=self.package or f"headscope.analyses.{self.name}")
