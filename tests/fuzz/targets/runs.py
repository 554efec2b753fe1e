"""Damaged run folders: opened and read, drawn as atlas and report, and resumed."""

from pathlib import Path
from unittest.mock import patch

from fuzz.sample import Sample, read_sample
from fuzz.target import Check, Target
from headscope.app.api import head_atlas
from headscope.app.explorer.model_shelf import study_model
from headscope.errors import InputError
from headscope.present import drawing
from headscope.present.study import open_study
from headscope.reporting.atlas_page import atlas_blocks
from headscope.reporting.report_page import render_report
from headscope.reporting.story import first_findings
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.mock_inputs import encoder, section_4, t5
from support.mock_study import write_study
from support.tiny_models import tiny_model
from support.tiny_tokenizers import tiny_tokenizer

_NEEDED = {"stats", "examples"}


def _made_up(folder: Path) -> list[Sample]:
    """Return runs with small tables in the written form."""
    runs = {"plain": encoder(2, 3), "syntax": section_4(2, 3, documents=12), "kinds": t5()}
    found = []
    for name, inputs in runs.items():
        write_study(inputs, folder / name)
        found.append(read_sample(folder / name))
    return found


def _options(folder: Path) -> RunOptions:
    """Return a run that takes seconds: the statistics of a tiny model."""
    tiny_model("bert").save_pretrained(folder / "tiny")
    tiny_tokenizer("bert").save_pretrained(folder / "tiny")
    text = folder / "text.txt"
    text.write_text("The cat sat on the mat.\nThe dogs ran.\n\nA dog and the cat ran.\n", encoding="utf-8")
    return RunOptions(model=str(folder / "tiny"), text=(str(text),), stages=("stats",), max_length=32, device="cpu")


def _real(folder: Path) -> list[Sample]:
    write_run(prepare(_options(folder)), folder / "run")
    return [read_sample(folder / "run")]


def _read(folder: Path) -> Check:
    def run(given: Path) -> None:
        study = open_study(given)
        for name in study.tables:
            study.table(name)
        assert isinstance(study.summary(), str)
        if "stats" in study.tables:
            study.roles  # noqa: B018 - only errors of this read matter
            study_model(study)

    return run


def _atlas(folder: Path) -> Check:
    def run(given: Path) -> None:
        study = open_study(given)
        head_atlas(study, out=folder / "atlas")
        atlas_blocks(study)

    return run


def _report(folder: Path) -> Check:
    """Write the page; figures are built but not drawn, which would take most of the time."""
    empty = '<svg viewBox="0 0 1 1"></svg>'

    def run(given: Path) -> None:
        study = open_study(given)
        if not set(study.tables) >= _NEEDED:
            raise InputError("measured again before it is drawn")
        first_findings(study)
        with patch.object(drawing, "svg_text", lambda figure: empty):
            render_report(study)

    return run


def _resume(folder: Path) -> Check:
    """Resume a run: damaged files are measured again, or refused with a remedy, and never used."""
    options = _options(folder)
    write_run(prepare(options), folder / "whole")
    whole = open_study(folder / "whole")
    expected = {name: whole.table(name) for name in whole.tables}

    def run(given: Path) -> None:
        write_run(prepare(options), given)
        study = open_study(given)
        assert study.manifest["complete"] is True
        for name, table in expected.items():
            assert study.table(name).equals(table), f"{name} differs from the measured table"

    return run


TARGETS = [
    Target(name="runs", seeds=lambda folder: [*_made_up(folder), *_real(folder)], prepare=_read),
    Target(name="atlas", seeds=_made_up, prepare=_atlas),
    Target(name="report", seeds=_made_up, prepare=_report),
    Target(name="resume", seeds=_real, prepare=_resume),
]
