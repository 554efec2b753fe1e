"""Sentences, sections and terminal lines about effects in a made-up run."""

from headscope.analyses.effects.facts import PAGE, PARTS
from headscope.present.page_tables import Grid
from support.measured import about


def sentences(run, *topics):
    """Return the sentences on some topics."""
    return [each for each in PARTS.findings(about(run)) if each.topic in topics]


def sections(run, name):
    """Return the sections of a name, made with all sentences; empty if the run has none."""
    found = PARTS.findings(about(run))
    return [each for each in PARTS.sections(about(run, found=found)) if each.name == name]


def terminal(run):
    """Return the tables and the lines of the terminal's output."""
    shown = list(PAGE.terminal(run))
    return [each for each in shown if isinstance(each, Grid)], [each for each in shown if isinstance(each, str)]
