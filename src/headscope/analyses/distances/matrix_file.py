"""Divergences as a file of their own: a heads x heads array."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import OptionError
from headscope.storage.file_place import check_file_place

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult


def check(path: Path) -> None:
    """Refuse a place for the array before the scan.

    Raises:
        OptionError: another ending, a folder, or a folder that is not there.
    """
    if path.suffix != ".npy":
        raise OptionError(f"--matrix {path} does not end in .npy; expected a file for a numpy array")
    check_file_place("--matrix", path)


def write(results: Mapping[str, StageResult], path: Path) -> list[str]:
    """Write the array of each kind; return what is said of them."""
    written = write_matrices(results["distances"], results["map"], path)
    return [f"matrix: {file} ({heads} x {heads})" for file, heads in written]


def write_matrices(distances: StageResult, mapped: StageResult, path: Path) -> list[tuple[Path, int]]:
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
