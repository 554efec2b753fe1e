"""The options that mean the same in every command."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.prepare.options import RunOptions

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "--bert-dir",
        help="Hub name (google-bert/bert-base-uncased) or folder; the embedded headscope-minilm when not given.",
        show_default=False,
    ),
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub.", show_default=False)]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Text, .json features, a folder of them, or - for standard input; may be repeated. "
        "When not given: the sentences of --treebank and --coref, else the demonstration text.",
        show_default=False,
    ),
]
Treebank = Annotated[
    list[str] | None,
    typer.Option(
        "--treebank",
        help="CoNLL-U, `word head-label` lines or .json with heads and relns, a folder of them, or a name such as "
        "ud:en_ewt; may be repeated.",
        show_default=False,
    ),
]
TreebankTrain = Annotated[
    list[str] | None,
    typer.Option(
        "--treebank-train",
        help="Trees to train probes on, as --treebank takes them; the probes are measured on --treebank.",
        show_default=False,
    ),
]
Coref = Annotated[
    list[str] | None,
    typer.Option(
        "--coref",
        help="CoNLL-2012 (.conll), CoNLL-U with Entity=, or GAP (.tsv), a folder of them; may be repeated.",
        show_default=False,
    ),
]
FoldLabels = Annotated[bool, typer.Option("--fold-labels", help="Count nsubj:pass as nsubj, and so on.")]
Pieces = Annotated[
    str | None,
    typer.Option(
        help="Attention from a word that was cut: mean of its pieces, first or max.",
        show_default="mean",
    ),
]
SpecialTokens = Annotated[
    bool, typer.Option("--special-tokens", help="Let special tokens be candidates for a word's head too.")
]
BothDirections = Annotated[
    bool, typer.Option("--both-directions", help="Score the sum of the two directions of attention as well.")
]
Compat = Annotated[
    str | None,
    typer.Option(
        help="original: the choices of the original's notebook, slips included; fixes --pieces to first.",
        show_default=False,
    ),
]
Controls = Annotated[
    int, typer.Option(min=0, help="Models with random weights to measure beside the trained one.")
]
Shuffled = Annotated[
    bool, typer.Option("--shuffled", help="Measure the trained model on shuffled words as well.")
]
Windows = Annotated[
    str, typer.Option(help="Of a document: all windows of --max-length tokens, or its first, as the paper.")
]
Singletons = Annotated[
    bool,
    typer.Option(
        "--singletons/--no-singletons", help="Whether entities mentioned once are candidates for antecedents."
    ),
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="An antecedent must get more attention than any other word, not candidate."
    ),
]
StrictInput = Annotated[
    bool,
    typer.Option(
        "--strict-input",
        help="Stop at a bracket of a mention that matches no other; else that mention is left out and named.",
    ),
]
AllowOverlap = Annotated[
    bool,
    typer.Option(
        "--allow-overlap",
        help="Measure probes on a treebank, or a file of one, that they were trained on; the report says so.",
    ),
]
Loss = Annotated[
    str,
    typer.Option(
        help="Whose gradient says how much attention matters: mlm (encoders), clm (decoders), denoise "
        "(encoder-decoders), or none to leave it out."
    ),
]
Vectors = Annotated[
    Path | None,
    typer.Option(
        help="GloVe or word2vec text file for the probes; the model's own input embeddings when not given.",
        show_default=False,
    ),
]
Seeds = Annotated[int, typer.Option(min=1, help="How many times each probe is trained.")]
Packing = Annotated[
    str, typer.Option(help="How lines become inputs: pretraining, paragraphs (pairs) or single.")
]
MaxLength = Annotated[
    int,
    typer.Option(
        "--max-length", "--max-sequence-length", help="Tokens in an input at most, special tokens included."
    ),
]
TooLong = Annotated[
    str, typer.Option(help="What to do with an input over the limit: truncate, skip or error.")
]
TokenTypes = Annotated[
    str, typer.Option(help="Token types of pairs: own (the model's) or zero (as the original code).")
]
BatchSize = Annotated[str, typer.Option(help="Inputs computed together: a number, or auto.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:0 ... or mps.")]
Dtype = Annotated[str, typer.Option(help="Precision: float32, float64, bfloat16 or float16.")]
Seed = Annotated[int, typer.Option(min=0, help="Of every random choice.")]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Stop after so many inputs, of each corpus.", show_default=False),
]

Maps = Annotated[
    Path | None,
    typer.Option(
        help="Folder of saved maps (headscope extract) to read instead of text.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands at the output's place.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


# What each option is when it is not given; commands take them by name.
SHARED: dict[str, tuple[Any, Any]] = {
    "text": (Text, None),
    "model": (Model, None),
    "revision": (Revision, None),
    "maps": (Maps, None),
    "treebank": (Treebank, None),
    "treebank_train": (TreebankTrain, None),
    "coref": (Coref, None),
    "fold_labels": (FoldLabels, False),
    "pieces": (Pieces, None),
    "special_tokens": (SpecialTokens, False),
    "both_directions": (BothDirections, False),
    "compat": (Compat, None),
    "controls": (Controls, 3),
    "shuffled": (Shuffled, False),
    "windows": (Windows, "all"),
    "singletons": (Singletons, True),
    "strict": (Strict, False),
    "strict_input": (StrictInput, False),
    "allow_overlap": (AllowOverlap, False),
    "loss": (Loss, "none"),
    "vectors": (Vectors, None),
    "seeds": (Seeds, 3),
    "packing": (Packing, "pretraining"),
    "max_length": (MaxLength, 128),
    "too_long": (TooLong, "truncate"),
    "token_types": (TokenTypes, "own"),
    "limit": (Limit, None),
    "batch_size": (BatchSize, "auto"),
    "device": (Device, "auto"),
    "dtype": (Dtype, "float32"),
    "seed": (Seed, 0),
    "quiet": (Quiet, False),
}
SURFACE = ("packing", "too_long")
SYNTAX = (*("fold_labels", "pieces", "special_tokens", "both_directions", "compat", "controls", "shuffled"),)
COREFERENCE = ("windows", "singletons", "strict")
PROBES = ("vectors", "seeds", "allow_overlap")
MACHINE = ("max_length", "token_types", "limit", "batch_size", "device", "dtype", "seed", "quiet")
_KNOWN = {
    "packing": ("pretraining", "paragraphs", "single"),
    "too_long": ("truncate", "skip", "error"),
    "token_types": ("own", "zero"),
    "dtype": ("float32", "float64", "bfloat16", "float16"),
    "pieces": ("mean", "first", "max"),
    "compat": ("original",),
    "windows": ("all", "first"),
    "loss": ("none", "mlm", "clm", "denoise"),
}
Command = TypeVar("Command", bound=Callable[..., None])


def takes(*names: str) -> Callable[[Command], Command]:
    """Give a command shared options by name; they reach it as keyword arguments."""

    def decorate(command: Command) -> Command:
        own = [p for p in signature(command).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        shared = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=SHARED[name][1], annotation=SHARED[name][0])
            for name in names
        ]
        command.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in [*own, *shared]} | {"return": None}
        return command

    return decorate


def choose(option: str, value: str, known: Sequence[str]) -> str:
    """Return the value if it is a known one.

    Raises:
        OptionError: it is not; lists the known ones and the nearest.
    """
    if value in known:
        return value
    if len(known) == 1:
        raise OptionError(f"{option} {value!r} is not known; the only choice is {known[0]}")
    near = get_close_matches(value, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise OptionError(f"{option} {value!r} is not known; choose one of {', '.join(known)}{hint}")


def read_batch_size(value: str) -> int | None:
    """Read `--batch-size`: a number from 1, or None for `auto`.

    Raises:
        OptionError: neither.
    """
    if value == "auto":
        return None
    # Python reads no number of thousands of digits.
    if value.isdecimal() and len(value) < 10 and int(value) > 0:
        return int(value)
    raise OptionError(f"--batch-size {value!r} is not known; give a number from 1, or auto")


def run_options(**given: Any) -> "RunOptions":
    """Check the options of a run and put them together.

    Raises:
        OptionError: a value is not known; names the known ones.
    """
    size = read_batch_size(given.pop("batch_size"))
    for name, known in _KNOWN.items():
        if given.get(name) is not None:
            choose(f"--{name.replace('_', '-')}", given[name], known)
    for name in ("text", "treebank", "treebank_train", "coref"):
        given[name] = tuple(given.get(name) or ())
    if given.get("pieces") is None:
        given.pop("pieces", None)  # the run chooses
    from headscope.prepare.options import RunOptions

    return RunOptions(batch_size=size, **given)
