"""Measured runs with other parts than they have, and what parts of the report are made from."""

from dataclasses import fields, replace

from headscope.report_kit.report_parts import Context


def with_parts(run, **parts):
    """Return a `Measured` with these fields and tables in place of its own; a table that is None is left out."""
    own = {field.name for field in fields(run)}
    tables = {**run.tables, **{name: table for name, table in parts.items() if name not in own}}
    there = {name: table for name, table in tables.items() if table is not None}
    return replace(run, **{name: part for name, part in parts.items() if name in own}, tables=there)


def about(run, *, found=(), links=False):
    """What every part of a run's report is made from."""
    return replace(Context.of(run), findings=found, links=links)


def only(sections):
    """The markup of the one section that was made, or None where none was."""
    assert len(sections) < 2
    return sections[0].html if sections else None
