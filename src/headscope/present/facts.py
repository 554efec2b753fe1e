"""Facts: claims that the numbers of a run support, as data without words; and the check of their templates' words.

Jinja's `StrictUndefined` finds a misspelled field only in a branch that a run reaches; the check finds all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import jinja2
from jinja2 import meta, nodes

from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, SmallFigure


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A claim about a run; a subclass has a field for each value that its words mention.

    The template of the analysis puts it into words in a block `{% call(f) fact("name") %}`, where the name is that of
    the class in snake case: `SinkButActive` is `sink_but_active`.

    Attributes:
        kind: kind of attention that the claim is about; None for the model as a whole.
        within: name of what it is measured in, such as an experiment; a part of the topic of its sentences.
        figure: small figure next to its sentence on the first screen; a sentence that names heads has a grid without.
        topic: topic of its sentences; the first screen has one sentence of a topic before it has a second.
        rank: position of the topic on the first screen, the lowest number first; 0 if it never appears there.
        decoder_rank: the same for models with decoder attention only, if it differs.
    """

    kind: Kind | None = None
    within: str = ""
    figure: SmallFigure | None = None
    topic: ClassVar[str]
    rank: ClassVar[int] = 0
    decoder_rank: ClassVar[int] = 0

    @classmethod
    def name(cls) -> str:
        """Return the name of the claim in templates."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


@dataclass(frozen=True, kw_only=True)
class CardFact(Fact):
    """A claim about a head for its card; the page itself does not have its sentence."""

    head: HeadRef
    topic = "card"


BLOCKS = ("section", "fact", "chart", "table", "html", "heading", "note", "caption", "term", "value", "figure")
"""The functions that a template calls; all but `value` add a part to the page."""


def check_template(
    tree: nodes.Template, *, facts: Mapping[str, type[Fact]], names: Collection[str], filters: Collection[str]
) -> list[str]:
    """Return what is wrong with a template, a line each; empty if nothing is.

    Args:
        tree: syntax tree of the template.
        facts: classes of the analysis's facts by name.
        names: names that the template may use besides its own.
        filters: names of filters.
    """
    wrong = [
        f"line {node.lineno}: unknown filter {node.name!r}"
        for node in tree.find_all(nodes.Filter)
        if node.name not in filters
    ]
    if not wrong:  # Jinja looks for names in compiled code, which needs every filter
        wrong = [f"unknown name {name!r}" for name in sorted(meta.find_undeclared_variables(tree) - set(names))]
    worded = set()
    for block in tree.find_all(nodes.CallBlock):
        name = fact_name(block)
        if name is None:
            continue
        worded.add(name)
        if name not in facts:
            wrong.append(f"line {block.lineno}: unknown fact {name!r}; expected {', '.join(facts)}")
        elif len(block.args) != 1:
            wrong.append(f"line {block.lineno}: expected {{% call(f) fact({name!r}) %}}, with a name for the fact")
        else:
            wrong += _unknown_fields(block, facts[name])
    wrong += [f"the fact {name} has no words" for name in facts if name not in worded]
    return wrong + [f"line {line}: text outside of any block" for line in _stray_text(tree)]


def fact_name(block: nodes.CallBlock) -> str | None:
    """Return the name of the fact that a block puts into words; None for other blocks."""
    call = block.call
    if not (isinstance(call.node, nodes.Name) and call.node.name == "fact" and call.args):
        return None
    first = call.args[0]
    return str(first.value) if isinstance(first, nodes.Const) else None


def _unknown_fields(block: nodes.CallBlock, fact: type[Fact]) -> Iterator[str]:
    known = {field.name for field in fields(fact)} | {name for name in dir(fact) if not name.startswith("_")}
    for part in block.body:
        for node in part.find_all(nodes.Getattr):
            is_fact = isinstance(node.node, nodes.Name) and node.node.name == block.args[0].name
            if is_fact and node.attr not in known:
                yield f"line {node.lineno}: the fact {fact.name()} has no {node.attr!r}"


def _stray_text(part: nodes.Node) -> Iterator[int]:
    """Yield the lines of text outside of blocks, loops and conditions entered."""
    for node in part.iter_child_nodes():
        if isinstance(node, nodes.CallBlock | nodes.Macro):
            continue
        if isinstance(node, nodes.TemplateData) and node.data.strip():
            yield node.lineno
        else:
            yield from _stray_text(node)


def environment(filters: Mapping[str, Callable[..., Any]], finalize: Callable[[Any], Any]) -> jinja2.Environment:
    """Return the environment of the templates: undefined names are errors, nothing is escaped as HTML."""
    templates = jinja2.Environment(
        undefined=jinja2.StrictUndefined, finalize=finalize, autoescape=False, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters = dict(filters)  # without Jinja's own `list` and `count`, which print Python values
    return templates
