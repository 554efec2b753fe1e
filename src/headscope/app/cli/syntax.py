"""`headscope syntax`: which head finds which dependency relation, as a table for a terminal, and all tables on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show

if TYPE_CHECKING:
    pass

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for all tables (tables/*.parquet) and the manifest: new, empty, or of the same run.",
        show_default=False,
    ),
]


@o.takes("treebank", "model", "revision", "maps", *o.SYNTAX, "strict_input", *o.MACHINE)
def command(out: Out = None, **given: Any) -> None:
    """Score every head on dependency relations: the best head of each beside the best fixed offset.

    Without --treebank or --maps the synthetic treebank is read.
    """
    for line in run_tables("syntax", out=out, given=given):
        say(line)


def run_tables(stage: str, *, out: Path | None, given: dict[str, Any]) -> list[str]:
    """Run one stage, show its tables, write them where asked to; return what is left to say."""
    quiet = given.pop("quiet")
    asked = o.run_options(**given, stages=(stage,))
    from headscope.analyses import OF_STAGE
    from headscope.app.cli.progress import ProgressPrinter
    from headscope.prepare.run import prepare
    from headscope.study.stages import measure, stages_of
    from headscope.study.writing import read_stages, write_run

    with ProgressPrinter(quiet=quiet) as watch:
        run = prepare(asked)
        if out is None:
            results = list(measure(run, watch=watch))
        else:
            write_run(run, out, watch=watch)
            results = read_stages(out, *(each.name for each in stages_of(run)))
    for result in results:
        show(OF_STAGE[result.name].shown(result))
    notes = [f"note: {note}" for result in results for note in result.notes]
    where = [] if out is None else [f"tables: {out / 'tables'}"]
    return [*dict.fromkeys(notes), *where]
