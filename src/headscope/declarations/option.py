"""An option: a field with its help, choices and bounds, from which the command line and the checks follow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, TypeVar

from headscope.errors import OptionError
from headscope.suggestion import did_you_mean

GROUPS = {
    "corpora": "Input",
    "model": "Model",
    "measure": "Measure",
    "other": "Options",
    "output": "Output",
    "machine": "Machine",
}
"""What options are about, in the order of help, with the heading of each."""
_DECLARED = "option"
Declaring = TypeVar("Declaring", bound=type)


@dataclass(frozen=True, kw_only=True)
class Option:
    """The declaration of an option.

    Attributes:
        help: in a sentence, as `--help` prints it.
        name, kind, default: of the field; `options_of` fills them in.
        flags: as it is typed, where that is not `--name`; messages use the first.
        choices: the values that it can have, or each of several, beside its default; empty where any will do.
        placeholder: what help writes for a value, where that does not follow from its kind.
        least: the smallest number that it can be.
        least_typed: whether the command line checks that number; False where the model's bound is stricter.
        default_text: what help names as its default, where that is not the default itself.
        none: how None is typed on the command line.
        group: of `GROUPS`: `corpora` and `model` (what is read, and by what), `measure` (what some stages name),
            `output` (what is written), `machine` (what all runs take), or `other`.
        holds: corpora that the files which it names may hold, as stages call them.
        demonstrated: whether there are such files for a run to which no corpus is given.
        of: corpora without which it has no effect.
        shapes: the name by which stages list it among their options, where that is not its own.
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
        """Its name on the command line, as messages use it."""
        return self.flags[0] if self.flags else f"--{self.name.replace('_', '-')}"

    @property
    def shaping(self) -> str:
        """The name by which stages list it among their options."""
        return self.shapes or self.name

    def check(self, value: Any) -> None:
        """Refuse a value that is none of the choices, or too small.

        Raises:
            OptionError: it is; names the choices, or the smallest number.
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
    """Return the value if it is a known one.

    Raises:
        OptionError: it is not; lists the known ones and the nearest.
    """
    if value in known:
        return value
    if len(known) == 1:
        raise OptionError(f"{option} {value!r} is not known; the only choice is {known[0]}")
    hint = did_you_mean(value, known)
    raise OptionError(f"{option} {value!r} is not known; choose one of {', '.join(known)}{hint}")
