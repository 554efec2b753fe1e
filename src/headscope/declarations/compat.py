"""The options that `--compat original` fixes to the choices of the original's notebook."""

from typing import Any

from headscope.errors import OptionError

UNSET = ""
"""The value of `RunOptions.packing`, `pooling` and `spacing` if the user sets nothing, so that the run chooses."""
DEFAULT_PACKING = "pretraining"
"""The default packing for a model that reads pairs."""
DEFAULT_POOLING = "mean"
DEFAULT_SPACING = "written"

# Offsets, ties, the `poss` rule and selection on the scored data are not options; they depend on `compat` alone.
ORIGINAL: dict[str, tuple[str | bool, str]] = {
    "pooling": ("first", "reads attention from a cut word's first piece"),
    "spacing": ("words", "joins the words of a treebank by spaces"),
    "special_tokens": (False, "leaves special tokens out"),
    "both_directions": (False, "scores each direction by itself"),
    "fold_labels": (False, "counts labels as they stand"),
}
"""The value of each option in the notebook, and a description of the notebook's behavior."""


def check_compat(compat: str | None, values: dict[str, Any]) -> None:
    """Check that options do not contradict `--compat original`.

    Args:
        compat: `original`, or None.
        values: options of `ORIGINAL` as the user set them; `pooling` and `spacing` may be `UNSET`.

    Raises:
        OptionError: an option differs from the notebook; the message says what to leave out.
    """
    if compat is None:
        return
    for name, (value, does) in ORIGINAL.items():
        if values[name] in (value, UNSET):
            continue
        option = f"--{name.replace('_', '-')}"
        setting = option if isinstance(value, bool) else f"{option} {values[name]}"
        raise OptionError(
            f"--compat {compat} and {setting} contradict each other: the original's notebook {does}; leave one of the "
            "two out"
        )


def pooling_of(compat: str | None, requested: str) -> str:
    """Return the pooling of a word's pieces: the requested one, else that of the notebook or the paper."""
    return requested or (str(ORIGINAL["pooling"][0]) if compat is not None else DEFAULT_POOLING)


def spacing_of(compat: str | None, requested: str) -> str:
    """Return the spacing of treebank words: the requested one, else that of the notebook, or as written."""
    return requested or (str(ORIGINAL["spacing"][0]) if compat is not None else DEFAULT_SPACING)


def pooling_of_maps(word_level: str | None, *, requested: str, compat: str | None) -> str:
    """Return the pooling of a word's pieces in saved maps; it is fixed for maps by word.

    Args:
        word_level: pooling of the maps; None for maps by token.
        requested: pooling that the user requested, or `UNSET`.
        compat: `original`, or None.

    Raises:
        OptionError: maps by word have another pooling than the requested one.
    """
    if word_level is None:
        return pooling_of(compat, requested)
    needed = pooling_of(compat, requested) if requested or compat else word_level
    if needed != word_level:
        why = f"--pooling {requested}" if requested else f"--compat {compat}, which reads --pooling {needed},"
        raise OptionError(
            f"{why} does not fit these maps, which are by word already (--pooling {word_level}); leave it out, or "
            f"extract them again by token, or with --word-level --pooling {needed}"
        )
    return word_level
