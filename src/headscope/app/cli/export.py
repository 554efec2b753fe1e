"""`headscope export`: a finished run in, its tables for a paper or a spreadsheet out."""

from pathlib import Path
from typing import Annotated

import typer

from headscope.app.cli.printing import say


def command(
    study: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a headscope report.")],
    form: Annotated[str, typer.Option("--format", help="csv, latex or xlsx.")] = "csv",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the files; by default DIR-export, beside DIR."),
    ] = None,
) -> None:
    """Write a report's tables for a paper or a spreadsheet.

    The paper's tables 1 to 3 of what was measured, as table-1.csv or table-1.tex; CSV and Excel hold every other table
    of the run, too.
    """
    from headscope.counted import count
    from headscope.study.export import export
    from headscope.study.study import open_study

    folder = study.resolve()
    written = export(open_study(study), out or folder.with_name(f"{folder.name}-export"), form=form)
    for path in written[:3]:
        say(f"table: {path}")
    if len(written) > 3:
        say(f"and {count(len(written) - 3, 'more table')} in {written[0].parent}")
