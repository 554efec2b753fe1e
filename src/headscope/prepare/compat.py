"""What `--compat original` fixes: choices of the original's notebook that are options of a run otherwise."""

from typing import Any

from headscope.errors import OptionError

NOT_GIVEN = ""
"""What `RunOptions.pooling` and `spacing` hold where the user named none, and a run may choose."""
USUAL_POOLING = "mean"
USUAL_SPACING = "written"

# Offsets, ties, the `poss` rule and choosing on the data that is scored are no options: they follow `compat` alone.
ORIGINAL: dict[str, tuple[str | bool, str]] = {
    "pooling": ("first", "reads attention from a cut word's first piece"),
    "spacing": ("words", "joins the words of a treebank by spaces"),
    "special_tokens": (False, "leaves special tokens out"),
    "both_directions": (False, "scores each direction by itself"),
    "fold_labels": (False, "counts labels as they stand"),
}
"""By option: its value in the notebook, and what the notebook does."""


def check_compat(compat: str | None, given: dict[str, Any]) -> None:
    """Refuse options that contradict `--compat original`.

    Args:
        compat: `original`, or None.
        given: the options of `ORIGINAL` as the user gave them; `pooling` and `spacing` may be `NOT_GIVEN`.

    Raises:
        OptionError: one has another value than the notebook's; says which and what to leave out.
    """
    if compat is None:
        return
    for name, (value, does) in ORIGINAL.items():
        if given[name] in (value, NOT_GIVEN):
            continue
        option = f"--{name.replace('_', '-')}"
        found = option if isinstance(value, bool) else f"{option} {given[name]}"
        raise OptionError(
            f"--compat {compat} and {found} contradict each other: the original's notebook {does}; leave one of the "
            "two out"
        )


def pooling_of(compat: str | None, given: str) -> str:
    """Return how attention from a cut word is joined: as given, else as the notebook or the paper does."""
    return given or (str(ORIGINAL["pooling"][0]) if compat is not None else USUAL_POOLING)


def spacing_of(compat: str | None, given: str) -> str:
    """Return how words of a treebank are joined: as given, else as the notebook does or as they are written."""
    return given or (str(ORIGINAL["spacing"][0]) if compat is not None else USUAL_SPACING)


def pooling_of_maps(word_level: str | None, *, given: str, compat: str | None) -> str:
    """Return how attention from a cut word is joined in saved maps: by word, that was settled when they were made.

    Args:
        word_level: how the maps join it; None where they are by token.
        given: what the user asked for, or `NOT_GIVEN`.
        compat: `original`, or None.

    Raises:
        OptionError: maps by word that were joined otherwise than asked for.
    """
    if word_level is None:
        return pooling_of(compat, given)
    asked = pooling_of(compat, given) if given or compat else word_level
    if asked != word_level:
        why = f"--pooling {given}" if given else f"--compat {compat}, which reads --pooling {asked},"
        raise OptionError(
            f"{why} does not fit these maps, which are by word already (--pooling {word_level}); leave it out, or "
            f"extract them again by token, or with --word-level --pooling {asked}"
        )
    return word_level
