"""Options outside a run: those that only Python or only the command line has, and those of the views."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.encoding.choices import LOADING, POOLINGS, REMOVALS
from headscope.scans.declarations.analysis import FEATURES_HASH, SCORE_HASH
from headscope.scans.declarations.option import Option, options_of, switch
from headscope.scans.declarations.run_options import RunOptions

RUN = options_of(RunOptions)
TEXT = Option(
    name="text",
    kind=Any,
    group="corpora",
    help="One text or a list of them, a column of a data frame, a data frame or dataset (`column` names its text; "
    "`text` when not given); or the path of a file or folder, or several. A string that names a file which exists, or "
    "looks like the name of one, is a path; a `Path` always is. Each text is a document; where one is a single line, "
    "`packing` is single unless you say so.",
)
TOKENIZER = Option(name="tokenizer", kind=Any, help="Tokenizer of a transformers model in memory.", group="model")
OUT = Option(
    name="out",
    kind=str | Path | None,
    group="corpora",
    help="Folder of the run: new, empty, or of the same run. When not given, a temporary folder, which is removed with "
    "the study; `study.save(folder)` keeps it.",
)
FEATURES = Option(
    name="features",
    kind=Any,
    help="List of `hs.TextFeature`: features that explain heads in addition to those of the catalog.",
)
SCORE = Option(
    name="score",
    kind=Any,
    help="A function of the model's output for a batch and of its inputs (`ids`, `document`, `fields` of each), "
    "that returns a number for each input; effects are measured on it, too, under the function's name.",
)
FUNCTIONS = {FEATURES_HASH: FEATURES, SCORE_HASH: SCORE}
"""Options that only Python has, among them functions, by the option of stages that they determine."""
WATCH = Option(name="watch", kind=Any, help="Object that receives progress.", group="machine")
# Options that only the command line has.
QUIET = switch("quiet", "Show no progress.", group="machine", flags=("--quiet", "-q"))
TABLES = Option(
    name="out",
    kind=Path | None,
    flags=("--out", "-o"),
    group="output",
    help="Folder for all tables (tables/*.parquet) and the manifest: new, empty, or of the same run.",
)

OUT_FOLDER = replace(
    TABLES, help="Folder of the run: new, empty, or of the same run; named after text and model when not given."
)
BUNDLE = switch("bundle", "Also write OUT.zip: page, atlas and tables, one file to send.", group="output")
FORCE = switch("force", "Replace an existing output.", group="output")
CASED = switch("cased", "Do not lower-case; without it the tokenizer does as it is set to.", group="model")

_MODEL = [TOKENIZER, *(RUN[name] for name in LOADING)]
_READ = [
    Option(
        name="decoder_text",
        group="corpora",
        help="Text of the decoder in an encoder-decoder; the text itself when not given.",
    ),
    Option(
        name="max_length",
        kind=int | None,
        flags=RUN["max_length"].flags,
        least=1,
        group="machine",
        help="Maximum number of tokens; the model's limit when not given.",
    ),
    Option(
        name="too_long",
        kind=str,
        default="error",
        choices=("error", "truncate"),
        help="Treatment of a longer text: error or truncate.",
    ),
]


_GENERATE = Option(
    name="generate", kind=int, default=0, least=0, help="Number of tokens that the model generates after its text."
)


def _array_option(name: str, help_text: str) -> Option:
    return Option(name=name, kind=Any, help=help_text)


_OF_MODEL = Option(
    name="model",
    kind=Any,
    help="Hub name or folder, None for the embedded model, the result of `load_model`, or a transformers model with "
    "its `tokenizer`, which comes back as it was.",
)

VIEW = (
    _OF_MODEL,
    Option(name="kind", help="Kind shown first: encoder, decoder or cross; the model's first when not given."),
    Option(name="layer", kind=int | None, help="Layer shown first, from 1."),
    Option(name="heads", kind=Sequence[int], default=(), help="List of the heads shown first, from 1."),
    Option(name="words", kind=bool, default=False, help="True to show words first, not tokens."),
    Option(name="state", help="State copied from a view (`state=...`), shown first."),
    Option(name="height", kind=int | None, least=1, help="Height of the drawing in pixels."),
    Option(name="static", kind=bool, default=False, help="True for the page instead of the widget."),
    *_READ,
    _GENERATE,
    Option(name="include_layers", kind=Sequence[int] | None, help="Layers to keep, from 1; all when not given."),
    Option(
        name="include_heads",
        kind=Sequence[int] | None,
        help="Heads to keep in the attention arrays, from 1; all when not given.",
    ),
    *_MODEL,
    _array_option("attention", "In place of a model and a text: weights, or what generate returns, with `tokens`."),
    _array_option("encoder_attention", "The same of an encoder, with `encoder_tokens`."),
    _array_option("decoder_attention", "The same of a decoder, with `decoder_tokens`."),
    _array_option("cross_attention", "The same across, with both."),
    _array_option("tokens", "The tokens of `attention`."),
    _array_option("encoder_tokens", "The tokens that the encoder read."),
    _array_option("decoder_tokens", "The tokens that the decoder read."),
    Option(
        name="sentence_b_start", kind=int | None, help="Position in `tokens` at which the second text begins, from 0."
    ),
)

REMOVAL = Option(
    name="intervention",
    kind=str,
    default="zero",
    choices=REMOVALS,
    group="other",
    help="Replacement of the heads' output: zero, or its mean over half of the text, in the projection's bias.",
)
TEXT_MEASURED = replace(TEXT, help="Text on which the loss is measured before and after, as `report` takes it.")
PRUNE = (
    Option(
        name="heads",
        kind=Any,
        group="other",
        placeholder="FILE",
        help="File with the heads to remove, one on each line, such as 8-10; in Python also a list of heads.",
    ),
    Option(
        name="keep",
        kind=float | None,
        group="other",
        placeholder="SHARE",
        help="In place of heads: share of the heads to keep, such as 0.7.",
    ),
    Option(name="study", kind=Any, group="corpora", help="With keep: folder of a finished run of the same model."),
    Option(name="by", group="other", help="With keep: column of study.heads; heads with its largest values are kept."),
    TEXT_MEASURED,
    REMOVAL,
    Option(name="out", kind=str | Path | None, help="Folder of the new checkpoint: new or empty."),
    Option(name="replace", kind=bool, default=False, help="True to replace what exists at `out`."),
)

_SOME = Sequence[int] | int | None
ATTENTION = (
    _OF_MODEL,
    Option(name="layer", kind=_SOME, help="One layer or several, from 1; all when not given."),
    Option(name="head", kind=_SOME, help="One head or several, from 1; all when not given."),
    Option(
        name="level",
        kind=str,
        default="token",
        choices=("token", "word"),
        help="token: between the model's tokens; word: between words, with their pieces joined.",
    ),
    Option(name="kind", help="encoder, decoder or cross; the model's first when not given."),
    replace(RUN["pooling"], default="mean", choices=POOLINGS),
    *_READ,
    _GENERATE,
    *_MODEL,
)

SCAN = (
    _OF_MODEL,
    TOKENIZER,
    replace(RUN["packing"], default="single", default_text=""),
    *(RUN[name] for name in ("max_length", "too_long", "max_inputs", "batch_size", "seed")),
    *(RUN[name] for name in LOADING),
    Option(name="progress", kind=Any, help="Called after each batch.", group="machine"),
)
