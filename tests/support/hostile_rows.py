"""Saved maps in which one row cannot come from a softmax."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from support.hostile import Case
from support.maps_folders import FORMS, whole

WRONG: dict[str, tuple[Callable[[np.ndarray], None], str]] = {
    "negative": (lambda row: row.__setitem__(slice(0, 2), [-0.5, row[0] + row[1] + 0.5]), "holds -0.5; expected"),
    "above 1": (lambda row: row.__setitem__(0, 1.5), "holds 1.5; expected weights between 0 and 1"),
    "all zero": (lambda row: row.__setitem__(slice(None), 0), "sums to 0; expected 1"),
    "of integers": (lambda row: row.__setitem__(slice(0, 3), [3, 1, 4]), "holds 3; expected weights between 0 and 1"),
    "that sum to less": (lambda row: row.__imul__(0.75), "sums to 0.7"),
    "that sum to more": (lambda row: row.__imul__(1.25), "sums to 1.25; expected 1"),
    "just too far off": (lambda row: row.__imul__(0.995), "sums to 0.99"),
    "NaN": (lambda row: row.__setitem__(1, np.nan), "holds nan; expected weights between 0 and 1"),
    "infinite": (lambda row: row.__setitem__(1, np.inf), "holds inf; expected weights between 0 and 1"),
    "minus infinite": (lambda row: row.__setitem__(1, -np.inf), "holds -inf; expected weights between 0 and 1"),
    "before the softmax": (lambda row: row.__setitem__(slice(0, 3), [-9, 2, 11]), "holds -9; expected weights"),
}  # fmt: skip


def _in_row(change: Callable[[np.ndarray], None], maps: np.ndarray) -> None:
    change(maps[1, 0, 2])


def _spoilt_rows(
    form: str, store: str, change: Callable[[np.ndarray], None], folder: Path, *, masked: bool = False
) -> Path:
    return whole(folder / "maps", form, store=store, change=change, masked=masked)


def rows() -> Iterator[Case]:
    """Yield maps with a wrong third row of head 2-1 of the second segment, for every kind and both types."""
    for form, kinds in FORMS.items():
        for store in ("float16", "float32"):
            for name, (change, says) in WRONG.items():
                head = "cross head 2-1" if kinds[-1] == "cross" else f"{kinds[-1]} head 2-1"
                yield Case(
                    f"{form} weights {name} in {store}",
                    partial(_spoilt_rows, form, store, partial(_in_row, change)),
                    f"row 3 of {head} in segment 1 of document b {says}",
                )
            yield Case(
                f"{form} weights that are right in {store}", partial(_spoilt_rows, form, store, lambda maps: None), None
            )

    def later(maps: np.ndarray) -> None:
        maps[1, 0, 2] = [0, 0, 0, 1, 0]

    for store in ("float16", "float32"):
        yield Case(
            f"a decoder that looks ahead in {store}",
            partial(_spoilt_rows, "decoder", store, later),
            "row 3 of decoder head 2-1 in segment 1 of document b holds 1 for key 4, which is masked; expected 0",
        )

    def far(maps: np.ndarray) -> None:
        maps[1, 0, 2] = [1, 0, 0, 0, 0]

    yield Case(
        "a look out of a window",
        partial(_spoilt_rows, "encoder", "float16", far, masked=True),
        "row 3 of encoder head 2-1 in segment 1 of document b holds 1 for key 1, which is masked; expected 0",
    )
