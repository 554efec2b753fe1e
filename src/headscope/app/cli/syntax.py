"""`headscope syntax`: which head finds which dependency relation, as a table for a terminal, and all tables on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show_table

if TYPE_CHECKING:
    import pandas as pd

    from headscope.analyses.stage_result import StageResult

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
    for line in run_tables("syntax", out=out, given=given, show=show):
        say(line)


def run_tables(stage: str, *, out: Path | None, given: dict[str, Any], show: Any) -> list[str]:
    """Run one stage, show its tables, write them where asked to; return what is left to say."""
    quiet = given.pop("quiet")
    asked = o.run_options(**given, stages=(stage,))
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
        show(result)
    notes = [f"note: {note}" for result in results for note in result.notes]
    where = [] if out is None else [f"tables: {out / 'tables'}"]
    return [*dict.fromkeys(notes), *where]


def show(result: "StageResult") -> None:
    """Print table 1: for each relation the held-out best head, its accuracy, and the best offset's."""
    from headscope.analyses.dependency.best_heads import TOTALS
    from headscope.statistics.arc_bins import FEWEST_ARCS

    best = result.tables["dependency_best"]
    trained = best[best["model"] == "trained"]
    selection = "held-out" if (trained["selection"] == "held-out").any() else "same-data"
    control = best[(best["model"] == "control") & (best["selection"] == selection)]
    held = selection == "held-out"
    chance = control.groupby("relation")["held_out"].mean()
    columns = [
        *(("relation", "left"), ("n", "right"), ("head", "left"), ("direction", "left")),
        *(("accuracy", "right"), ("95% interval", "right"), ("offset", "right"), ("accuracy", "right")),
        *(("above", "right"), ("95% interval", "right")),
        *([("held out", "right")] if held else []),
        *([("control", "right")] if len(chance) else []),
        ("q", "right"),
    ]
    several = result.tables["dependency"]["kind"].nunique() > 1
    rows = []
    for row in trained[trained["selection"] == selection].to_dict("records"):
        head = f"{row['layer']}-{row['head']}"
        cells = (
            *(row["relation"], f"{row['n']:,}", f"{row['kind']} {head}" if several else head),
            *(row["direction"], percent(row["accuracy"]), interval(row)),
            *(f"{row['baseline_offset']:+d}", percent(row["baseline_accuracy"])),
            *(percent(row["margin"]), interval(row, "margin_")),
            *([percent(row["held_out"])] if held else []),
            *([percent(chance.get(row["relation"], float("nan")))] if len(chance) else []),
            "" if row["relation"] in TOTALS else q_value(row["q_value"]),
        )
        rows.append(cells)
    show_table(columns, rows)
    facts = result.facts["treebank"]
    how = (
        "head, direction and offset: those that halves of the documents choose most often, on all documents; held out: "
        "what the choice is worth on the other half"
        if held
        else "head, direction and offset chosen and scored on the same data, as the original's notebook does"
    )
    say(
        f"{facts['name']}: {facts['sentences']:,} sentences of {facts['documents']:,} documents; percent; {how}; "
        f"relations of at least {FEWEST_ARCS} arcs; {'control: random weights; ' if len(chance) else ''}"
        f"q: one-sided test {'of the choice' if held else 'of the head'} against every offset, false discovery rate"
    )


def percent(value: float) -> str:
    """Write a share as percent, and what is not known as a dash."""
    return "-" if value != value else f"{100 * value:.1f}"


def interval(row: "pd.Series[Any] | dict[Any, Any]", prefix: str = "") -> str:
    """Write a row's interval in percent."""
    low, high = row[f"{prefix}ci_low"], row[f"{prefix}ci_high"]
    return "-" if low != low else f"{100 * low:.1f} to {100 * high:.1f}"


def q_value(value: float) -> str:
    """Write a q with three digits, and that nothing was tested in words."""
    return "not tested" if value != value else "<0.001" if value < 0.001 else f"{value:.3f}"
