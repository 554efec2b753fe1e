"""What a run was asked to do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.encoding.encoder import TOKEN_TYPES
from headscope.encoding.packing import PACKINGS, TOO_LONG
from headscope.errors import OptionError


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run; the same names as on the command line.

    Attributes:
        model: hub name or folder; None for the embedded model.
        revision: on the hub.
        text: files, folders, or `-`; empty for the demonstration text.
        maps: folder of saved attention maps to read in place of running a model.
        packing, max_length, too_long, token_types: how text becomes inputs; see `Packer` and `Encoder`.
        limit: stop after so many inputs.
        batch_size: inputs computed together; None chooses by length and device.
        device, dtype: where and in what precision.
        seed: of every random choice.
    """

    model: str | None = None
    revision: str | None = None
    text: tuple[str, ...] = ()
    maps: Path | None = None
    packing: str = "pretraining"
    max_length: int = 128
    too_long: str = "truncate"
    token_types: str = "own"
    limit: int | None = None
    batch_size: int | None = None
    device: str = "auto"
    dtype: str = "float32"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, known in (("packing", PACKINGS), ("too_long", TOO_LONG), ("token_types", TOKEN_TYPES)):
            if getattr(self, name) not in known:
                raise OptionError(
                    f"{name} {getattr(self, name)!r} is not known; choose one of {', '.join(known)}"
                )
        for name in ("max_length", "limit", "batch_size"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise OptionError(f"{name} is {value!r}; expected a whole number from 1")
        if self.seed < 0:
            raise OptionError(f"seed is {self.seed}; expected a number from 0")
        if self.maps is not None and self.text:
            raise OptionError("both text and saved maps were given; a run reads one of them")

    def shaping(self) -> dict[str, object]:
        """Return the options that change numbers, for the signature."""
        return {
            "packing": self.packing,
            "max_length": self.max_length,
            "too_long": self.too_long,
            "token_types": self.token_types,
            "limit": self.limit,
            "dtype": self.dtype,
        }


def as_paths(text: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Return one path or several as a tuple of strings."""
    if text is None:
        return ()
    if isinstance(text, str | Path):
        return (str(text),)
    return tuple(str(each) for each in text)


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        stage: what is being done, in a word or two.
        documents: documents done.
        total: documents in all, or None where that is not known.
        segments: inputs computed.
        limit: inputs at most, or None.
        seconds: since the stage began.
    """

    stage: str
    documents: int
    total: int | None
    segments: int
    limit: int | None
    seconds: float

    @property
    def share(self) -> float | None:
        """Share of the work done, 0 to 1, or None where it is not known."""
        shares = []
        if self.limit:
            shares.append(self.segments / self.limit)
        if self.total:
            shares.append(self.documents / self.total)
        return min(1.0, max(shares)) if shares else None


Watcher = Callable[[Progress], None]
