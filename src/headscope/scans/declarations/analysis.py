"""The declaration of an analysis: its stages, tables, command, page and columns of `study.heads`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headscope.encoding.choices import LOSSES
from headscope.installing import load
from headscope.scans.declarations.head_measures import ChosenHeads, HeadMeasures
from headscope.scans.declarations.option import Option
from headscope.statistics.tables.table_schema import TableSchema

# Options that shape every stage over a corpus. Saved maps fix all but the last.
_ALL = ("max_length", "token_types", "dtype", "max_inputs")
# How text becomes inputs. Saved maps fix this, too.
PACKING = ("packing", "too_long")
# The packing options, with the option that fixes which random cuts are drawn.
TEXT_INPUTS = (*PACKING, "compat")
FEATURES_HASH = "features_hash"
"""The option of stages whose numbers depend on a user's features, which can be given only from Python."""
SCORE_HASH = "score_hash"
"""The option of stages whose numbers depend on a user's score, which can be given only from Python."""
# Options that need a model: saved maps have no controls, and their words are already joined.
_OF_MODELS = ("spacing", "controls", "shuffled")
# Corpora that saved maps can hold: they cannot hold mentions.
_IN_MAPS = ("text", "treebank")
# A command that needs a loss does not offer `none`: the default is the loss of the model's kind.
LOSS_OF_KIND = Option(
    name="loss",
    choices=LOSSES,
    help="mlm (encoders), clm (decoders) or denoise (encoder-decoders); by the model's kind when not given.",
)


@dataclass(frozen=True, kw_only=True)
class OutputFile:
    """A file that a command writes on request.

    Attributes:
        option: option that names the file. `out` replaces the option for the folder of tables.
        check: `module:function` within the analysis's folder that rejects an invalid path before anything is loaded.
        write: `module:function` that writes results, by stage, to a path, and returns lines to print at the end.
    """

    option: Option
    check: str
    write: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that measures an analysis and renders its results in a terminal.

    It takes the corpora that its stages read, the options that they name, and those of every run.

    Attributes:
        name: name of the command.
        help: help text: a sentence, and further paragraphs if needed.
        stages: requests that it measures, if they differ from those of the analysis.
        reworded: run options whose help differs for this command; they come first.
        without: options that change its stages' numbers but that the command does not take.
        shown: display options, which the rendering function takes by name; they are not options of a run.
        files: files that it can write.
        tells_run: whether it prints notes on the text.
        models: options whose values, names of models, its positional arguments are; text files if empty.
        page: `module:function` that writes a page of the run (a `Study`) into its folder and returns the page's path.
        several: `module:function` that shows more models than `models`: it gets the run of each with the last, and a
            folder for their page, and returns lines to print.
        of_several: values of options of such runs, by name.
        on_text: `module:function` that answers for a single text, if the display option `on_text_with` is typed: it
            gets the text as the model read it (`OneText`) and the display options, and returns lines to print.
        on_text_with: name of that display option.
    """

    name: str
    help: str
    stages: tuple[str, ...] = ()
    reworded: tuple[Option, ...] = ()
    without: tuple[str, ...] = ()
    shown: tuple[Option, ...] = ()
    files: tuple[OutputFile, ...] = ()
    tells_run: bool = False
    models: tuple[str, ...] = ()
    page: str = ""
    several: str = ""
    of_several: Mapping[str, str] = field(default_factory=dict)
    on_text: str = ""
    on_text_with: str = ""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of an analysis that is measured, saved and resumed separately.

    Attributes:
        name: name in the manifest.
        measure: `module:Class` of its `Measurement` within the analysis's folder, imported when the stage is measured.
        tables: `module:name` of the schemas of its tables, imported when they are needed.
        corpora: corpora that it reads, by their names in the signature; `text` for the text itself.
        optional_corpora: corpora that it also reads if they are given.
        options: options of `RunOptions` that change its numbers, beyond those that change every stage's.
        after: stages whose tables it reads if they are measured.
        version: number that is raised when its numbers change; a finished stage of another version is measured again.
        listed: `module:name` of a list, in the package, of the contents of its tables; a finished stage with another
            list is measured again.
        requested_as: name under which a run requests it, if that differs from its own; see `request_name`.
        required_options: options without which it is measured only on request; see `RunOptions.wanted`.
        by_name: whether it is measured only if it is requested by name.
        needs: requests without which it is not measured; their stages come before it.
        unless: option values with which it is not measured, because another stage of its request replaces it.
        order: position of its request among all requests, which signatures keep; stages without one come last, and
            stages of equal order follow the order of the report.
        cost: approximate seconds that it takes on 500 sentences or 250 documents of the demonstration, without controls
            and without passes over the whole text, from which the remaining time of a run is estimated.
        control_cost: approximate seconds that each control adds.
        head_cost: approximate seconds for 72 heads on the demonstration's text, however slow the model is.
        passes: number of passes over the whole text that it makes besides the pass that all stages share.
        refusal: reason why it cannot be measured over saved maps, and the remedy; empty if it can.
    """

    name: str
    measure: str
    tables: str = "tables:TABLES"
    corpora: tuple[str, ...] = ()
    optional_corpora: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    version: int = 1
    listed: str = ""
    requested_as: str = ""
    required_options: tuple[str, ...] = ()
    by_name: bool = False
    needs: tuple[str, ...] = ()
    unless: Mapping[str, object] = field(default_factory=dict)
    order: int = 100
    cost: int = 5
    control_cost: int = 0
    head_cost: int = 0
    passes: int = 0
    refusal: str = ""

    @property
    def request_name(self) -> str:
        """The name under which a run requests it."""
        return self.requested_as or self.name

    @property
    def over_maps(self) -> bool:
        """True if it can be measured over saved maps."""
        return not self.refusal and set(self.corpora) <= set(_IN_MAPS)

    def names(self) -> list[str]:
        """Import the list of its tables' contents; empty if it has none."""
        return list(load(self.listed)) if self.listed else []

    def shaping(self, *, maps: bool) -> tuple[str, ...]:
        """Return the names of the options that change its numbers.

        Args:
            maps: whether saved maps are read in place of a model and text.
        """
        if not self.corpora:
            # The tables that it reads from other stages already depend on their options.
            return self.options
        if maps:
            return ("max_inputs", *(name for name in self.options if name not in (*PACKING, *_OF_MODELS)))
        return (*_ALL, *self.options)


