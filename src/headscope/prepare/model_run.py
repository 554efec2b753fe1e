"""A run of a model over corpora: loaded, the corpora hashed, its signature known before a scan begins."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from torch import nn

from headscope.attention.source import ModelSource
from headscope.corpora.demo import demo_text
from headscope.corpora.digest import CorpusDigest
from headscope.corpora.document import Document
from headscope.encoding.batching import length_buckets
from headscope.encoding.encoder import Encoder
from headscope.encoding.packing import Packer, PackingCounts
from headscope.encoding.readable import readable_tokens
from headscope.encoding.segment import Segment
from headscope.encoding.unknown import KnownPieces
from headscope.errors import InputError, OptionError
from headscope.examples.collector import MOST_TOKENS, ExampleMaps
from headscope.examples.excerpts import Excerpt
from headscope.examples.short_sentences import SentenceKeeper
from headscope.models.anatomy import Anatomy, KindLayout
from headscope.models.examination import examine
from headscope.models.loading import LoadedModel, load_model, longest_input
from headscope.prepare.annotated import AnnotatedCorpus, AnnotatedText, GapCorpus, has_mentions
from headscope.prepare.options import RunOptions
from headscope.prepare.overlap import check_overlap
from headscope.prepare.signature import make_signature, model_facts, tokeniser_hash
from headscope.prepare.text_corpus import Corpus
from headscope.statistics.confidence import too_few

_TOKENS_AT_ONCE = {"cpu": 2048, "cuda": 32768, "mps": 8192}
_WEIGHTS_AT_ONCE = 1 << 26


class ModelRun:
    """A model and a corpus, ready to be scanned.

    Args:
        options: what is asked.

    Attributes:
        signature: what the numbers depend on.
        treebank, treebank_train, coreference, gap: the annotated corpora, where they are asked for.
        layout: the model's kinds of attention.
        total: documents in the corpus; None where a limit makes the number meaningless.

    Raises:
        HeadscopeError: the model, the corpus or an option is not as it should be.
    """

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.keeper = SentenceKeeper()
        self.first: list[Segment] | None = None
        # The corpora first: a broken file is found before a large model is loaded.
        hashes = self._open_annotated(options)
        self.corpus = self._text(options)
        documents, corpus_hash = 0, ""
        if options.reads_text and options.limit is None:
            documents, corpus_hash = self.corpus.digest()
        self.loaded: LoadedModel = load_model(
            options.model, revision=options.revision, dtype=options.dtype, device=options.device
        )
        self.encoder = Encoder(self.loaded.tokeniser, token_types=options.token_types)
        self.anatomy: Anatomy = examine(self.loaded.model, self.encoder.vocabulary)
        check_length(options.max_length, self.loaded, self.encoder, self.anatomy)
        self.packer = self._packer()
        self.known = KnownPieces(self.encoder, "text")
        if options.reads_text and options.limit is not None:
            # Only what the limit lets in is read, so that a small run on a huge corpus stays small.
            digest = CorpusDigest(self.corpus.read())
            made = self.packer.pack(self.keeper.watch(digest), limit=options.limit)
            self.first = list(self.known.watch(made))
            documents, corpus_hash = digest.documents, digest.hexdigest
        self.documents = documents
        text = {"name": self.corpus.name, "hash": corpus_hash, "documents": documents}
        self.signature = make_signature(
            model=model_facts(self.loaded, self.encoder.vocabulary),
            tokeniser=tokeniser_hash(self.loaded.tokeniser),
            corpus={**(text if options.reads_text else {}), **hashes},
            options=options.shaping(),
            seed=options.seed,
        )

    def _open_annotated(self, options: RunOptions) -> dict[str, Any]:
        """Open the annotated corpora that are asked for; return their part of the signature."""
        self.treebank: AnnotatedCorpus | None = None
        self.treebank_train: AnnotatedCorpus | None = None
        self.coreference: AnnotatedCorpus | None = None
        self.gap: GapCorpus | None = None
        if {"syntax", "probes"} & set(options.wanted):
            self.treebank = AnnotatedCorpus.treebank(options.treebank, strict=options.strict_input)
        if "probes" in options.wanted and options.treebank_train:
            self.treebank_train = AnnotatedCorpus.treebank(
                options.treebank_train, strict=options.strict_input
            )
        if "coreference" in options.wanted:
            if has_mentions(options.coref):
                self.coreference = AnnotatedCorpus.coreference(options.coref, strict=options.strict_input)
            self.gap = GapCorpus.of(options.coref)
        named = {
            "treebank": self.treebank,
            "treebank_train": self.treebank_train,
            "coreference": self.coreference,
            "gap": self.gap,
        }
        hashes = {
            name: {"name": corpus.name, "hash": corpus.digest()}
            for name, corpus in named.items()
            if corpus is not None
        }
        if self.treebank_train is not None and self.treebank is not None and not options.allow_overlap:
            check_overlap(self.treebank_train.files, self.treebank.files)
        return hashes

    def _text(self, options: RunOptions) -> "Corpus | AnnotatedText":
        """Open the text: what was given, else the sentences of the annotated corpora, else the demonstration."""
        if options.text or not (options.treebank or options.coref):
            return Corpus(options.text or (str(demo_text()),))
        given = [self.treebank, None if options.coref == options.treebank else self.coreference]
        corpora = [corpus for corpus in given if corpus is not None]
        if not corpora and options.reads_text:
            raise OptionError("GAP has no text to read heads on; give --text too, or use headscope coref")
        return AnnotatedText(corpora)

    def segments(self) -> Iterator[Segment]:
        """Yield the run's inputs.

        Raises:
            InputError: no input could be made of the corpus; says why.
        """
        made = iter(self.first) if self.first is not None else self._packed()
        one = next(made, None)
        if one is None:
            raise InputError(_nothing_to_read(self.packer.counts, self.options))
        yield from chain([one], made)

    def _packed(self) -> Iterator[Segment]:
        """Read the text from its start; several stages may."""
        again = self.packer.counts.documents > 0
        if again:
            self.packer = self._packer()
            yield from self.packer.pack(self.corpus.read())
        else:
            yield from self.known.watch(self.packer.pack(self.keeper.watch(self.corpus.read())))

    def _packer(self) -> Packer:
        options = self.options
        return Packer(
            self.encoder,
            packing=options.packing,
            max_length=options.max_length,
            too_long=options.too_long,
            seed=options.seed,
        )

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The model's kinds of attention."""
        return self.anatomy.layout

    @property
    def lacking(self) -> frozenset[str]:
        """What the files with mentions do not hold, where they are read: coreference, or GAP."""
        return frozenset(name for name in ("coreference", "gap") if getattr(self, name) is None)

    @property
    def total(self) -> int | None:
        """Documents in the corpus; None where a limit makes the number meaningless."""
        return self.documents if self.options.limit is None else None

    def done(self, segments: int) -> int:
        """About how many documents so many computed segments make up: reading runs ahead of computing."""
        counts = self.packer.counts
        return counts.documents * segments // max(1, counts.segments)

    def source(self) -> ModelSource:
        """Return the stream of tiles over the text."""
        return self.over(self.segments())

    def example_source(self) -> ModelSource:
        """Return the stream of tiles over a few short sentences of the corpus, to draw heads on.

        Where the corpus has no short sentence, its shortest inputs stand in.
        """
        packer = Packer(self.encoder, packing="single", max_length=MOST_TOKENS, too_long="skip")
        sentences = [
            Document(id=document, lines=sentence, whole=True)
            for document, sentence in self.keeper.candidates()
        ]
        segments = list(packer.pack(sentences))
        if not segments:
            segments = sorted(self.first or self._some(), key=len)[:8]
        return self.over(segments)

    def names(self, maps: ExampleMaps) -> tuple[list[str], list[str]]:
        """Return readable tokens of a map's rows and columns."""
        tokeniser = self.loaded.tokeniser
        return readable_tokens(tokeniser, maps.queries), readable_tokens(tokeniser, maps.keys)

    def again(self, segments: Iterable[Segment]) -> ModelSource:
        """Return the stream of tiles over segments that a scan kept, for what it did not keep of them."""
        return self.over(segments)

    def written(self, excerpt: Excerpt) -> tuple[list[str], list[str], str]:
        """Return readable tokens of an excerpt's rows and columns, and what the model read of it as text."""
        tokeniser = self.loaded.tokeniser
        rows, keys = readable_tokens(tokeniser, excerpt.queries), readable_tokens(tokeniser, excerpt.keys)
        # Across attention it is the keys that stand for the text; what the decoder reads is the same text again.
        ids = excerpt.keys if excerpt.wanted.kind == "cross" else excerpt.queries
        known = [int(number) for number in ids if number < len(tokeniser)]
        return rows, keys, str(tokeniser.decode(known, skip_special_tokens=True)).strip()

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the run beyond its signature; complete once it was scanned."""
        return {
            "counts": _counts(self.packer.counts),
            "tap": self.anatomy.path,
            "device": str(next(self.loaded.model.parameters()).device),
            "notes": self._notes(),
        }

    def _some(self) -> list[Segment]:
        return list(self._packer().pack(self.corpus.read(), limit=32))

    def over(
        self, segments: Iterable[Segment], *, length: int | None = None, model: nn.Module | None = None
    ) -> ModelSource:
        """Return the stream of tiles over segments.

        Args:
            segments: the inputs.
            length: about how long they are, for the size of batches; the longest allowed when None.
            model: another of the same shape (a control) in place of the run's.
        """
        own = self.loaded.model if model is None else model
        anatomy = self.anatomy if model is None else examine(model, self.encoder.vocabulary)
        size = self.options.batch_size or auto_batch_size(
            length or self.options.max_length, self.anatomy, self.loaded
        )
        return ModelSource(own, anatomy, self.encoder.vocabulary, length_buckets(segments, batch_size=size))

    def _notes(self) -> list[str]:
        notes = []
        used = self.packer.counts.documents_used
        # Before the scan nothing has been used, and nothing is known to be too few.
        if used and (few := too_few(used)):
            notes.append(few)
        if unknown := self.known.note():
            notes.append(unknown)
        if self.anatomy.encoder_decoder:
            notes.append("the decoder reads the encoder's text again, shifted right by its start token")
        if self.anatomy.path == "fallback":
            notes.append(
                "the model does not use transformers' attention interface: output_attentions was used"
            )
        return notes


def auto_batch_size(max_length: int, anatomy: Anatomy, loaded: LoadedModel) -> int:
    """Choose how many inputs to compute together: enough tokens to keep the device busy, weights that fit."""
    device = next(loaded.model.parameters()).device.type
    heads = max(part.heads for part in anatomy.layout)
    by_tokens = _TOKENS_AT_ONCE.get(device, 2048) // max_length
    return max(1, min(by_tokens, _WEIGHTS_AT_ONCE // (heads * max_length**2)))


def check_length(max_length: int, loaded: LoadedModel, encoder: Encoder, anatomy: Anatomy) -> None:
    """Refuse a length that the model or its special tokens do not allow.

    Args:
        max_length: tokens in an input at most.
        loaded: the model.
        encoder: its tokeniser's wrap.
        anatomy: says which positions the model keeps to itself (RoBERTa's kin).

    Raises:
        OptionError: says which lengths work.
    """
    most = longest_input(loaded, anatomy)
    if max_length > most:
        raise OptionError(
            f"--max-length {max_length} is more than {loaded.name} can read; expected at most {most} tokens"
        )
    fewest = encoder.special_tokens_pair + 2
    if max_length < fewest:
        raise OptionError(
            f"--max-length {max_length} leaves no room beside the special tokens; expected at least {fewest} tokens"
        )


def _counts(counts: PackingCounts) -> dict[str, Any]:
    why = dict(sorted(counts.skipped.items()))
    return {**vars(counts), "skipped": sum(why.values()), "skipped_why": why}


def _nothing_to_read(counts: PackingCounts, options: RunOptions) -> str:
    why = "; ".join(f"{reason}: {n}" for reason, n in sorted(counts.skipped.items())) or "all lines are empty"
    hint = (
        "use --packing single for texts of one line"
        if any("pair" in reason for reason in counts.skipped)
        else "raise --max-length or use --too-long truncate"
    )
    return f"no input could be made of {counts.documents:,} documents with packing {options.packing} ({why}); {hint}"
