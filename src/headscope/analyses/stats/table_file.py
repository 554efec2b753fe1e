"""Write the table of statistics to a single file: CSV, JSON or Parquet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.counted import count
from headscope.declarations.option import choose
from headscope.storage.files import check_file_place

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult

FORMATS = {".csv": "CSV", ".json": "JSON", ".parquet": "Parquet"}


def check(out: Path) -> None:
    """Check the path of the table before the scan.

    Raises:
        OptionError: the path has another ending, is a folder, or is in a folder that does not exist.
    """
    choose("--out with the ending", out.suffix, tuple(FORMATS))
    check_file_place("--out", out)


def write(results: Mapping[str, StageResult], out: Path) -> list[str]:
    """Write the whole table; return a line for the terminal with its path and number of rows."""
    from headscope.storage.files import write_parquet, write_text
    from headscope.storage.lock import place_held

    stats = results["stats"].tables["stats"]
    with place_held(out):
        if out.suffix == ".csv":
            write_text(out, stats.to_csv(index=False))
        elif out.suffix == ".json":
            write_text(out, stats.to_json(orient="records", indent=1, double_precision=15))
        else:
            write_parquet(out, stats)
    return [f"table: {out} ({count(len(stats), 'row')})"]
