"""Compare two runs: every number of every table bit for bit, regardless of names.

    python benchmarks/same_tables.py OLD_RUN NEW_RUN

A table is paired with the table of the other run that holds the same numbers in the same rows. A column of words is
the same if the old words map one-to-one to new words; renamed words are printed for reading. A column without a partner
is printed, and the exit code is 1.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def is_number(column: pd.Series) -> bool:
    """Return True if a column holds numbers; booleans count as words, because they were once yes and no."""
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def same_numbers(old: pd.Series, new: pd.Series) -> bool:
    """Return True if two columns hold the same numbers; NaN equals NaN."""
    values = [column.to_numpy(np.float64, na_value=np.nan) for column in (old, new)]
    return np.array_equal(*values, equal_nan=True)


def renamed_words(old: pd.Series, new: pd.Series) -> dict[str, str] | None:
    """Return the new word for each renamed word of a column; None if the mapping is not one-to-one."""
    pairs = set(zip(old.map(repr), new.map(repr), strict=True))
    one_to_one = len({a for a, _ in pairs}) == len({b for _, b in pairs}) == len(pairs)
    return {a: b for a, b in pairs if a != b} if one_to_one else None


def unpaired(old: pd.DataFrame, new: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Return the old columns without a partner among the new ones, and descriptions of the renamed ones."""
    left, missing, renamed = list(new.columns), [], []
    for name in old.columns:
        candidates = [name] if name in left else left
        partner = next((each for each in candidates if _same(old[name], new[each])), None)
        if partner is None:
            missing.append(f"{name}{_largest_difference(old, new, name)}")
            continue
        left.remove(partner)
        renamed += [f"{name} -> {partner}"] if partner != name else []
        if not is_number(old[name]):
            words = renamed_words(old[name], new[partner]) or {}
            renamed += [f"{partner}: {a:.60} -> {b:.60}" for a, b in words.items()]
    return missing, renamed


def _same(old: pd.Series, new: pd.Series) -> bool:
    if is_number(old) != is_number(new):
        return False
    return same_numbers(old, new) if is_number(old) else renamed_words(old, new) is not None


def _largest_difference(old: pd.DataFrame, new: pd.DataFrame, name: str) -> str:
    if name not in new or not (is_number(old[name]) and is_number(new[name])):
        return ""
    values = [table[name].to_numpy(np.float64, na_value=np.nan) for table in (old, new)]
    differences = np.nan_to_num(np.abs(values[0] - values[1]))
    return f" (by at most {differences.max(initial=0):.1e})"


def main() -> None:
    """Compare the tables of two run folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    arguments = parser.parse_args()
    new_tables = {path.stem: pd.read_parquet(path) for path in sorted(arguments.new.glob("tables/*.parquet"))}
    differences = 0
    for path in sorted(arguments.old.glob("tables/*.parquet")):
        old = pd.read_parquet(path)
        same_length = [name for name, table in new_tables.items() if len(table) == len(old)]
        named = [path.stem] if path.stem in same_length else same_length
        found = {name: unpaired(old, new_tables[name]) for name in named}
        name = min(found, key=lambda each: len(found[each][0]), default=None)
        missing, renamed = found[name] if name is not None else (list(old.columns), [])
        differences += bool(missing)
        verdict = f"DIFFERENT in {', '.join(missing)}" if missing else "the same"
        print(f"{path.stem} -> {name}: {len(old):,} rows, {verdict}")
        for words in renamed[:12]:
            print(f"    {words}")
        if len(renamed) > 12:
            print(f"    and {len(renamed) - 12} more")
    print("every table is the same, but for names" if not differences else f"{differences} tables differ")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
