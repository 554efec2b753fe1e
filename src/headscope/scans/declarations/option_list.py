"""The list of a run's options, each with its help, choices and bounds.

The command line, the Python functions, the checks and the documentation are generated from it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.encoding.choices import (
    DEVICE_MAPS,
    DOCUMENTS,
    DTYPE_CHOICES,
    EXPLAINED,
    INTERVENTIONS,
    LOSSES,
    PACKINGS,
    POOLINGS,
    SPACING,
    TOKEN_TYPES,
    TOO_LONG,
)
from headscope.scans.declarations.analysis_list import BY_NAME, SKIPPABLE
from headscope.scans.declarations.option import DEFAULT_PACKING, DEFAULT_POOLING, DEFAULT_SPACING, UNSET, option
from headscope.scans.declarations.user_functions import Score, TextFeature

if TYPE_CHECKING:
    from headscope.corpora.document import Document
    from headscope.models.load_model import LoadedModel


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
    other: str | None = option(
        None,
        flags=("--other", "--adapter"),
        help="Second model, which is compared with --model: hub name, folder, or folder of a LoRA adapter of --model.",
    )
    text: tuple[str, ...] = option(
        (),
        group="corpora",
        holds=("text",),
        demonstrated=True,
        help="Text, .json features, a folder of them, an address (s3://...), or - for standard input; may be repeated. "
        "When not given: the sentences of --treebank and --coref, else the demonstration text.",
    )
    # If not given, it follows from the text; see `scans.prepare.run_corpora`.
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
        None, group="corpora", of=("text",), help="Column of .csv, .tsv or .parquet text with the text."
    )
    # Saved maps replace running a model.
    maps: Path | None = option(
        None, group="model", help="Folder of saved maps (headscope extract) to read instead of text."
    )
    # If not given, it follows from model and text; see `scans.prepare.input_sizes`.
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
        help="Maximum number of tokens in an input, special tokens included.",
    )
    too_long: str = option(
        "truncate", choices=TOO_LONG, help="Treatment of inputs over the limit: truncate, skip or error."
    )
    token_types: str = option(
        "own",
        group="machine",
        choices=TOKEN_TYPES,
        help="Token types of pairs: own (the model's) or zero (as the original code).",
    )
    max_inputs: int | None = option(
        None, group="machine", least=1, help="Maximum number of inputs of each corpus, spread over its documents."
    )
    # None chooses a batch size by length and device.
    batch_size: int | None = option(
        None, group="machine", least=1, none="auto", help="Number of inputs in a batch, or auto."
    )
    device: str = option("auto", group="machine", help="auto, cpu, cuda or cuda:0 ...")
    device_map: str | None = option(
        None,
        group="machine",
        choices=DEVICE_MAPS,
        help="auto: keep parts that do not fit the device in memory or on disk (accelerate).",
    )
    dtype: str = option(
        "float32",
        group="machine",
        choices=DTYPE_CHOICES,
        help="Precision: auto (the checkpoint's), float32, float64, bfloat16 or float16.",
    )
    seed: int = option(0, group="machine", least=0, help="Seed of every random choice.")
    shard_minutes: int = option(
        5,
        group="machine",
        least=0,
        help="Minutes of a scan that may be lost if the run is killed; 0 saves after every shard of the text.",
    )
    # The requests to measure (`REQUESTS`). If empty, the given corpora decide; without any, those of the demonstration.
    # Commands set it.
    stages: tuple[str, ...] = ()
    include: tuple[str, ...] = option(
        (), choices=BY_NAME, help=f"Further measures, left out by default: {', '.join(BY_NAME)}; may be repeated."
    )
    skip: tuple[str, ...] = option(
        (), choices=SKIPPABLE, help="Default measures to leave out, such as experiments; may be repeated."
    )
    # Models and documents in memory, given from Python in place of `model`, `other` and `text`.
    loaded_model: "LoadedModel | None" = field(default=None, repr=False)
    loaded_other: "LoadedModel | None" = field(default=None, repr=False)
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
        help="Joining of words of treebanks and coreference: written (SpaceAfter=No), or words (spaces between them).",
    )
    fold_labels: bool = option(False, help="Count nsubj:pass as nsubj, and so on.")
    # If not given, it becomes `mean`, `first` under `compat`, and over maps by word the pooling of these maps.
    pooling: str = option(
        UNSET,
        choices=POOLINGS,
        default_text=DEFAULT_POOLING,
        help="Attention from a word of several pieces: mean of its pieces, first or max.",
    )
    special_tokens: bool = option(False, help="Allow special tokens as candidates for a word's head.")
    both_directions: bool = option(False, help="Also score the sum of both directions of attention.")
    # Those choices of the notebook that are options are fixed for the whole run; see `option.ORIGINAL`.
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
        help="Number of control models with random weights; auto: 3, or 0 above a billion parameters.",
    )
    shuffled: bool = option(False, help="Also measure the trained model on shuffled words.")
    windows: str = option(
        "all",
        choices=("all", "first"),
        help="All windows of a document of --max-length tokens, or its first, as the paper.",
    )
    singletons: bool = option(True, help="Count entities that are mentioned once as candidates for antecedents.")
    strict: bool = option(
        False, help="An antecedent must get more attention than every other word, not only than other candidates."
    )
    vectors: Path | None = option(
        None,
        shapes="vectors_hash",
        help="GloVe or word2vec text file for the probes; the model's own input embeddings when not given.",
    )
    seeds: int = option(3, least=1, help="Number of times that each probe is trained.")
    allow_overlap: bool = option(
        False,
        of=("treebank_train",),
        help="Allow treebanks that share sentences for training and measuring probes; the report says so.",
    )
    strict_input: bool = option(
        False,
        of=("treebank", "coreference"),
        help="Stop at an unmatched bracket of a mention; by default the mention is left out and named.",
    )
    loss: str = option(
        "none",
        choices=("none", *LOSSES),
        help="Loss for the gradient that measures importance: mlm (encoders), clm (decoders), denoise "
        "(encoder-decoders), or none to leave it out.",
    )
    labels: str | None = option(
        None,
        help="Column of .csv, .tsv or .parquet text, or field of .json features, with each text's class: the loss is "
        "then a classifier's.",
    )
    intervention: str = option(
        "mean",
        choices=(*INTERVENTIONS, EXPLAINED),
        help="Intervention on a head: it writes its mean, nothing (zero) or a row of another document (resample), or "
        "attends to all keys equally (uniform), to a sink only, or as its explanation predicts (explained).",
    )
    effect_inputs: int = option(
        96, least=1, help="Maximum number of inputs for the effects of heads, spread over the documents."
    )
    effect_heads: int | None = option(
        None,
        least=2,
        none="all",
        help="Change at most this number of heads: half are those with the largest gate estimates, half drawn from "
        "the others.",
    )
    why_inputs: int = option(
        64, least=1, help="Maximum number of inputs for the sources of attention scores, spread over the documents."
    )
    patch: int = option(
        3,
        least=0,
        help="Number of strongest sources of each head's queries, and of its keys, that are replaced as a check; 0 for "
        "none.",
    )
    joint_inputs: int = option(
        24,
        least=0,
        help="Approximate number of inputs, in whole documents, for heads removed together; 0 leaves these out.",
    )
    # None follows from the models: heads of one lineage correspond by number.
    pairs: str | None = option(
        None,
        choices=("same", "matched"),
        default_text="same for models of one lineage, else matched",
        help="Heads that are compared: same (heads of one number) or matched (one to one, by their attention).",
    )
    margin: float = option(
        0.01, help="Heads whose attention differs by less are the same; Jensen-Shannon divergence in nats."
    )
    # The statistics of attention are compared always, because the pass gives them at little cost.
    measures: tuple[str, ...] = option(
        (),
        choices=("norms", "behaviors", "explanation"),
        help="Further measures in which two models are compared: norms, behaviors, explanation; may be repeated.",
    )
