"""The words of an analysis: its `page.j2`, read once, checked, and filled in for a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import resources
from types import ModuleType
from typing import Any

from jinja2 import nodes

from headscope.present.blocks import (
    CaptionBlock,
    CardBlock,
    ChartBlock,
    FactBlock,
    FigureBlock,
    HeadingBlock,
    HtmlBlock,
    NoteBlock,
    PageBlocks,
    SectionBlocks,
    TableBlock,
)
from headscope.present.facts import BLOCKS, CardFact, Fact, check_template, environment
from headscope.present.filters import CONTINUED, FILTERS, Mark, Marked, finalize, parts_of
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import Sentence, sentence
from headscope.present.report_parts import Context, Term

FILE = "page.j2"
GIVEN = ("continued", "kinds", "manifest", "words")


class TemplateError(ValueError):
    """A template names something that does not exist; the message has its lines."""


class Template:
    """The template of an analysis.

    It calls `section(name, title)`, `fact(name, kind)`, `chart(form, rows, name=, kind=, alt=)`, `figure(name, alt=)`,
    `table(rows, name=, summary=, columns=)`, `html(function, kind)`, `heading(kind)`, `note()`, `caption()` and
    `term(name)`; most are
    `{% call %}` blocks around their words. `value(function)` is a value on which words depend. Besides these it knows
    `kinds`, `words` and `manifest` of the run, the constants of the analysis's `facts.py`, and the filters of
    `present.filters`. Rows and values come from functions of the run, and of the kind of attention and of `within=`,
    such as an experiment, if these are given.

    Args:
        module: the analysis's `facts.py`.
        uses: functions that the template names, and classes of facts of other modules.
        source: text of the template; by default the file `page.j2` next to the module.
        macros: package whose file `macros.j2` stands before the template; empty for none.

    Raises:
        TemplateError: the template has an unknown name, filter, function, fact or field, or a fact has no words.
    """

    def __init__(
        self, module: ModuleType, uses: Sequence[Callable[..., Any] | type[Fact]] = (), *, source: str | None = None,
        macros: str = "",
    ) -> None:  # fmt: skip
        if source is None:
            source = resources.files(module.__package__ or "").joinpath(FILE).read_text("utf-8")
        if macros:
            source = resources.files(macros).joinpath("macros.j2").read_text("utf-8") + source
        facts = [each for each in (*vars(module).values(), *uses) if isinstance(each, type) and issubclass(each, Fact)]
        self.facts = {fact.name(): fact for fact in facts if fact is not Fact and not fact.__subclasses__()}
        self.functions = {each.__name__: each for each in uses if not isinstance(each, type)}
        self.constants = {name: value for name, value in vars(module).items() if name.isupper()}
        templates = environment(FILTERS, finalize)
        tree = templates.parse(source)
        names = {*BLOCKS, *GIVEN, *self.constants}
        wrong = check_template(tree, facts=self.facts, names=names, filters=FILTERS)
        unknown = [name for name in dict.fromkeys(_functions_named(tree)) if name not in self.functions]
        wrong += [f"{name} is not a function that the page uses" for name in unknown]
        if wrong:
            raise TemplateError(f"{module.__package__}/{FILE}: {'; '.join(wrong)}")
        self.chart_names = tuple(dict.fromkeys(_options(tree, "chart", "name")))
        self.tree, self.compiled = tree, templates.from_string(tree)

    def fill(self, about: Context, facts: Sequence[Fact]) -> PageBlocks:
        """Fill in the template for a run."""
        page = _Page(self.functions, about, facts)
        self.compiled.render(
            **{name: getattr(page, name) for name in BLOCKS}, **self.constants,
            continued=Marked(CONTINUED), kinds=about.kinds,
            manifest=about.run.manifest, words=about.words,
        )  # fmt: skip
        return PageBlocks(sections=tuple(page.sections), terms=tuple(page.terms))


class _Page:
    """The blocks that a template adds while it is filled in."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], about: Context, facts: Sequence[Fact]) -> None:
        self._functions, self._about, self._facts = functions, about, facts
        self.sections: list[SectionBlocks] = []
        self.terms: list[Term] = []

    def section(self, name: str, title: str, *, caller: Callable[[], str], closing: bool = False) -> str:
        why = _plain(caller())
        self.sections.append(SectionBlocks(name=name, title=title, why=why, blocks=[], closing=closing))
        return ""

    def fact(self, name: str, kind: Kind | None = None, *, within: str = "", caller: Callable[[Fact], str]) -> str:
        facts = [fact for fact in self._facts if fact.name() == name and fact.kind is kind and fact.within == within]
        said = [(fact, each) for fact in facts for each in _sentences(fact, caller(fact))]
        on_cards = tuple((fact.head, each) for fact, each in said if isinstance(fact, CardFact))
        if on_cards:
            return self._add(CardBlock(sentences=on_cards))
        # A sentence that several facts share appears once.
        return self._add(FactBlock(sentences=tuple(dict.fromkeys(each for _, each in said)))) if said else ""

    def chart(
        self, form: str, rows: str, *, name: str, kind: Kind, alt: str, caller: Callable[[], str], **options: Any
    ) -> str:
        read = self._reader(rows, kind)
        return self._add(
            ChartBlock(form=form, name=name, rows=read, alt=alt, caption=_plain(caller()), kind=kind, options=options)
        )

    def table(self, rows: str, kind: Kind | None = None, *, name: str, within: str = "", **options: Any) -> str:
        ending = f"-{kind.name}" if kind else ""
        return self._add(TableBlock(name=name + ending, rows=self._reader(rows, kind, within), **options))

    def heading(self, text: str | Kind, *, tag: str = "h3") -> str:
        if isinstance(text, Kind):  # a model's only kind needs no heading
            return self._add(HeadingBlock(text=text.name, tag=tag)) if text.prefix else ""
        return self._add(HeadingBlock(text=text, tag=tag))

    def html(
        self, function: str, kind: Kind | None = None, *, caller: Callable[[], str], key: str = "", within: str = ""
    ) -> str:
        read = self._reader(function, kind, within)
        scale = self._functions[key] if key else None
        return self._add(HtmlBlock(read=read, caption=_plain(caller()), key=scale))

    def caption(self, *, caller: Callable[[], str]) -> str:
        text = _plain(caller())
        return self._add(CaptionBlock(text=text)) if text else ""

    def figure(self, name: str, *, caller: Callable[[], str], **options: str) -> str:
        return self._add(FigureBlock(name=name, caption=_plain(caller()), **options))

    def value(self, function: str, kind: Kind | None = None, *, within: str = "") -> Any:
        return self._reader(function, kind, within)(self._about)

    def note(self, *, caller: Callable[[], str]) -> str:
        return self._add(NoteBlock(text=_plain(caller())))

    def term(self, name: str, *, caller: Callable[[], str]) -> str:
        self.terms.append((name, _plain(caller())))
        return ""

    def _add(self, block: Any) -> str:
        self.sections[-1].blocks.append(block)
        return ""

    def _reader(self, function: str, kind: Kind | None, within: str = "") -> Callable[[Context], Any]:
        # Blocks are kept as long as their study, so they must not refer to it: they read it when they are shown.
        read = self._functions[function]
        arguments = [each for each in (kind, within) if each]
        return partial(_read_part, read, arguments) if arguments else read


