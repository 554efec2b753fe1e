"""What a training was asked to do."""

import re
from dataclasses import dataclass

from headscope.encoding.choices import PACKINGS
from headscope.errors import OptionError

OBJECTIVES = {"mlm": "masked:OBJECTIVE", "clm": "causal:OBJECTIVE"}
"""What a model is trained to foretell: hidden words, or the next; `name -> module:OBJECTIVE` of `objectives`."""
PRECISIONS = ("auto", "float32", "bfloat16")
DEFAULT_STEPS = 1000
VOCABULARY = 8000
_OF_DECODERS = ("objective", "groups", "repeated", "guided")
# A head that was trained before is moved with care; weights from the initializer can take more.
_RATE_GOING_ON, _RATE_FROM_SCRATCH = 1e-4, 1e-3


@dataclass(frozen=True)
class Size:
    """The size of a new model: layers, heads in each, and the width that the heads share."""

    layers: int
    heads: int
    width: int

    @classmethod
    def read(cls, text: str) -> "Size":
        """Read `LAYERSxHEADSxWIDTH`.

        Raises:
            OptionError: it is not three whole numbers from 1, or the heads cannot share the width.
        """
        match = re.fullmatch(r"([1-9]\d{0,5})[x×]([1-9]\d{0,5})[x×]([1-9]\d{0,5})", text.strip().lower())
        if match is None:
            raise OptionError(f"--size {text!r} is not known; expected LAYERSxHEADSxWIDTH, as 4x4x128")
        size = cls(*map(int, match.groups()))
        if size.width % size.heads:
            near = size.heads * max(1, round(size.width / size.heads))
            raise OptionError(
                f"--size {text}: {size.heads} heads cannot share a width of {size.width}; expected a multiple of "
                f"{size.heads}, as {near}"
            )
        return size

    def __str__(self) -> str:
        return f"{self.layers}x{self.heads}x{self.width}"


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of a training; the same names as on the command line.

    Attributes:
        text: files, folders, or `-`.
        treebank: treebanks, each sentence an input of its own.
        model: hub name or folder of the model to go on with; None for the embedded one (without a size).
        revision: on the hub.
        objective: `mlm`, masked words are filled in (an encoder), or `clm`, the next token is foretold (a decoder).
        size: of a new BERT, or with `clm` of a new Llama; None to go on with `model`.
        groups: how many keys and values the heads of a new decoder's layer share; one for each head when None.
        repeated: share of the inputs of `clm` in which something stands more than once.
        guided: share of the steps of `clm`, from the first, in which two heads are shown where to look.
        tokenizer: hub name or folder of a tokenizer for the new model; None trains one on the corpus.
        vocabulary: pieces in that one at most (8,000 when None).
        cased: whether it keeps case.
        packing, max_length: how text becomes inputs; see `encoding.packing.Packer`.
        max_inputs: stop reading after so many inputs.
        steps: how many batches; 1,000 when None and no minutes are given.
        minutes: about how long to train, in place of steps; the number of steps is worked out before the first.
        every: steps between checkpoints, and between looks at the held-out documents.
        batch_size: inputs in a batch.
        learning_rate: at its highest; 1e-4 to go on with a model and 1e-3 for a new one, when None.
        warm_up: share of the steps over which it rises to that.
        dropout: share of activations left out while training.
        held_out: share of the documents that are kept for measuring (`corpus.hold_out`).
        seed: of the split, the order, the masks, dropout and new weights.
        device: `auto` or a torch device.
        dtype: `float32`, `bfloat16` (autocast; weights stay float32), or `auto`: bfloat16 on a GPU alone.
    """

    text: tuple[str, ...] = ()
    treebank: tuple[str, ...] = ()
    model: str | None = None
    revision: str | None = None
    objective: str = "mlm"
    size: Size | None = None
    groups: int | None = None
    repeated: float = 0.0
    guided: float = 0.0
    tokenizer: str | None = None
    vocabulary: int | None = None
    cased: bool = False
    packing: str = "pretraining"
    max_length: int = 128
    max_inputs: int | None = None
    steps: int | None = None
    minutes: float | None = None
    every: int = 500
    batch_size: int = 32
    learning_rate: float | None = None
    warm_up: float = 0.1
    dropout: float = 0.0
    held_out: float = 0.05
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"

    def __post_init__(self) -> None:
        if not (self.text or self.treebank):
            raise OptionError(
                "nothing to train on was given; expected --text with a text file, or --treebank"
            )
        if "-" in self.text and "-" in self.treebank:
            raise OptionError("- is given twice, but standard input can be read only once; give it once")
        if self.size is not None and self.model is not None:
            raise OptionError(
                "both --model and --size were given; expected a model to go on with, or the size of a new one"
            )
        if self.size is None:
            for name, value in (("tokenizer", self.tokenizer), ("vocabulary", self.vocabulary)):
                if value is not None:
                    raise OptionError(_needs_size(name))
            if self.cased:
                raise OptionError(_needs_size("cased"))
        elif self.tokenizer is not None and (self.vocabulary is not None or self.cased):
            raise OptionError(
                "--tokenizer was given with --vocabulary or --cased, which are for a tokenizer that is trained; leave "
                "one out"
            )
        if self.steps is not None and self.minutes is not None:
            raise OptionError("both --steps and --minutes were given; expected one of them")
        for name, known in (
            *(("packing", PACKINGS), ("dtype", PRECISIONS)),
            ("objective", tuple(OBJECTIVES)),
        ):
            if getattr(self, name) not in known:
                raise OptionError(
                    f"--{name} {getattr(self, name)!r} is not known; choose one of {', '.join(known)}"
                )
        self._check_numbers()
        self._check_objective()

    def _check_objective(self) -> None:
        """Refuse what is of the other objective, and would have no effect."""
        if self.objective == "clm":
            if self.model is None and self.size is None:
                raise OptionError(
                    "--objective clm needs a decoder, and the embedded model is an encoder; give --size for a new one, "
                    "or --model"
                )
            if self.cased:
                raise OptionError("--cased goes with --objective mlm; byte-level pieces always keep case")
            if self.packing != "pretraining":
                raise OptionError(
                    "--packing goes with --objective mlm; with clm the lines of a document follow one another"
                )
        else:
            for name in ("groups", "repeated", "guided"):
                if getattr(self, name):
                    raise OptionError(f"--{name} goes with --objective clm")
        if self.groups is not None:
            if self.size is None:
                raise OptionError(_needs_size("groups", keeps="heads"))
            if self.size.heads % self.groups:
                raise OptionError(
                    f"--groups {self.groups}: {self.size.heads} heads cannot be shared out among so many; expected a "
                    f"divisor of {self.size.heads}"
                )

    def _check_numbers(self) -> None:
        for name, least in (
            *(("steps", 1), ("every", 1), ("batch_size", 1), ("max_length", 1), ("max_inputs", 1)),
            *(("vocabulary", 1), ("seed", 0), ("groups", 1)),
        ):
            value = getattr(self, name)
            if value is not None and value < least:
                raise OptionError(f"{_flag(name)} is {value}; expected a whole number from {least}")
        for name in ("minutes", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise OptionError(f"{_flag(name)} is {value}; expected a number above 0")
        for name in ("warm_up", "dropout", "held_out", "repeated", "guided"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise OptionError(f"{_flag(name)} is {value}; expected a share from 0 up to, but not, 1")

    @property
    def rate(self) -> float:
        """The highest learning rate."""
        if self.learning_rate is not None:
            return self.learning_rate
        return _RATE_GOING_ON if self.size is None else _RATE_FROM_SCRATCH

    def shaping(self) -> dict[str, object]:
        """Return the options that change the weights or the log, for the signature; corpora and models by hash."""
        names = (
            *("packing", "max_length", "max_inputs", "minutes", "every", "batch_size", "warm_up", "dropout"),
            *("held_out", "seed", "dtype", "cased"),
        )
        steps = DEFAULT_STEPS if self.steps is None and self.minutes is None else self.steps
        return {
            **{name: getattr(self, name) for name in names},
            "steps": steps,
            "learning_rate": self.rate,
            "size": None if self.size is None else str(self.size),
            **({} if self.objective == "mlm" else {name: getattr(self, name) for name in _OF_DECODERS}),
        }


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _needs_size(name: str, *, keeps: str = "tokenizer") -> str:
    return f"--{name} goes with --size; a model that is gone on with keeps its own {keeps}"
