"""The list of a run's options, each with its help, choices and bounds.

The command line, the Python functions, the checks and the documentation are generated from it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.declarations.compat import DEFAULT_PACKING, DEFAULT_POOLING, DEFAULT_SPACING, UNSET
from headscope.declarations.option import option
from headscope.declarations.requests import BY_NAME, SKIPPABLE
from headscope.declarations.text_feature import TextFeature
from headscope.declarations.user_score import Score
from headscope.encoding.choices import (
    DOCUMENTS,
    EXPLAINED,
    INTERVENTIONS,
    LOSSES,
    PACKINGS,
    POOLINGS,
    SPACING,
    TOKEN_TYPES,
    TOO_LONG,
)
from headscope.models.loading.load_choices import DEVICE_MAPS, DTYPE_CHOICES

if TYPE_CHECKING:
    from headscope.corpora.document import Document
    from headscope.models.loading.load_model import LoadedModel


@dataclass(frozen=True, kw_only=True)
class OptionList:
    """The fields of `RunOptions`, which checks them and derives further values."""

    model: str | None = option(
        None,
        group="model",
        flags=("--model", "--bert-dir"),
        help="Hub name (google-bert/bert-base-uncased) or folder; the embedded headscope-minilm when not given.",
    )
    revision: str | None = option(None, group="model", help="Branch, tag or commit on the hub.")
    text: tuple[str, ...] = option(
        (),
        group="corpora",
        holds=("text",),
        demonstrated=True,
        help="Text, .json features, a folder of them, an address (s3://...), or - for standard input; may be repeated. "
        "When not given: the sentences of --treebank and --coref, else the demonstration text.",
    )
    # If not given, it follows from the text; see `prepare.run_corpora`.
    documents: str = option(
        UNSET,
        group="corpora",
        of=("text",),
        choices=DOCUMENTS,
        default_text=DOCUMENTS[0],
        help="What a document of plain text is: the lines between blank ones (blocks), or each line (lines). When not "
        "given: each line of a text with fewer than 10 blocks and at least 10 lines.",
    )
    column: str | None = option(
        None, group="corpora", of=("text",), help="Which column of .csv, .tsv or .parquet text holds the text."
    )
    # Saved maps replace running a model.
    maps: Path | None = option(
        None, group="model", help="Folder of saved maps (headscope extract) to read instead of text."
    )
    # If not given, it follows from model and text; see `prepare.left_to_model`.
    packing: str = option(
        UNSET,
        choices=PACKINGS,
        default_text=DEFAULT_PACKING,
        help="How lines become inputs: pretraining or paragraphs (pairs), joined (one text) or single (each line). "
        "When not given, decoders read joined lines, and a text without a second line in any document is read by "
        "single lines.",
    )
    max_length: int = option(
        128,
        group="machine",
        flags=("--max-length", "--max-sequence-length"),
        least=1,
        least_typed=False,
        help="Tokens in an input at most, special tokens included.",
    )
    too_long: str = option(
        "truncate", choices=TOO_LONG, help="What to do with an input over the limit: truncate, skip or error."
    )
    token_types: str = option(
        "own",
        group="machine",
        choices=TOKEN_TYPES,
        help="Token types of pairs: own (the model's) or zero (as the original code).",
    )
    max_inputs: int | None = option(
        None, group="machine", least=1, help="So many inputs of each corpus, spread over its documents."
    )
    # None chooses a batch size by length and device.
    batch_size: int | None = option(
        None, group="machine", least=1, none="auto", help="Inputs computed together: a number, or auto."
    )
    device: str = option("auto", group="machine", help="auto, cpu, cuda or cuda:0 ...")
    device_map: str | None = option(
        None,
        group="machine",
        choices=DEVICE_MAPS,
        help="auto: fetch from memory or disk what does not fit the device (accelerate).",
    )
    dtype: str = option(
        "float32",
        group="machine",
        choices=DTYPE_CHOICES,
        help="Precision: auto (the checkpoint's), float32, float64, bfloat16 or float16.",
    )
    seed: int = option(0, group="machine", least=0, help="Of every random choice.")
    shard_minutes: int = option(
        5,
        group="machine",
        least=0,
        help="How many minutes of a scan may be lost where the run is killed; 0 keeps every shard of the text.",
    )
    # The requests to measure (`REQUESTS`). If empty, the given corpora decide; without any, those of the demonstration.
    # Commands set it.
    stages: tuple[str, ...] = ()
    include: tuple[str, ...] = option(
        (),
        choices=BY_NAME,
        help=f"What else to measure, which is left out unless it is named: {', '.join(BY_NAME)}; may be repeated.",
    )
    skip: tuple[str, ...] = option(
        (),
        choices=SKIPPABLE,
        help="What not to measure, of what is measured without being named, as experiments; may be repeated.",
    )
    # A model and documents in memory, given from Python in place of `model` and `text`.
    loaded_model: "LoadedModel | None" = field(default=None, repr=False)
    documents_in_memory: "tuple[Document, ...]" = field(default=(), repr=False)
    # A user's features, by which heads are explained; only from Python.
    features: tuple[TextFeature, ...] = field(default=(), repr=False)
    # A user's score, by which effects are measured in addition to the loss; only from Python.
    score: Score | None = field(default=None, repr=False)
    treebank: tuple[str, ...] = option(
        (),
        group="corpora",
        holds=("treebank",),
        demonstrated=True,
        help="CoNLL-U, `word head-label` lines or .json with heads and relns, a folder of them, or a name such as "
        "ud:en_ewt; may be repeated.",
    )
    treebank_train: tuple[str, ...] = option(
        (),
        group="corpora",
        holds=("treebank_train",),
        help="Trees to train probes on, as --treebank takes them; the probes are measured on --treebank.",
    )
    coref: tuple[str, ...] = option(
        (),
        group="corpora",
        holds=("coreference", "gap"),
        demonstrated=True,
        help="CoNLL-2012 (.conll), CoNLL-U with Entity=, or GAP (.tsv), a folder of them; may be repeated.",
    )
    # If not given, it becomes `written`, and `words` under `compat`.
    spacing: str = option(
        UNSET,
        choices=SPACING,
        default_text=DEFAULT_SPACING,
        help="How words of treebanks and coreference are joined: as written (SpaceAfter=No), or words, by spaces.",
    )
    fold_labels: bool = option(False, help="Count nsubj:pass as nsubj, and so on.")
    # If not given, it becomes `mean`, `first` under `compat`, and over maps by word the pooling of these maps.
    pooling: str = option(
        UNSET,
        choices=POOLINGS,
        default_text=DEFAULT_POOLING,
        help="Attention from a word that was cut: mean of its pieces, first or max.",
    )
    special_tokens: bool = option(False, help="Let special tokens be candidates for a word's head too.")
    both_directions: bool = option(False, help="Score the sum of the two directions of attention as well.")
    # Those choices of the notebook that are options are fixed for the whole run; see `declarations.compat`.
    compat: str | None = option(
        None,
        choices=("original",),
        help="original: the choices of the original's notebook, slips included; fixes --pooling to first and --spacing "
        "to words, and draws the cuts of all documents from one stream.",
    )
    controls: int | None = option(
        None,
        least=0,
        none="auto",
        help="Models with random weights to measure beside the trained one; auto: 3, of over a billion parameters 0.",
    )
    shuffled: bool = option(False, help="Measure the trained model on shuffled words as well.")
    windows: str = option(
        "all",
        choices=("all", "first"),
        help="Of a document: all windows of --max-length tokens, or its first, as the paper.",
    )
    singletons: bool = option(True, help="Whether entities mentioned once are candidates for antecedents.")
    strict: bool = option(False, help="An antecedent must get more attention than any other word, not candidate.")
    vectors: Path | None = option(
        None,
        shapes="vectors_hash",
        help="GloVe or word2vec text file for the probes; the model's own input embeddings when not given.",
    )
    seeds: int = option(3, least=1, help="How many times each probe is trained.")
    allow_overlap: bool = option(
        False,
        of=("treebank_train",),
        help="Measure probes on a treebank, or a file of one, that they were trained on; the report says so.",
    )
    strict_input: bool = option(
        False,
        of=("treebank", "coreference"),
        help="Stop at a bracket of a mention that matches no other; else that mention is left out and named.",
    )
    loss: str = option(
        "none",
        choices=("none", *LOSSES),
        help="Whose gradient says how much attention matters: mlm (encoders), clm (decoders), denoise "
        "(encoder-decoders), or none to leave it out.",
    )
    labels: str | None = option(
        None,
        help="Which column of .csv, .tsv or .parquet text, or field of .json features, holds each text's class: the "
        "loss is then a classifier's.",
    )
    intervention: str = option(
        "mean",
        choices=(*INTERVENTIONS, EXPLAINED),
        help="What is done to a head: it writes its mean, nothing (zero) or a row of another document (resample), or "
        "looks at all keys alike (uniform), at a sink alone, or where its explanation predicts (explained).",
    )
    effect_inputs: int = option(
        96, least=1, help="So many inputs at most for the effects of heads, spread over the documents."
    )
    effect_heads: int | None = option(
        None,
        least=2,
        none="all",
        help="Change so many heads at most: half those with the largest gate estimates, half drawn from the others.",
    )
    joint_inputs: int = option(
        24, least=0, help="About so many of them, of whole documents, for heads removed together; 0 leaves these out."
    )
