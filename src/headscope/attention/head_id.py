"""The kinds of attention, the names of heads, and the refusal of heads that a model does not have."""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from headscope.errors import OptionError
from headscope.models.anatomy import KindLayout

KINDS = ("encoder", "decoder", "cross")
SECOND = "second "
"""Prefix of the kinds of attention of the second of two models that are compared."""


@dataclass(frozen=True, order=True)
class HeadId:
    """A head, written as in the paper: 1-based `layer-head`, with its kind if it is `cross`."""

    kind: str
    layer: int
    head: int

    @classmethod
    def at(cls, kind: str, layer_position: int, head_position: int) -> "HeadId":
        """Return the head at 0-based array positions."""
        return cls(kind, layer_position + 1, head_position + 1)

    @classmethod
    def parse(cls, text: str, *, kind: str = "encoder") -> "HeadId":
        """Read `8-10`, `cross 8-10` or `decoder 8-10`; `kind` is the kind of a bare number.

        Raises:
            ValueError: the text does not have this form.
        """
        match = re.fullmatch(rf"(?:({'|'.join(KINDS)}) )?([1-9]\d*)-([1-9]\d*)", text.strip())
        if match is None:
            raise ValueError(f"{text!r} is not a head; expected layer-head from 1, as 8-10 or cross 8-10")
        return cls(match[1] or kind, int(match[2]), int(match[3]))

    @property
    def position(self) -> tuple[int, int]:
        """0-based positions in arrays `[layer, head, ...]` of its kind."""
        return self.layer - 1, self.head - 1

    def __str__(self) -> str:
        label = head_label(self.layer, self.head)
        return f"cross {label}" if self.kind == "cross" else label


def check_head(head: HeadId, layout: Sequence[KindLayout]) -> None:
    """Refuse a head that a model does not have.

    Raises:
        OptionError: the head does not exist; names the heads of the model.
    """
    for part in layout:
        if part.kind == head.kind and 1 <= head.layer <= part.layers and 1 <= head.head <= part.heads:
            return
    sizes = ", ".join(f"{part.layers} layers of {part.heads} {part.kind} heads" for part in layout)
    raise OptionError(f"the model has no head {head}; it has {sizes}")


def named_heads(layout: Sequence[KindLayout], *, names: Sequence[str]) -> tuple[HeadId, ...]:
    """Return the named heads of a model, in order.

    Args:
        layout: heads of the model.
        names: names such as `8-10` and `cross 8-10`; a bare name is of the model's first kind.

    Raises:
        OptionError: a head does not exist, or no name is given.
    """
    try:
        heads = {HeadId.parse(name, kind=layout[0].kind) for name in names}
    except ValueError as error:
        raise OptionError(str(error)) from None
    for head in heads:
        check_head(head, layout)
    if not heads:
        raise OptionError("no head was named; expected one or more, as 8-10")
    return tuple(sorted(heads))


def head_label(layer: object, head: object) -> str:
    """Return `8-10`: the 1-based numbers of a layer and of a head in it, without the kind."""
    return f"{layer}-{head}"


def kind_prefixes(kinds: Iterable[Hashable]) -> dict[Hashable, str]:
    """Return the prefix of head names for each kind: `cross `, or nothing for a model's only kind."""
    names = list(dict.fromkeys(kinds))
    return {name: f"{name} " if len(names) > 1 else "" for name in names}


def head_anchor(kind: str, layer: object, head: object) -> str:
    """Return `encoder-8-10`: the address of a head's card within a page, without the `#`."""
    return f"{kind}-{head_label(layer, head)}"
