"""What an analysis adds to the report: sentences, sections, figures, terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.kit.kinds import Kind, kinds_of
from headscope.reporting.kit.sentences import Sentence
from headscope.reporting.kit.words import Words, words_for
from headscope.views.markup import Html

Term = tuple[str, str]


@dataclass(frozen=True)
class Context:
    """What every part of a report is made from.

    Attributes:
        inputs: the run.
        kinds: its kinds of attention.
        words: what its model's tokens are called.
        found: the findings, once they are made.
        links: whether figures lie beside the page.
    """

    inputs: ReportInputs
    kinds: tuple[Kind, ...]
    words: Words
    found: Sequence[Sentence] = ()
    links: bool = False

    @classmethod
    def of(cls, inputs: ReportInputs) -> Context:
        """Read what a run has."""
        return cls(inputs=inputs, kinds=kinds_of(inputs), words=words_for(inputs.manifest))

    @property
    def several(self) -> bool:
        """Whether there are several kinds of attention, so that heads are named with theirs."""
        return len(self.kinds) > 1


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page.

    Attributes:
        name: in its address.
        title: in the contents list.
        html: it, or None where the run has nothing to show in it.
    """

    name: str
    title: str
    html: Html | None


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What an analysis adds.

    Attributes:
        findings: its sentences.
        sections: its sections, in order.
        figures: writes its figures as SVG and PNG into a folder, and returns their paths.
        terms: what its numbers mean, for the list of definitions; none for what the run does not have.
        headline: which of its topics may stand on the first screen; the lowest number comes first.
    """

    findings: Callable[[Context], list[Sentence]] = lambda _: []
    sections: Callable[[Context], list[Section]] = lambda _: []
    figures: Callable[[Context, Path], list[Path]] = lambda _, __: []
    terms: Callable[[Context], Sequence[Term]] = lambda _: ()
    headline: Mapping[str, int] = field(default_factory=dict)
