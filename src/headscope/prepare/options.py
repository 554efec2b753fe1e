"""What a run was asked to do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import file_digest
from pathlib import Path

from headscope.analyses import STAGES
from headscope.corpora.opening import is_pipe, other_than_file, source_name
from headscope.encoding.choices import LOSSES, PACKINGS, PIECES, TOKEN_TYPES, TOO_LONG
from headscope.errors import OptionError
from headscope.prepare.compat import ORIGINAL, PIECES_NOT_GIVEN, check_compat, pieces_of

# What can be asked for; `coreference` stands for GAP too.
ASKABLE = ("surface", "syntax", "coreference", "importance", "distances", "map", "probes")
_KNOWN = {
    "packing": PACKINGS,
    "too_long": TOO_LONG,
    "token_types": TOKEN_TYPES,
    "pieces": PIECES,
    "compat": ("original",),
    "windows": ("all", "first"),
    "loss": ("none", *LOSSES),
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
        stages: what to measure (`ASKABLE`); empty: what the given corpora are for, or all of it on the demonstration
            corpora where none is given.
        treebank: files with trees (`corpora.treebank`), or names such as `ud:en_ewt`.
        treebank_train: the same, to train probes on; they are then measured on `treebank`.
        coref: files with coreference or GAP (`corpora.coreference`).
        fold_labels: whether `nsubj:pass` is counted as `nsubj`.
        pieces: attention from a cut word: `mean`, `first` or `max`; not given, it becomes `mean`, under `compat`
            `first`, and over maps by word what those were joined by.
        special_tokens: whether special tokens are candidates for a word's head too.
        both_directions: whether the sum of the two directions is scored as well.
        compat: `original` for the choices of the original's notebook; what of these are options is fixed for the
            whole run (`study.compat`).
        controls: how many models with random weights are measured beside the trained one.
        shuffled: whether the trained model is measured on shuffled words too.
        windows: `all` of a document's windows, or its `first`, as the paper takes.
        singletons: whether mentions of entities with one mention are candidates.
        strict: whether a head must look at an antecedent more than at any other word.
        strict_input: whether a bracket of a mention that matches no other stops the run; else that mention is left out,
            counted and named.
        allow_overlap: whether probes may be measured on a treebank, or a file of one, that they were trained on.
        loss: whose gradient says how much attention matters: `mlm`, `clm`, `denoise`, or `none` to leave it out.
        vectors: GloVe or word2vec text file for the probes; None takes the model's own input embeddings.
        seeds: how many times each probe is trained.
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
    treebank_train: tuple[str, ...] = ()
    coref: tuple[str, ...] = ()
    fold_labels: bool = False
    pieces: str = PIECES_NOT_GIVEN
    special_tokens: bool = False
    both_directions: bool = False
    compat: str | None = None
    controls: int = 3
    shuffled: bool = False
    windows: str = "all"
    singletons: bool = True
    strict: bool = False
    strict_input: bool = False
    allow_overlap: bool = False
    loss: str = "none"
    vectors: Path | None = None
    seeds: int = 3

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            not_given = {"compat": None, "pieces": PIECES_NOT_GIVEN}.get(name, known[0])
            if getattr(self, name) not in (*known, not_given):
                raise OptionError(
                    f"{name} {getattr(self, name)!r} is not known; choose one of {', '.join(known)}"
                )
        check_compat(self.compat, {name: getattr(self, name) for name in ORIGINAL})
        if self.maps is None:
            # Now, so that signature, manifest and stages all see what is done; maps may have settled it themselves.
            object.__setattr__(self, "pieces", pieces_of(self.compat, self.pieces))
        for stage in self.stages:
            if stage not in ASKABLE:
                raise OptionError(f"stage {stage!r} is not known; choose from {', '.join(ASKABLE)}")
        if not isinstance(self.controls, int) or self.controls < 0:
            raise OptionError(f"controls is {self.controls!r}; expected a number from 0")
        for name in ("max_length", "limit", "batch_size", "seeds"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise OptionError(f"{name} is {value!r}; expected a whole number from 1")
        if self.seed < 0:
            raise OptionError(f"seed is {self.seed}; expected a number from 0")
        if self.maps is not None and (self.text or self.treebank or self.treebank_train or self.coref):
            raise OptionError("both a corpus and saved maps were given; a run reads one of them")
        if self.maps is not None and self.loss != "none":
            raise OptionError(
                "saved maps hold no gradients; leave --loss out, or give a model and text in place of --maps"
            )
        if self.treebank_train and not self.treebank:
            raise OptionError(
                "--treebank-train was given without --treebank; probes are trained on the one and measured on the other"
            )

    @property
    def wanted(self) -> tuple[str, ...]:
        """What to measure, of `ASKABLE`."""
        if self.stages:
            return self.stages
        nothing = not (self.text or self.treebank or self.coref or self.maps)
        given = {
            "surface": True,
            "syntax": bool(self.treebank) or nothing,
            "coreference": bool(self.coref) or nothing,
            "importance": self.loss != "none",
            "distances": True,
            "map": True,
            "probes": bool(self.treebank_train),
        }
        return tuple(stage for stage in ASKABLE if given[stage])

    @property
    def reads_text(self) -> bool:
        """Whether anything is measured on text."""
        return bool({"surface", "importance", "distances"} & set(self.wanted))

    @cached_property
    def vectors_hash(self) -> str | None:
        """Hash of the file of word vectors: what shapes the probes, wherever the file lies."""
        if self.vectors is None:
            return None
        name = source_name(self.vectors)
        try:
            if is_pipe(self.vectors):
                raise OptionError(
                    f"--vectors {name} is a pipe, which can be read only once; write it to a file, and give that"
                )
            if kind := other_than_file(self.vectors):
                raise OptionError(f"--vectors {name} is {kind}; expected a GloVe or word2vec text file")
            with self.vectors.open("rb") as file:
                return file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise OptionError(
                f"--vectors {name} cannot be read ({why}); expected a GloVe or word2vec text file"
            ) from error

    def shaping(self) -> dict[str, object]:
        """Return the options that change numbers, for the signature."""
        names: list[str] = []
        for asked in self.wanted:
            for stage in STAGES.values():
                own = (
                    stage.shaping(maps=self.maps is not None) if (stage.asked or stage.name) == asked else ()
                )
                names += [name for name in own if name not in names]
        shaping = {name: getattr(self, name) for name in names}
        return shaping if self.maps is not None else {"stages": list(self.wanted), **shaping}


def as_paths(text: str | Path | Sequence[str | Path] | None) -> tuple[str, ...]:
    """Return one path or several as a tuple of strings."""
    if text is None:
        return ()
    if isinstance(text, str | Path):
        return (str(text),)
    return tuple(str(each) for each in text)
