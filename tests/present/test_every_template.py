"""Every branch of every template is reached by a made-up run, and every fact of every analysis is put into words."""

import sys
from functools import cache

import pytest
from jinja2 import nodes

from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.scans.declarations.analysis_list import ANALYSES
from support.template_runs import RUNS

PAGES = {each.name: each.load("facts:PAGE") for each in ANALYSES if each.report == "facts:PARTS"}


@cache
def context_of(name, number):
    return Context.of(RUNS[name][number]())


def branches(tree):
    """The first line of every branch of every condition."""
    for condition in tree.find_all(nodes.If):
        for body in (condition.body, *(branch.body for branch in condition.elif_), condition.else_):
            if any(not isinstance(node, nodes.Output) or node.nodes for node in body):
                yield body[0].lineno


def lines_reached(page: Page, name: str) -> set[int]:
    """The lines of a template that its made-up runs reach."""
    reached: set[int] = set()
    compiled = page.template.compiled

    def trace(frame, event, _):
        if frame.f_globals.get("debug_info") is not compiled.root_render_func.__globals__["debug_info"]:
            return None
        if event == "line":
            reached.add(compiled.get_corresponding_lineno(frame.f_lineno))
        return trace

    for number in range(len(RUNS[name])):
        about = context_of(name, number)
        facts = list(page.facts(about))
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            page.template.fill(about, facts)
        finally:
            sys.settrace(before)
    return reached


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_branch_is_reached(name):
    page = PAGES[name]
    reached = lines_reached(page, name)
    assert [line for line in branches(page.template.tree) if not reached & {line, line + 1}] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_fact_occurs(name):
    page = PAGES[name]
    occurring = {type(fact) for number in range(len(RUNS[name])) for fact in page.facts(context_of(name, number))}
    assert [fact for fact, kind in page.template.facts.items() if kind not in occurring] == []
