"""Studies made of tables in memory, with other parts than they have, and what parts of the report are made from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from headscope.present import drawing
from headscope.present.report_parts import Context
from headscope.present.study import Study

# What a study computes of its tables, and a test may say instead.
COMPUTED = ("roles", "is_bert_base")


def study_in_memory(manifest, tables, **computed):
    """Return a study of tables in memory; what is computed of them is as given here."""
    study = Study(manifest, tables)
    for name, part in computed.items():
        assert name in COMPUTED
        setattr(study, name, part)
    return study


def with_parts(run, **parts):
    """Return a study with these parts and tables in place of its own; a table that is None is left out."""
    computed = {name: part for name, part in vars(run).items() if name in COMPUTED}
    computed |= {name: parts.pop(name) for name in COMPUTED if name in parts}
    manifest = parts.pop("manifest", run.manifest)
    tables = {name: table for name, table in {**run.tables, **parts}.items() if table is not None}
    return study_in_memory(manifest, tables, **computed)


def about(run, *, found=()):
    """What every part of a run's report is made from."""
    return replace(Context.of(run), findings=found)


@contextmanager
def blank_figures() -> Iterator[None]:
    """Place empty pictures in pages: for tests of what stands around figures, which take most of a page's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_markup", lambda _: '<svg viewBox="0 0 400 300"></svg>')
        yield


def only(sections):
    """The markup of the one section that was made, or None where none was."""
    assert len(sections) < 2
    return sections[0].html if sections else None
