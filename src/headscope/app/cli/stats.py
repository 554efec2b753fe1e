"""`headscope stats`: the surface statistics as a table for a terminal, or as CSV, JSON or Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show_table
from headscope.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {".csv": "CSV", ".json": "JSON", ".parquet": "Parquet"}


@o.takes("text", "model", "revision", "maps", *o.SURFACE, *o.MACHINE)
def command(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the whole table to a .csv, .json or .parquet file.", show_default=False
        ),
    ] = None,
    **given: Any,
) -> None:
    """Print what each head attends to: positions, special tokens, punctuation, entropy, and its role."""
    if out is not None:
        o.choose("--out with the ending", out.suffix, tuple(FORMATS))
        if out.is_dir() or not out.resolve().parent.is_dir():
            raise OptionError(f"--out {out} is no place for a file; give a file in a folder that exists")
    quiet = given.pop("quiet")
    asked = o.run_options(**given, stages=("surface",))
    from headscope.analyses.surface.measure import measure_surface
    from headscope.app.cli.progress import ProgressPrinter
    from headscope.prepare.run import prepare

    with ProgressPrinter(quiet=quiet) as watch:
        run = prepare(asked)
        surface = measure_surface(run, watch).tables["surface"]
    if out is not None:
        _write(surface, out)  # before anything is said: the reader of a pipe may leave at any line
    _print(surface)
    for note in run.facts()["notes"]:
        say(f"note: {note}")
    if out is not None:
        say(f"table: {out} ({len(surface):,} rows)")


def _print(surface: "pd.DataFrame") -> None:
    """Print a row for each head: every mean over all rows, in percent of attention or nats, and the role."""
    from headscope.statistics.catalogue import STATISTICS, Rows, Unit
    from headscope.statistics.roles import roles

    wide = surface[surface["head"].notna()].pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    rows = wide.reset_index().dropna(how="all", subset=list(wide.columns)).merge(roles(surface))
    several = surface["kind"].nunique() > 1
    columns = [one for one in STATISTICS.values() if one.rows is Rows.ALL]
    shown = []
    for row in rows.to_dict("records"):
        label = f"{row['layer']}-{row['head']}"
        cells = [_cell(row.get(one.name, float("nan")), share=one.unit is Unit.SHARE) for one in columns]
        shown.append([f"{row['kind']} {label}" if several else label, *cells, row["role"]])
    numbers = [(one.heading or one.name, "right") for one in columns]
    show_table([("head", "left"), *numbers, ("role", "left")], shown)
    nats = [f"{one.heading or one.name} in nats" for one in columns if one.unit is Unit.NATS]
    told = [f"{one.heading or one.name}: {one.heading_says}" for one in columns if one.heading_says]
    say("; ".join(["percent of attention", *nats, *told]))


def _cell(value: float, *, share: bool) -> str:
    """Write nats with two digits, shares as percent, and what cannot occur as a dash."""
    if value != value:
        return "-"
    return f"{100 * value:.1f}" if share else f"{value:.2f}"


def _write(surface: "pd.DataFrame", out: Path) -> None:
    from headscope.storage.files import write_parquet, write_text
    from headscope.storage.lock import place_held

    with place_held(out):
        if out.suffix == ".csv":
            write_text(out, surface.to_csv(index=False))
        elif out.suffix == ".json":
            write_text(out, surface.to_json(orient="records", indent=1, double_precision=15))
        else:
            write_parquet(out, surface)
