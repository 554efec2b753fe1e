"""`headscope merge`: the parts of a run in, the run in one folder out, as if one machine had done it."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headscope.app.cli.report import say_pages, say_study
from headscope.app.options import typed as o


def command(
    parts: Annotated[
        list[Path],
        typer.Argument(metavar="DIR ...", help="Folders that headscope report --shard wrote, all of them."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Folder of the run: new, empty, or of the same run.", show_default=False
        ),
    ],
    bundle: o.Bundle = False,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", help="Where the model runs here; as in the parts when not given.", show_default=False
        ),
    ] = None,
    quiet: o.Quiet = False,
) -> None:
    """Join the parts of a report that machines scanned.

    Text and model must be where they were: sums are joined, and the model reads no more than the sentences on which
    heads are shown. Probes are trained here.
    """
    from headscope.app.cli.progress_lines import ProgressPrinter
    from headscope.atlas.atlas_files import run_report
    from headscope.running.parts import read_parts

    read = read_parts(parts)
    options = read[0].options if device is None else replace(read[0].options, device=device)
    with ProgressPrinter(quiet=quiet) as watch:
        study = run_report(options, out=out, watch=watch, parts=read)
    say_study(study)
    say_pages(study, bundle=bundle)
