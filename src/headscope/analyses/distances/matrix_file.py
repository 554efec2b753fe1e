"""Divergences in a numpy file: a heads x heads array."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.errors import OptionError
from headscope.storage.files import check_file_place

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult


def check(path: Path) -> None:
    """Check the path of the array before the scan.

    Raises:
        OptionError: the path does not end in .npy, is a folder, or lies in a folder that does not exist.
    """
    if path.suffix != ".npy":
        raise OptionError(f"--matrix {path} does not end in .npy; expected a file for a numpy array")
    check_file_place("--matrix", path)


def write(results: Mapping[str, StageResult], path: Path) -> list[str]:
    """Write the divergences of each kind as a `.npy` array, `[head, head]`; return the lines to print.

    A model with one kind of attention has the single file `path`; with several, one `NAME-KIND.npy` in the same folder.
    """
    import numpy as np

    from headscope.analyses.distances.pair_table import matrix_of
    from headscope.storage.lock import placed

    pairs, head_table = results["distances"].tables["head_distances"], results["map"].tables["head_map"]
    kinds = list(dict.fromkeys(head_table["kind"]))
    lines = []
    for kind in kinds:
        heads = head_table[head_table["kind"] == kind].sort_values(["layer", "head"])
        array = matrix_of(pairs, heads[["layer", "head"]].to_numpy(), kind=kind)
        target = path if len(kinds) == 1 else path.with_name(f"{path.stem}-{kind}.npy")
        # numpy would add .npy to a name, but not to an open file.
        with placed(target, replace=True) as temporary, temporary.open("wb") as file:
            np.save(file, array)
        lines.append(f"matrix: {target} ({len(heads)} x {len(heads)})")
    return lines
