"""The words of an analysis: its `page.j2`, read once, checked, and filled in for a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from types import ModuleType
from typing import Any

from jinja2 import nodes

from headscope.present.blocks import (
    CaptionBlock,
    ChartBlock,
    FactBlock,
    HeadingBlock,
    HtmlBlock,
    NoteBlock,
    PageBlocks,
    SectionBlocks,
    TableBlock,
)
from headscope.present.facts import Fact
from headscope.present.filters import CONTINUED, FILTERS, Mark, Marked, finalize, parts_of
from headscope.present.template_check import BLOCKS, check_template, environment
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.report_parts import Context, Term

FILE = "page.j2"
GIVEN = ("continued", "kinds", "words")


class TemplateError(ValueError):
    """A template names something that does not exist; the message has its lines."""


class Template:
    """The template of an analysis.

    It calls `section(name, title)`, `fact(name, kind)`, `chart(form, rows, name=, kind=, alt=)`, `table(rows, name=,
    summary=, columns=)`, `html(function, kind)`, `heading(kind)`, `note()`, `caption()` and `term(name)`; most are
    `{% call %}` blocks around their words. Besides these it knows `kinds` and `words` of the run, the constants of the
    analysis's `facts.py`, and the filters of `present.filters`. `rows` is the name of a function of `facts.py` that
    takes the run and the kind of attention.

    Args:
        module: the analysis's `facts.py`.
        source: text of the template; by default the file `page.j2` next to the module.

    Raises:
        TemplateError: the template has an unknown name, filter, fact or field, or a fact has no words.
    """

    def __init__(self, module: ModuleType, source: str | None = None) -> None:
        if source is None:
            source = resources.files(module.__package__ or "").joinpath(FILE).read_text("utf-8")
        self.module = module
        self.facts = {
            value.name(): value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, Fact)
            and value.__module__ == module.__name__
            and not value.__subclasses__()
        }
        self.constants = {name: value for name, value in vars(module).items() if name.isupper()}
        made = environment(FILTERS, finalize)
        tree = made.parse(source)
        given = {*BLOCKS, *GIVEN, *self.constants}
        wrong = check_template(tree, facts=self.facts, given=given, filters=FILTERS)
        wrong += [
            f"{name}: {module.__name__} has no such function" for name in _rows_named(tree) if not hasattr(module, name)
        ]
        if wrong:
            raise TemplateError(f"{module.__package__}/{FILE}: {'; '.join(wrong)}")
        self.chart_names = tuple(dict.fromkeys(_chart_names(tree)))
        self.tree, self.compiled = tree, made.from_string(source)

    def fill(self, about: Context, facts: Sequence[Fact]) -> PageBlocks:
        """Fill in the template for a run."""
        page = _Page(self.module, about, facts)
        self.compiled.render(
            **{name: getattr(page, name) for name in BLOCKS}, **self.constants,
            continued=Marked(CONTINUED), kinds=about.kinds, words=about.words,
        )  # fmt: skip
        return PageBlocks(sections=tuple(page.sections), terms=tuple(page.terms))


class _Page:
    """The blocks that a template adds while it is filled in."""

    def __init__(self, module: ModuleType, about: Context, facts: Sequence[Fact]) -> None:
        self._module, self._about, self._facts = module, about, facts
        self.sections: list[SectionBlocks] = []
        self.terms: list[Term] = []

    def section(self, name: str, title: str, *, caller: Callable[[], str]) -> str:
        self.sections.append(SectionBlocks(name=name, title=title, why=_plain(caller()), blocks=[]))
        return ""

    def fact(self, name: str, kind: Kind | None = None, *, caller: Callable[[Fact], str]) -> str:
        said = [
            each
            for fact in self._facts
            if fact.name() == name and fact.kind is kind
            for each in _sentences(fact, caller(fact))
        ]
        # A sentence that several facts share is said once.
        return self._add(FactBlock(sentences=tuple(dict.fromkeys(said)))) if said else ""

    def chart(
        self, form: str, rows: str, *, name: str, kind: Kind, alt: str, caller: Callable[[], str], **options: Any
    ) -> str:
        read = self._reader(rows, kind)
        return self._add(
            ChartBlock(form=form, name=name, rows=read, alt=alt, caption=_plain(caller()), kind=kind, options=options)
        )

    def table(self, rows: str, kind: Kind | None = None, *, name: str, **options: Any) -> str:
        ending = f"-{kind.name}" if kind else ""
        return self._add(TableBlock(name=name + ending, rows=self._reader(rows, kind), **options))

    def heading(self, text: str | Kind, *, tag: str = "h3") -> str:
        if isinstance(text, Kind):  # a model's only kind needs no heading
            return self._add(HeadingBlock(text=text.name, tag=tag)) if text.prefix else ""
        return self._add(HeadingBlock(text=text, tag=tag))

    def html(
        self, function: str, kind: Kind | None = None, *, caller: Callable[[], str], file: str = "", key: str = "",
        file_label: str = "",
    ) -> str:  # fmt: skip
        read = self._reader(function, kind)
        shown = file + kind.ending if kind and file else file
        caption = _plain(caller())
        made = getattr(self._module, key) if key else None
        return self._add(HtmlBlock(read=read, caption=caption, file=shown, file_label=file_label, key=made))

    def caption(self, *, caller: Callable[[], str]) -> str:
        text = _plain(caller())
        return self._add(CaptionBlock(text=text)) if text else ""

    def note(self, *, caller: Callable[[], str]) -> str:
        return self._add(NoteBlock(text=_plain(caller())))

    def term(self, name: str, *, caller: Callable[[], str]) -> str:
        self.terms.append((name, _plain(caller())))
        return ""

    def _add(self, block: Any) -> str:
        self.sections[-1].blocks.append(block)
        return ""

    def _reader(self, rows: str, kind: Kind | None) -> Callable[[], Any]:
        function = getattr(self._module, rows)
        return partial(function, self._about) if kind is None else partial(function, self._about, kind)


def _plain(text: str) -> str:
    return re.sub(r"[ \n\t]+", " ", text).strip()


def _sentences(fact: Fact, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a fact; those after the first add to it."""
    for index, each in enumerate(filter(None, map(_plain, text.split(CONTINUED)))):
        parts = [part.text if isinstance(part, Mark) else part for part in parts_of(each)]
        made = sentence(fact.topic, *parts, goes_on=index > 0, figure=None if index else fact.figure)
        yield Sentence(made.topic, made.parts, fact.kind.name if fact.kind else "", made.goes_on, made.figure)


def _calls(tree: nodes.Template, name: str) -> Iterator[nodes.Call]:
    return (call for call in tree.find_all(nodes.Call) if isinstance(call.node, nodes.Name) and call.node.name == name)


def _rows_named(tree: nodes.Template) -> Iterator[str]:
    for function, position in (("chart", 1), ("table", 0), ("html", 0)):
        for call in _calls(tree, function):
            named = call.args[position]
            if isinstance(named, nodes.Const):
                yield str(named.value)


def _chart_names(tree: nodes.Template) -> Iterator[str]:
    for call in _calls(tree, "chart"):
        yield from (str(each.value.value) for each in call.kwargs
                    if each.key == "name" and isinstance(each.value, nodes.Const))  # fmt: skip