def _read_part(read: Callable[..., Any], arguments: Sequence[Kind | str], about: Context) -> Any:
    return read(about, *arguments)


def _plain(text: str) -> str:
    return re.sub(r"[ \n\t]+", " ", text).strip()


def _sentences(fact: Fact, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a fact; those after the first add to it."""
    for index, each in enumerate(filter(None, map(_plain, text.split(CONTINUED)))):
        parts = [part.text if isinstance(part, Mark) else part for part in parts_of(each)]
        words = sentence(
            f"{fact.topic} {fact.within}".strip(), *parts, goes_on=index > 0, figure=None if index else fact.figure
        )
        yield replace(words, kind=fact.kind.name if fact.kind else "")


def _calls(tree: nodes.Template, name: str) -> Iterator[nodes.Call]:
    return (call for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name) and call.node.name == name)


def _functions_named(tree: nodes.Template) -> Iterator[str]:
    for function, position in (("chart", 1), ("table", 0), ("html", 0), ("value", 0)):
        for call in _calls(tree, function):
            named = call.args[position]
            if isinstance(named, nodes.Const):
                yield str(named.value)
    yield from _options(tree, "html", "key")


def _options(tree: nodes.Template, function: str, option: str) -> Iterator[str]:
    """Yield the constant values of an option in the calls of a function."""
    for call in _calls(tree, function):
        for each in call.kwargs:
            if each.key == option and isinstance(each.value, nodes.Const):
                yield str(each.value.value)