@dataclass(frozen=True, kw_only=True)
class CorpusCount:
    """The size of a corpus that a run read.

    Attributes:
        corpus: its name in the manifest.
        number: name of the number in the manifest.
        unit: singular noun for the things that are counted.
        says: words around the number, such as `trees of {}`.
    """

    corpus: str
    number: str
    unit: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One question, with the modules that answer it.

    Attributes:
        name: name of its folder.
        package: package whose modules its strings name; empty for the folder of that name in headscope.
        question: question that it answers, in a sentence.
        stages: stages in the order of measuring; empty if it shows results of other analyses.
        report: `module:name` of its parts of the report.
        terminal: `module:name` of its `present.page.Page`, or of a function that renders results of its stages as
            lines and tables of text for a terminal; None if there is none.
        command: command that measures it; None if it has none.
        head_measures: its measures of single heads.
        more_columns: `module:function` that computes more columns of `study.heads` from tables; empty if there are
            none.
        chosen_heads: table of the heads that it chooses; None if it chooses none.
        counts: sizes of the corpora other than text that it reads, for the summary of a study.
        score: `module:function` that decomposes a score of a text as a model read it (`OneText`), given a head, a query
            and a key, into JSON; empty if it decomposes none.
        paper: `module:name` of functions that make a table for a paper from a run, by file name; `table-1` to `table-3`
            are those of Clark et al. 2019.
    """

    name: str
    question: str
    stages: tuple[Stage, ...]
    report: str = "facts:PARTS"
    terminal: str | None = "facts:PAGE"
    command: Command | None = None
    head_measures: tuple[HeadMeasures, ...] = ()
    more_columns: str = ""
    chosen_heads: ChosenHeads | None = None
    counts: tuple[CorpusCount, ...] = ()
    paper: Mapping[str, str] = field(default_factory=dict)
    score: str = ""
    package: str = ""

    def measurement(self, stage: Stage) -> Callable[..., Any]:
        """Import the class that measures a stage (`analyses.measurement.Measurement`)."""
        measurement: Callable[..., Any] = self.load(stage.measure)
        return measurement

    def tables(self, stage: Stage) -> tuple[TableSchema, ...]:
        """Import the schemas of a stage's tables."""
        return tuple(self.load(stage.tables))

    @property
    def measured(self) -> tuple[str, ...]:
        """The requests that its command measures."""
        names = tuple(dict.fromkeys(stage.request_name for stage in self.stages))
        return names if self.command is None else self.command.stages or names

    def load(self, where: str) -> Any:
        """Import `module:name` from the analysis's folder or from its package."""
        return load(where, package=self.package or f"headscope.analyses.{self.name}")
