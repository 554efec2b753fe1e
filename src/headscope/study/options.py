"""What a run was asked to do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.encoding.encoder import TOKEN_TYPES
from headscope.encoding.packing import PACKINGS, TOO_LONG
from headscope.encoding.segment import PIECES
from headscope.errors import OptionError

STAGES = ("surface", "syntax", "coreference")
_KNOWN = {
    "packing": PACKINGS,
    "too_long": TOO_LONG,
    "token_types": TOKEN_TYPES,
    "pieces": PIECES,
    "compat": ("original",),
    "windows": ("all", "first"),
}
# The options that change a stage's numbers.
_SHAPING = {
    "surface": ("packing", "too_long"),
    "syntax": (
        *("fold_labels", "pieces", "special_tokens", "both_directions", "compat", "controls", "shuffled"),
    ),
    "coreference": ("pieces", "controls", "windows", "singletons", "strict"),
}


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
        stages: what to measure (`STAGES`); empty: what the given corpora are for, or all of it on the demonstration
            corpora where none is given.
        treebank: files with trees (`corpora.treebank`), or names such as `ud:en_ewt`.
        coref: files with coreference or GAP (`corpora.coreference`).
        fold_labels: whether `nsubj:pass` is counted as `nsubj`.
        pieces: attention from a cut word: `mean`, `first` or `max`.
        special_tokens: whether special tokens are candidates for a word's head too.
        both_directions: whether the sum of the two directions is scored as well.
        compat: `original` for the choices of the original's notebook.
        controls: how many models with random weights are measured beside the trained one.
        shuffled: whether the trained model is measured on shuffled words too.
        windows: `all` of a document's windows, or its `first`, as the paper takes.
        singletons: whether mentions of entities with one mention are candidates.
        strict: whether a head must look at an antecedent more than at any other word.
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
    stages: tuple[str, ...] = ()
    treebank: tuple[str, ...] = ()
    coref: tuple[str, ...] = ()
    fold_labels: bool = False
    pieces: str = "mean"
    special_tokens: bool = False
    both_directions: bool = False
    compat: str | None = None
    controls: int = 3
    shuffled: bool = False
    windows: str = "all"
    singletons: bool = True
    strict: bool = False

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known and (name, getattr(self, name)) != ("compat", None):
                raise OptionError(
                    f"{name} {getattr(self, name)!r} is not known; choose one of {', '.join(known)}"
                )
        for stage in self.stages:
            if stage not in STAGES:
                raise OptionError(f"stage {stage!r} is not known; choose from {', '.join(STAGES)}")
        if not isinstance(self.controls, int) or self.controls < 0:
            raise OptionError(f"controls is {self.controls!r}; expected a number from 0")
        for name in ("max_length", "limit", "batch_size"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise OptionError(f"{name} is {value!r}; expected a whole number from 1")
        if self.seed < 0:
            raise OptionError(f"seed is {self.seed}; expected a number from 0")
        if self.maps is not None and (self.text or self.treebank or self.coref):
            raise OptionError("both a corpus and saved maps were given; a run reads one of them")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The stages to measure."""
        if self.stages:
            return self.stages
        if self.maps is not None:
            return ("surface",)
        if not (self.text or self.treebank or self.coref):
            return STAGES
        given = {"surface": True, "syntax": bool(self.treebank), "coreference": bool(self.coref)}
        return tuple(stage for stage in STAGES if given[stage])

    def shaping(self) -> dict[str, object]:
        """Return the options that change numbers, for the signature."""
        names = ["max_length", "token_types", "limit", "dtype"]
        if self.maps is not None:
            # How the inputs were made is written in the maps, and no other model is measured beside them.
            names = ["limit"]
            shaping = [name for name in _SHAPING["syntax"] if name not in ("controls", "shuffled")]
            names += shaping if "syntax" in self.wanted else []
            return {name: getattr(self, name) for name in names}
        for stage in self.wanted:
            names += [name for name in _SHAPING[stage] if name not in names]
        return {"stages": list(self.wanted), **{name: getattr(self, name) for name in names}}


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
