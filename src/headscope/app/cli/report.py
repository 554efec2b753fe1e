"""`headscope report`: corpora in, a run directory with a page on every head out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say

_FIRST = ("text", "model", "revision", "treebank", "treebank_train", "coref", "loss", "maps", "strict_input")


@o.takes(*o.in_order(o.OPTIONS.values(), first=_FIRST), o.QUIET, files=True)
def command(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder of the run: new, empty, or of the same run; named after text and model when not given.",
            show_default=False,
        ),
    ] = None,
    bundle: Annotated[
        bool,
        typer.Option(
            "--bundle",
            help="Also write OUT.zip: page, atlas, figures and tables, one file to send.",
        ),
    ] = False,
    **given: Any,
) -> None:
    """Run a model over text and write a report on every head.

    A treebank and coreference add what heads find of syntax and of antecedents.

    Without any corpus the demonstration ones are read. In a folder that holds a report already, only what other
    options or corpora change is measured again.
    """
    quiet = given.pop("quiet")
    asked = o.run_options(**o.with_files(given))
    from headscope.app.cli.progress_lines import ProgressPrinter
    from headscope.atlas.atlas_files import ATLAS, run_report
    from headscope.reporting.from_study import first_findings

    with ProgressPrinter(quiet=quiet) as watch:
        study = run_report(asked, out=out, watch=watch)
    say(study.summary())
    for finding in first_findings(study):
        say(f"- {finding}")
    for note in study.manifest["notes"]:
        say(f"note: {note}")
    if out is None:
        say(f"folder: {study.path} (--out names another)")
    say(f"atlas: {study.path / ATLAS / 'index.html'}")
    say(f"report: {study.report_path}")
    if bundle:
        from headscope.atlas.bundle import write_bundle

        packed = write_bundle(study)
        say(f"to send: {packed} ({packed.stat().st_size / 1e6:.1f} MB; unpack it, then open report.html)")
