"""The declaration of an analysis; listing analyses imports nothing that measures or draws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headscope.declarations.command import Command
from headscope.declarations.head_measures import ChosenHeads, HeadMeasures
from headscope.declarations.option import Option
from headscope.encoding.choices import LOSSES
from headscope.entry_points import load
from headscope.statistics.tables.table_schema import TableSchema

# Options that shape every stage over a corpus. Saved maps fix all but the last.
_ALL = ("max_length", "token_types", "dtype", "max_inputs")
# How text becomes inputs. Saved maps fix this, too.
PACKING = ("packing", "too_long")
# The same, with the option that fixes which random cuts are drawn.
TEXT_INPUTS = (*PACKING, "compat")
FEATURES_HASH = "features_hash"
"""The option of stages that a user's features shape, which Python alone can give."""
SCORE_HASH = "score_hash"
"""The option of stages that a user's score shapes, which Python alone can give."""
# Options that need a model: saved maps have no controls, and their words are joined already.
_OF_MODELS = ("spacing", "controls", "shuffled")
# Corpora that saved maps can hold: there are no mentions in them.
_IN_MAPS = ("text", "treebank")

# `none` is no choice of a command that needs a loss: the default is the loss of the model's kind.
LOSS_OF_KIND = Option(
    name="loss",
    choices=LOSSES,
    help="mlm (encoders), clm (decoders) or denoise (encoder-decoders); by the model's kind when not given.",
)


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A part of an analysis that is measured, saved and resumed by itself.

    Attributes:
        name: as in the manifest.
        measure: `module:Class` of its `Measurement` within the analysis's folder, imported when the stage is measured.
        tables: `module:name` of the schemas of the tables that it makes, imported when they are needed.
        corpora: that it reads, by their names in the signature; `text` for the text itself.
        optional_corpora: that it reads, too, where they are given.
        options: those of `RunOptions` that shape its numbers, beyond those that shape every stage.
        after: stages whose tables it reads, where they are measured.
        version: is raised when its numbers change; a finished stage of another version is measured again.
        listed: `module:name` of a list, in the package, of what its tables hold; a finished stage with another list is
            measured again.
        requested_as: the name under which a run requests it, where that is not its own; see `request_name`.
        required_options: options without which it is measured only on request; see `RunOptions.wanted`.
        by_name: whether it is measured only where it is requested by name.
        needs: requests without which it is not measured; stages of theirs come before it.
        unless: values of options with which it is not measured, since another stage of its request is in its place.
        order: of its request among all requests, which signatures keep; what says none stands behind, and stages of
            equal order go by the report's.
        cost: about how many seconds it takes on the demonstration besides the pass over the text, from which the time
            left of a run is estimated.
        refusal: why it cannot be measured over saved maps, and what to do; empty where it can.
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
    refusal: str = ""

    @property
    def request_name(self) -> str:
        """The name under which a run requests it."""
        return self.requested_as or self.name

    @property
    def over_maps(self) -> bool:
        """Whether it can be measured over saved maps."""
        return not self.refusal and set(self.corpora) <= set(_IN_MAPS)

    def names(self) -> list[str]:
        """Import the list of what its tables hold; empty where it has none."""
        return list(load(self.listed)) if self.listed else []

    def shaping(self, *, maps: bool) -> tuple[str, ...]:
        """Return the names of the options that shape its numbers.

        Args:
            maps: whether saved maps are read in place of a model and text.
        """
        if not self.corpora:
            # What it reads of other stages stands for their options.
            return self.options
        if maps:
            return ("max_inputs", *(name for name in self.options if name not in (*PACKING, *_OF_MODELS)))
        return (*_ALL, *self.options)


@dataclass(frozen=True, kw_only=True)
class CorpusCount:
    """The size of a corpus that a run read.

    Attributes:
        corpus: its name in the manifest.
        number: the name of the number there.
        unit: what is counted, in the singular.
        says: the words around the number, as `trees of {}`.
    """

    corpus: str
    number: str
    unit: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One question, with the modules that answer it.

    Attributes:
        name: of its folder.
        package: whose modules its strings name; empty for the folder of that name here.
        question: in a sentence.
        stages: in the order in which they are measured; none where it shows results of other analyses.
        report: `module:name` of what it adds to the report.
        terminal: `module:name` of the function that renders results of its stages as lines and tables of text for a
            terminal; None where there is none.
        command: that measures it; None where it has none.
        head_measures: its numbers of single heads.
        more_columns: `module:function` that computes more columns of `study.heads` from tables; empty where there are
            none.
        chosen_heads: the table of heads that it chooses; None where it chooses none.
        counts: the sizes of corpora that it reads beside text, for the summary of a study.
        paper: `module:name` of what makes a table for a paper from a run, by the name of its file; `table-1` to
            `table-3` are those of Clark et al. 2019.
    """

    name: str
    question: str
    stages: tuple[Stage, ...]
    report: str = "in_report:PARTS"
    terminal: str | None = "in_terminal:render_results"
    command: Command | None = None
    head_measures: tuple[HeadMeasures, ...] = ()
    more_columns: str = ""
    chosen_heads: ChosenHeads | None = None
    counts: tuple[CorpusCount, ...] = ()
    paper: Mapping[str, str] = field(default_factory=dict)
    package: str = ""

    def measurement(self, stage: Stage) -> Callable[..., Any]:
        """Import the class that measures a stage (`analyses.measurement.Measurement`)."""
        measurement: Callable[..., Any] = self.load(stage.measure)
        return measurement

    def tables(self, stage: Stage) -> tuple[TableSchema, ...]:
        """Import the schemas of the tables that a stage makes."""
        return tuple(self.load(stage.tables))

    def render_results(self, *results: Any, **shown: Any) -> Any:
        """Return lines and tables of text on results of its stages, for a terminal.

        Args:
            *results: of the stages.
            **shown: values of the options of what is shown.
        """
        return () if self.terminal is None else self.load(self.terminal)(*results, **shown)

    @property
    def measured(self) -> tuple[str, ...]:
        """The requests that its command measures."""
        names = tuple(dict.fromkeys(stage.request_name for stage in self.stages))
        return names if self.command is None else self.command.stages or names

    def load(self, where: str) -> Any:
        """Import `module:name` of the analysis's folder, or of its package."""
        return load(where, package=self.package or f"headscope.analyses.{self.name}")
