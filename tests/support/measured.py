"""Studies built from tables in memory, with replaced parts, and the context of a report's sections."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from headscope.present import drawing
from headscope.present.report_parts import Context
from headscope.present.study import Study

# Attributes that a study computes from its tables, and that a test may set instead.
COMPUTED = ("roles", "is_bert_base")


def study_in_memory(manifest, tables, **computed):
    """Return a study of tables in memory; `computed` replaces attributes that are computed from the tables."""
    study = Study(manifest, tables)
    for name, part in computed.items():
        assert name in COMPUTED
        setattr(study, name, part)
    return study


def with_parts(run, **parts):
    """Return a study with these parts and tables in place of its own; a table that is None is dropped."""
    computed = {name: part for name, part in vars(run).items() if name in COMPUTED}
    computed |= {name: parts.pop(name) for name in COMPUTED if name in parts}
    manifest = parts.pop("manifest", run.manifest)
    tables = {name: table for name, table in {**run.tables, **parts}.items() if table is not None}
    return study_in_memory(manifest, tables, **computed)


def about(run, *, found=()):
    """Return the context from which every section of a run's report is made."""
    return replace(Context.of(run), findings=found)


@contextmanager
def blank_figures() -> Iterator[None]:
    """Place empty pictures in pages, since figures take most of the time that a page takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_markup", lambda _: '<svg viewBox="0 0 400 300"></svg>')
        yield


def only(sections):
    """Return the markup of the only section, or None without a section."""
    assert len(sections) < 2
    return sections[0].html if sections else None
