"""`headscope cluster`: how far apart heads are, which cluster, and whether heads of a layer are alike."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show
from headscope.app.cli.syntax import Out
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult

STAGES = ("surface", "distances", "map")


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
    from headscope.analyses import OF_STAGE
    from headscope.app.cli.progress import ProgressPrinter
    from headscope.prepare.run import prepare
    from headscope.study.stages import measure
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
    show(OF_STAGE["map"].shown(found["distances"], found["map"]))
    notes = [*run.facts()["notes"], *(note for result in results for note in result.notes)]
    for note in dict.fromkeys(notes):
        say(f"note: {note}")
    for path, heads in written:
        say(f"matrix: {path} ({heads} x {heads})")
    if out is not None:
        say(f"tables: {out / 'tables'}")


def write_matrices(distances: "StageResult", mapped: "StageResult", path: Path) -> list[tuple[Path, int]]:
    """Write the divergences of each kind as a `.npy` array, `[head, head]`; return the files and their heads.

    A model of one kind fills `path` itself; of several, `NAME-KIND.npy` beside it.
    """
    import numpy as np

    from headscope.analyses.distances.pair_table import matrix_of
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
