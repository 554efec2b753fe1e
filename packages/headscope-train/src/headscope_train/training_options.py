"""Options of a training."""

from dataclasses import dataclass

from headscope.app.beside_run import RUN
from headscope.encoding.choices import PACKINGS
from headscope.errors import OptionError
from headscope.scans.declarations.option import documented, option
from headscope_train.size import Size

OBJECTIVES = {"mlm": "masked:OBJECTIVE", "clm": "causal:OBJECTIVE"}
"""Training objectives: predict masked words, or the next token; `name -> module:OBJECTIVE` of `objectives`."""
PRECISIONS = ("auto", "float32", "bfloat16")
DEFAULT_STEPS = 1000
VOCABULARY = 8000
_OF_DECODERS = ("objective", "groups", "repeated", "guided")
# A trained head needs a small learning rate; weights from the initializer tolerate a larger one.
_RATE_GOING_ON, _RATE_FROM_SCRATCH = 1e-4, 1e-3


@documented
@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of a training; the command line is built from them."""

    text: tuple[str, ...] = option(
        (), group="corpora", placeholder="FILE", help="Text, a folder of it, or - for standard input; may be repeated."
    )
    treebank: tuple[str, ...] = option(
        (), group="corpora", placeholder="FILE", help="Treebank with sentences to train on; may be repeated."
    )
    model: str | None = option(None, like=RUN["model"])
    revision: str | None = option(None, like=RUN["revision"])
    objective: str = option(
        "mlm",
        group="other",
        choices=tuple(OBJECTIVES),
        help="Predict masked words (an encoder), or the next token (a decoder).",
    )
    size: Size | None = option(
        None,
        group="model",
        help="LAYERSxHEADSxWIDTH of a new BERT, or with clm of a new Llama, as 4x4x128; without it --model is trained "
        "on.",
    )
    groups: int | None = option(
        None,
        group="other",
        help="Number of key and value heads in each layer of a new decoder; one for each head when not given.",
    )
    repeated: float = option(0.0, group="other", help="Share of clm inputs that contain repeated text.")
    guided: float = option(
        0.0,
        group="other",
        help="Share of clm steps, from the first, in which two heads are trained to look at set positions.",
    )
    tokenizer: str | None = option(
        None,
        group="model",
        help="Model whose tokenizer a new model uses; without it, a tokenizer is trained on the text.",
    )
    vocabulary: int | None = option(
        None, group="model", help="Maximum vocabulary size of the trained tokenizer; 8000 when not given."
    )
    cased: bool = option(False, group="model", help="Keep case in the trained tokenizer.")
    steps: int | None = option(None, group="other", help="Number of batches; 1000 when not given.")
    minutes: float | None = option(None, group="other", help="Approximate minutes of training, instead of --steps.")
    every: int = option(500, group="other", help="Number of steps between checkpoints.")
    batch_size: int = option(32, group="other", help="Number of inputs in a batch.")
    learning_rate: float | None = option(
        None, group="other", help="Highest learning rate; by default 1e-4 for an existing model, 1e-3 for a new one."
    )
    warm_up: float = option(0.1, group="other", help="Share of steps over which the learning rate rises.")
    dropout: float = option(0.0, group="other", help="Dropout rate.")
    held_out: float = option(0.05, group="other", help="Share of the documents held out for measuring.")
    packing: str = option("pretraining", like=RUN["packing"])
    max_length: int = option(128, like=RUN["max_length"])
    max_inputs: int | None = option(None, like=RUN["max_inputs"])
    seed: int = option(0, like=RUN["seed"])
    device: str = option("auto", like=RUN["device"])
    dtype: str = option(
        "auto", group="other", choices=PRECISIONS, help="float32, bfloat16 (autocast), or auto: bfloat16 on a GPU only."
    )

    def __post_init__(self) -> None:
        if not (self.text or self.treebank):
            raise OptionError("nothing to train on was given; expected --text with a text file, or --treebank")
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
        for name, known in (*(("packing", PACKINGS), ("dtype", PRECISIONS)), ("objective", tuple(OBJECTIVES))):
            if getattr(self, name) not in known:
                raise OptionError(f"--{name} {getattr(self, name)!r} is not known; choose one of {', '.join(known)}")
        self._check_numbers()
        self._check_objective()

    def _check_objective(self) -> None:
        """Reject options of the other objective, which would have no effect."""
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
                    f"--groups {self.groups}: {self.size.heads} heads cannot be divided among this number; expected a "
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

    @property
    def shaping(self) -> dict[str, object]:
        """The options that change the weights or the log, for the signature; corpora and models enter by hash."""
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
