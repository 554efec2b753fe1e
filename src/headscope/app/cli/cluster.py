"""`headscope cluster`: how far apart heads are, which cluster, and whether heads of a layer are alike."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show_table
from headscope.app.cli.syntax import Out
from headscope.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from headscope.study.results import StageResult

STAGES = ("surface", "distances", "map")
MOST_HEADS, MOST_PAIRS = 14, 8


@o.takes("text", "model", "revision", "maps", *o.SURFACE, *o.MACHINE)
def command(
    out: Out = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            help="Write the divergences as a heads x heads array (.npy), heads layer by layer; one file for each kind "
            "of attention where the model has several.",
            show_default=False,
        ),
    ] = None,
    **given: Any,
) -> None:
    """Measure how far apart heads' attention is, put heads into clusters, and test whether layers are alike.

    Distances are Jensen-Shannon divergences in nats, averaged over the tokens of the text.
    """
    if matrix is not None:
        _check_matrix(matrix)
    quiet = given.pop("quiet")
    asked = o.run_options(**given, stages=STAGES)
    from headscope.app.cli.progress import ProgressPrinter
    from headscope.study.stages import measure, prepare
    from headscope.study.writing import read_stages, write_run

    with ProgressPrinter(quiet=quiet) as watch:
        run = prepare(asked)
        if out is None:
            results = list(measure(run, watch=watch))
        else:
            write_run(run, out, watch=watch)
            results = read_stages(out, *STAGES)
    found = {result.name: result for result in results}
    # Before anything is said: the reader of a pipe may leave at any line.
    written = [] if matrix is None else write_matrices(found["distances"], found["map"], matrix)
    show(found["distances"], found["map"])
    notes = [*run.facts()["notes"], *(note for result in results for note in result.notes)]
    for note in dict.fromkeys(notes):
        say(f"note: {note}")
    for path, heads in written:
        say(f"matrix: {path} ({heads} x {heads})")
    if out is not None:
        say(f"tables: {out / 'tables'}")


def show(distances: "StageResult", mapped: "StageResult") -> None:
    """Print for each kind of attention the layer effect, the clusters with their heads, and the nearest pairs."""
    from headscope.geometry.pairs import nearest_pairs
    from headscope.reporting.distances_findings import trust

    pairs, places = distances.tables["head_distances"], mapped.tables["head_map"]
    effects, clusters = mapped.tables["layer_effect"], mapped.tables["head_clusters"]
    several = len(effects) > 1
    for place, effect in enumerate(effects.to_dict("records")):
        kind = effect["kind"]
        if several:
            if place:
                say()
            say(f"{kind} attention")
        say(effect_line(effect))
        heads = places[places["kind"] == kind]
        own = clusters[clusters["kind"] == kind]
        _show_clusters(own, heads)
        say(cut_line(effect))
        if len(own) > 1:
            say(f"clusters: {trust(own)}")
        nearest = nearest_pairs(pairs, kind=kind, most=MOST_PAIRS)
        if len(nearest):
            _show_pairs(nearest)
    _show_reading(distances)


def effect_line(effect: dict[Any, Any]) -> str:
    """Say how alike heads of a layer are, in one line."""
    if effect["effect"] != effect["effect"]:
        return f"within and between layers: not comparable, {effect['reason']}"
    return (
        f"divergence within layers {nats(effect['within'])}, between {nats(effect['between'])}: between less within "
        f"{nats(effect['effect'])}{_ends(effect, ' ({})')} nats, p = {effect['p']:.4f}"
    )


def nats(value: float) -> str:
    """Write a divergence with four digits after the point, and a small one with three that count."""
    return f"{value:.4f}" if abs(value) >= 0.01 or value == 0 else f"{value:.3g}"


def cut_line(effect: dict[Any, Any]) -> str:
    """Say how the clusters were made, and how well they and the map hold."""
    rand = effect["adjusted_rand"]
    again = "" if rand != rand else f", adjusted Rand {rand:.2f} on resampled documents"
    silhouette = effect["silhouette"]
    cut = "" if silhouette != silhouette else f", cut where the silhouette is best ({silhouette:.2f})"
    return (
        f"average linkage on the root of the divergence{cut}{again}; stress of the map {effect['stress']:.3f}"
    )


def write_matrices(distances: "StageResult", mapped: "StageResult", path: Path) -> list[tuple[Path, int]]:
    """Write the divergences of each kind as a `.npy` array, `[head, head]`; return the files and their heads.

    A model of one kind fills `path` itself; of several, `NAME-KIND.npy` beside it.
    """
    import numpy as np

    from headscope.geometry.pairs import matrix_of
    from headscope.storage.lock import placed

    places = mapped.tables["head_map"]
    kinds = list(dict.fromkeys(places["kind"]))
    written = []
    for kind in kinds:
        own = places[places["kind"] == kind].sort_values(["layer", "head"])
        heads = list(zip(own["layer"].tolist(), own["head"].tolist(), strict=True))
        array = matrix_of(distances.tables["head_distances"], heads, kind=kind)
        target = path if len(kinds) == 1 else path.with_name(f"{path.stem}-{kind}.npy")
        # By an open file: numpy would add .npy to a name.
        with placed(target, replace=True) as part, part.open("wb") as file:
            np.save(file, array)
        written.append((target, len(heads)))
    return written


def _check_matrix(path: Path) -> None:
    """Refuse a place for the array before the scan.

    Raises:
        OptionError: another ending, a folder, or a folder that is not there.
    """
    if path.suffix != ".npy":
        raise OptionError(f"--matrix {path} does not end in .npy; expected a file for a numpy array")
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise OptionError(f"--matrix {path} is no place for a file; give a file in a folder that exists")


def _show_clusters(clusters: "pd.DataFrame", heads: "pd.DataFrame") -> None:
    columns = [
        *(("cluster", "right"), ("heads", "right"), ("stability", "right"), ("roles", "left")),
        ("which", "left"),
    ]
    shown = []
    for row in clusters.to_dict("records"):
        own = heads[heads["cluster"] == row["cluster"]].sort_values(["layer", "head"])
        names = [f"{layer}-{head}" for layer, head in zip(own["layer"], own["head"], strict=True)]
        more = f" and {len(names) - MOST_HEADS} more" if len(names) > MOST_HEADS else ""
        roles = own["role"].dropna().value_counts()
        told = ", ".join(f"{role} {number}" for role, number in roles.items()) or "-"
        stable = "-" if row["stability"] != row["stability"] else f"{row['stability']:.2f}"
        which = " ".join(names[:MOST_HEADS]) + more
        shown.append([str(row["cluster"]), str(row["size"]), stable, told, which])
    show_table(columns, shown)


def _show_pairs(nearest: "pd.DataFrame") -> None:
    columns = [("nearest heads", "left"), ("nats apart", "right"), ("95% interval", "right")]
    shown = []
    for row in nearest.to_dict("records"):
        pair = f"{row['layer_a']}-{row['head_a']} and {row['layer_b']}-{row['head_b']}"
        shown.append([pair, nats(row["divergence"]), _ends(row, "{}") or "-"])
    show_table(columns, shown)


def _ends(row: dict[Any, Any], form: str) -> str:
    """Write a row's interval into a form, nothing where it has none."""
    if row["ci_low"] != row["ci_low"]:
        return ""
    return form.format(f"{nats(row['ci_low'])} to {nats(row['ci_high'])}")


def _show_reading(distances: "StageResult") -> None:
    from headscope.statistics.divergence import DIVERGENCE_GROUPS

    for kind, read in distances.facts["distances"].items():
        sample = "" if read["rows_read"] == read["rows"] else f", {read['rows_read']:,} of them read"
        say(
            f"{kind}: {read['rows']:,} rows of attention{sample} in {read['segments']:,} inputs; 95% intervals over "
            f"documents, in {DIVERGENCE_GROUPS} groups at most"
        )
