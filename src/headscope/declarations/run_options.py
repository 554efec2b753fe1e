"""The options of a run."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.declarations.analysis import Stage
from headscope.declarations.analysis_list import STAGES
from headscope.declarations.compat import (
    DEFAULT_PACKING,
    DEFAULT_POOLING,
    DEFAULT_SPACING,
    ORIGINAL,
    UNSET,
    check_compat,
    pooling_of,
    spacing_of,
)
from headscope.declarations.option import documented, option, options_of
from headscope.declarations.requests import (
    BY_NAME,
    SKIPPABLE,
    check_requests,
    needed_requests,
    requests_of,
    stages_requested,
)
from headscope.declarations.text_feature import TextFeature, hash_of_features
from headscope.declarations.user_score import Score, hash_of_score
from headscope.declarations.vectors_file import hash_of_vectors
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
from headscope.errors import OptionError
from headscope.models.loading.load_choices import DEVICE_MAPS, DTYPE_CHOICES, LOADING

if TYPE_CHECKING:
    from headscope.corpora.document import Document
    from headscope.models.loading.load_model import LoadedModel


@documented
@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of a run; the same names as on the command line, which is made of them."""

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
    documents: str = option(
        "blocks",
        group="corpora",
        of=("text",),
        choices=DOCUMENTS,
        help="What a document of plain text is: the lines between blank ones, or each line.",
    )
    column: str | None = option(
        None,
        group="corpora",
        of=("text",),
        help="Which column of .csv, .tsv or .parquet text holds the text.",
    )
    # In place of running a model.
    maps: Path | None = option(
        None, group="model", help="Folder of saved maps (headscope extract) to read instead of text."
    )
    # Not given, it follows from the model; see `prepare.left_to_model`.
    packing: str = option(
        UNSET,
        choices=PACKINGS,
        default_text=DEFAULT_PACKING,
        help="How lines become inputs: pretraining or paragraphs (pairs), joined (one text) or single (each line). "
        "Decoders read joined lines when it is not given.",
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
        "truncate",
        choices=TOO_LONG,
        help="What to do with an input over the limit: truncate, skip or error.",
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
    # None chooses by length and device.
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
    # What to measure (`REQUESTS`). Where it is empty, the given corpora decide; without any, the demonstration's.
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
    # A model and documents in memory, from Python, in place of `model` and `text`.
    loaded_model: "LoadedModel | None" = field(default=None, repr=False)
    documents_in_memory: "tuple[Document, ...]" = field(default=(), repr=False)
    # Features of a user's, by which heads are explained; from Python alone.
    features: tuple[TextFeature, ...] = field(default=(), repr=False)
    # A score of a user's, by which effects are measured beside the loss; from Python alone.
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
    # Not given, it becomes `written`, under `compat` `words`.
    spacing: str = option(
        UNSET,
        choices=SPACING,
        default_text=DEFAULT_SPACING,
        help="How words of treebanks and coreference are joined: as written (SpaceAfter=No), or words, by spaces.",
    )
    fold_labels: bool = option(False, help="Count nsubj:pass as nsubj, and so on.")
    # Not given, it becomes `mean`, under `compat` `first`, and over maps by word what those were joined by.
    pooling: str = option(
        UNSET,
        choices=POOLINGS,
        default_text=DEFAULT_POOLING,
        help="Attention from a word that was cut: mean of its pieces, first or max.",
    )
    special_tokens: bool = option(False, help="Let special tokens be candidates for a word's head too.")
    both_directions: bool = option(False, help="Score the sum of the two directions of attention as well.")
    # What of the notebook's choices are options is fixed for the whole run; see `declarations.compat`.
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
    strict: bool = option(
        False, help="An antecedent must get more attention than any other word, not candidate."
    )
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
        24,
        least=0,
        help="About so many of them, of whole documents, for heads removed together; 0 leaves these out.",
    )

    def __post_init__(self) -> None:
        for name, each in options_of(type(self)).items():
            each.check(getattr(self, name))
        check_compat(self.compat, {name: getattr(self, name) for name in ORIGINAL})
        if self.maps is None:
            # Set now, so that signature, manifest and stages agree; saved maps may have fixed it already.
            object.__setattr__(self, "pooling", pooling_of(self.compat, self.pooling))
            object.__setattr__(self, "spacing", spacing_of(self.compat, self.spacing))
        check_requests(stages=self.stages, include=self.include, over_maps=self.maps is not None)
        if self.skip and not self.wanted:
            raise OptionError("--skip leaves nothing to measure; skip less")
        if self.maps is not None and self.corpora:
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
    def corpora(self) -> frozenset[str]:
        """The corpora that the given files may contain, as stages name them."""
        set_options = (
            each for name, each in options_of(type(self)).items() if each.holds and getattr(self, name)
        )
        corpora = frozenset(corpus for each in set_options for corpus in each.holds)
        return corpora | {"text"} if self.documents_in_memory else corpora

    @property
    def wanted(self) -> tuple[str, ...]:
        """What to measure, of `requests.REQUESTS`."""
        defaults = [stage for stage in STAGES.values() if self._is_default(stage)]
        requests = requests_of(defaults, stages=self.stages, include=self.include, skip=self.skip)
        needed = needed_requests(requests, vars(self))
        if not needed:
            return requests
        include = (*self.include, *needed)
        return requests_of(defaults, stages=self.stages, include=include, skip=self.skip)

    @property
    def measured(self) -> list[Stage]:
        """The stages that the run measures, in order, where its files hold the corpora that they read."""
        return stages_requested(self.wanted, vars(self))

    def _is_default(self, stage: Stage) -> bool:
        """Return whether a stage is measured without a request: its corpora and required options are given."""
        if stage.by_name or (self.maps is not None and stage.refusal):
            return False
        options = options_of(type(self))
        corpora = self.corpora
        if not corpora and self.maps is None:
            demonstrated = (each.holds for each in options.values() if each.demonstrated)
            corpora = frozenset(corpus for holds in demonstrated for corpus in holds)
        # There always is text: that of the annotated corpora, where there is no other.
        read = all(corpus == "text" or corpus in corpora for corpus in stage.corpora)
        return read and all(getattr(self, name) != options[name].default for name in stage.required_options)

    @cached_property
    def corpora_read(self) -> frozenset[str]:
        """The corpora that the measured stages read, as stages name them; `text` for the text itself."""
        corpora = frozenset(corpus for stage in self.measured for corpus in self.corpora_of(stage))
        # Without a text, sentences of the annotated corpora are the text, whether or not trees and mentions are read.
        annotated = self.corpora if "text" in corpora and "text" not in self.corpora else frozenset()
        return corpora | (annotated - {"treebank_train"})

    def corpora_of(self, stage: Stage) -> tuple[str, ...]:
        """Return the corpora that a stage reads, the optional ones where they are given."""
        return (*stage.corpora, *(corpus for corpus in stage.optional_corpora if corpus in self.corpora))

    @property
    def loading(self) -> dict[str, Any]:
        """How a model that is named is loaded, as `load_model` takes it."""
        return {name: getattr(self, name) for name in LOADING}

    @cached_property
    def vectors_hash(self) -> str | None:
        """Hash of the file of word vectors, which replaces its path in the signature."""
        return None if self.vectors is None else hash_of_vectors(self.vectors)

    @cached_property
    def features_hash(self) -> str | None:
        """Hash of the features, which stands for them in the signature."""
        return hash_of_features(self.features)

    @cached_property
    def score_hash(self) -> str | None:
        """Name and hash of the user's score, which stand for it in the signature."""
        return hash_of_score(self.score)

    @cached_property
    def shaping(self) -> dict[str, object]:
        """The options that change numbers, for the signature."""
        over_maps = self.maps is not None
        shaping = {
            name: getattr(self, name)
            for request in self.wanted
            for stage in self.measured
            if stage.request_name == request
            for name in stage.shaping(maps=over_maps)
        }
        return shaping if over_maps else {"stages": list(self.wanted), **shaping}
