"""What the page and the terminal say of effects: sentences by topic, sections by name."""

from headscope.analyses.effects.facts import PAGE, PARTS
from headscope.present.page_tables import Grid
from support.measured import about


def sentences(run, *topics):
    """The sentences on some topics."""
    return [each for each in PARTS.findings(about(run)) if each.topic in topics]


def sections(run, name):
    """The section of a name, with all sentences; empty if the run has none."""
    found = PARTS.findings(about(run))
    return [each for each in PARTS.sections(about(run, found=found)) if each.name == name]


def terminal(run):
    """The tables and the lines of a terminal."""
    shown = list(PAGE.terminal(run))
    return [each for each in shown if isinstance(each, Grid)], [each for each in shown if isinstance(each, str)]
