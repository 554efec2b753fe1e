"""`headscope report`: text in, a run directory with a page on every head out."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.app.cli import options as o


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder of the run: new, empty, or of the same run.")
    ],
    text: o.Text = None,
    model: o.Model = None,
    revision: o.Revision = None,
    maps: o.Maps = None,
    packing: o.Packing = "pretraining",
    max_length: o.MaxLength = 128,
    too_long: o.TooLong = "truncate",
    token_types: o.TokenTypes = "own",
    limit: o.Limit = None,
    batch_size: o.BatchSize = "auto",
    device: o.Device = "auto",
    dtype: o.Dtype = "float32",
    seed: o.Seed = 0,
    quiet: o.Quiet = False,
) -> None:
    """Run a model over text and write a report on what each attention head looks at."""
    asked = o.run_options(
        text=text,
        model=model,
        revision=revision,
        maps=maps,
        packing=packing,
        max_length=max_length,
        too_long=too_long,
        token_types=token_types,
        limit=limit,
        batch_size=batch_size,
        device=device,
        dtype=dtype,
        seed=seed,
    )
    from headscope.app.cli.progress import ProgressPrinter
    from headscope.reporting.run import first_findings, run_report

    with ProgressPrinter(quiet=quiet) as watch:
        study = run_report(asked, out=out, watch=watch)
    typer.echo(study.summary())
    for finding in first_findings(study):
        typer.echo(f"- {finding}")
    for note in study.manifest["notes"]:
        typer.echo(f"note: {note}")
    typer.echo(f"report: {study.report_path}")
