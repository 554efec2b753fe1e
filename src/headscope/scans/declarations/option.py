"""An option: a field with its help, choices and bounds; and the options that `--compat original` fixes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar

from headscope.errors import OptionError, did_you_mean

GROUPS = {
    "corpora": "Input",
    "model": "Model",
    "measure": "Measure",
    "other": "Options",
    "output": "Output",
    "machine": "Machine",
}
"""The groups of options, in the order of help, with the heading of each."""
_DECLARED = "option"
Declaring = TypeVar("Declaring", bound=type)


@dataclass(frozen=True, kw_only=True)
class Option:
    """The declaration of an option.

    Attributes:
        help: help text in a sentence, as `--help` prints it.
        name, kind, default: name, type and default of the field; `options_of` fills them in.
        flags: spellings on the command line, if not `--name`; messages use the first.
        choices: allowed values, or allowed elements of a tuple, besides the default; empty if any will do.
        placeholder: placeholder for a value in help, if it does not follow from the kind.
        least: smallest allowed number.
        least_typed: whether the command line checks that number; False if the model's bound is stricter.
        default_text: default as help shows it, if not the default itself.
        none: spelling of None on the command line.
        group: one of `GROUPS`: `corpora` and `model` (the input and its reader), `measure` (options that some stages
            name), `output` (files to write), `machine` (options that all runs take), or `other`.
        holds: corpora that the named files may hold, by the names that stages use.
        demonstrated: whether the demonstration has such files, for a run without a corpus.
        of: corpora without which it has no effect.
        shapes: name by which stages list it among their options, if that differs from its own.
        required: whether the command line refuses to run without it.
    """

    help: str
    name: str = ""
    kind: Any = str | None
    default: Any = None
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    placeholder: str = ""
    least: int | None = None
    least_typed: bool = True
    default_text: str = ""
    none: str = ""
    group: str = "measure"
    holds: tuple[str, ...] = ()
    demonstrated: bool = False
    of: tuple[str, ...] = ()
    shapes: str = ""
    required: bool = False

    @property
    def flag(self) -> str:
        """Its name on the command line and in messages."""
        return self.flags[0] if self.flags else f"--{self.name.replace('_', '-')}"

    @property
    def shaping(self) -> str:
        """The name by which stages list it among their options."""
        return self.shapes or self.name

    def check(self, value: Any) -> None:
        """Raise an error if a value is not one of the choices, or is too small.

        Raises:
            OptionError: the value is invalid; the message names the choices, or the smallest number.
        """
        for each in value if isinstance(value, tuple) else (value,):
            if self.choices and each not in (*self.choices, self.default):
                known = ", ".join(self.choices)
                raise OptionError(f"{self.name} {each!r} is not known; choose one of {known}")
        if self.least is None or (value is None and self.default is None):
            return
        if not isinstance(value, int) or value < self.least:
            number = "number" if self.least == 0 else "whole number"
            raise OptionError(f"{self.name} is {value!r}; expected a {number} from {self.least}")


def switch(name: str, help_text: str, *, group: str = "other", flags: tuple[str, ...] = ()) -> Option:
    """Return an option that is off unless it is typed."""
    return Option(name=name, kind=bool, default=False, flags=flags, group=group, help=help_text)


def option(default: Any, *, like: Option | None = None, **declared: Any) -> Any:
    """Make a field of a dataclass from an option's default and declaration, or from that of another option."""
    declaration = Option(**declared) if like is None else replace(like, **declared)
    return field(default=default, metadata={_DECLARED: declaration})


def options_of(declaring: type) -> Mapping[str, Option]:
    """Return the options among a dataclass's fields by name, in their order."""
    options: Mapping[str, Option] = _read(declaring)
    return options


@cache
def _read(declaring: Any) -> Mapping[str, Option]:
    return {
        each.name: replace(each.metadata[_DECLARED], name=each.name, kind=each.type, default=each.default)
        for each in fields(declaring)
        if _DECLARED in each.metadata
    }


def documented(declaring: Declaring) -> Declaring:
    """Add the help of a dataclass's options to its docstring."""
    entries = "".join(f"        {name}: {declared.help}\n" for name, declared in options_of(declaring).items())
    declaring.__doc__ = f"{declaring.__doc__}\n\n    Attributes:\n{entries}    "
    return declaring


def choose(option: str, value: str, known: Sequence[str]) -> str:
    """Return the value if it is known.

    Raises:
        OptionError: it is unknown; the message lists the known values and the nearest one.
    """
    if value in known:
        return value
    if len(known) == 1:
        raise OptionError(f"{option} {value!r} is not known; the only choice is {known[0]}")
    hint = did_you_mean(value, known)
    raise OptionError(f"{option} {value!r} is not known; choose one of {', '.join(known)}{hint}")


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
