"""`headscope stats`: the surface statistics as a table for a terminal, or as CSV, JSON or Parquet."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.app.cli import options as o
from headscope.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

FORMATS = {".csv": "CSV", ".json": "JSON", ".parquet": "Parquet"}
_SHOWN = ("previous", "next", "current", "cls", "sep", "punctuation", "entropy", "max_weight")


def command(
    text: o.Text = None,
    model: o.Model = None,
    revision: o.Revision = None,
    maps: o.Maps = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the whole table to a .csv, .json or .parquet file.", show_default=False
        ),
    ] = None,
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
    """Print what each head attends to: positions, special tokens, punctuation, entropy, and its role."""
    if out is not None:
        o.choose("--out with the ending", out.suffix, tuple(FORMATS))
        if out.is_dir() or not out.resolve().parent.is_dir():
            raise OptionError(f"--out {out} is no place for a file; give a file in a folder that exists")
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
    from headscope.study.stages import measure, prepare

    with ProgressPrinter(quiet=quiet) as watch:
        measured = measure(prepare(asked), watch=watch)
    _print(measured.surface)
    for note in measured.manifest["notes"]:
        typer.echo(f"note: {note}")
    if out is not None:
        _write(measured.surface, out)
        typer.echo(f"table: {out} ({len(measured.surface):,} rows)")


def _print(surface: "pd.DataFrame") -> None:
    """Print a row for each head: percent of attention, entropy in nats, and the role."""
    from rich.console import Console
    from rich.table import Table

    from headscope.heads.behaviours import roles

    wide = surface[surface["head"].notna()].pivot_table(
        index=["kind", "layer", "head"], columns="statistic", values="value", sort=False, dropna=False
    )
    rows = wide.reset_index().dropna(how="all", subset=list(wide.columns)).merge(roles(surface))
    several = surface["kind"].nunique() > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("head")
    for name in _SHOWN:
        table.add_column({"max_weight": "largest"}.get(name, name), justify="right")
    table.add_column("role")
    for row in rows.to_dict("records"):
        label = f"{row['layer']}-{row['head']}"
        cells = [_cell(name, row.get(name, float("nan"))) for name in _SHOWN]
        table.add_row(f"{row['kind']} {label}" if several else label, *cells, row["role"])
    # A pipe gets whole lines, whatever width a console thinks it has.
    console = Console(width=None if Console().is_terminal else 120)
    console.print(table)
    console.print("percent of attention; entropy in nats; largest: mean over tokens of the largest weight")


def _cell(name: str, value: float) -> str:
    """Write nats with two digits, shares as percent, and what cannot occur as a dash."""
    if value != value:
        return "-"
    return f"{value:.2f}" if name == "entropy" else f"{100 * value:.1f}"


def _write(surface: "pd.DataFrame", out: Path) -> None:
    from headscope.study.files import write_atomically

    def fill(beside: Path) -> None:
        if out.suffix == ".csv":
            surface.to_csv(beside, index=False)
        elif out.suffix == ".json":
            surface.to_json(beside, orient="records", indent=1, double_precision=15)
        else:
            surface.to_parquet(beside, index=False)

    write_atomically(out, fill)
