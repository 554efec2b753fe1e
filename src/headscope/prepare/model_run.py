"""A run of a model over corpora: loaded, the corpora hashed, its signature known before a scan begins."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from itertools import chain
from typing import Any

from headscope.attention.model.model_source import ModelSource
from headscope.corpora.demo import demo_text
from headscope.corpora.document import Document
from headscope.counted import count
from headscope.declarations.run_options import RunOptions
from headscope.encoding.document_shards import document_shards
from headscope.encoding.encoder import Encoder
from headscope.encoding.packing.line_packing import Packer, PackingCounts
from headscope.encoding.packing.spread import documents_read
from headscope.encoding.segment import Segment
from headscope.encoding.shards import Shard, ShardedBatches
from headscope.encoding.tokenizer.token_names import joined_pieces, readable_tokens
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError, OptionError
from headscope.examples.collector import MOST_TOKENS, ExampleMaps
from headscope.examples.example_inputs import example_tokens, within_tokens
from headscope.examples.excerpts import Excerpt
from headscope.examples.short_sentences import SentenceKeeper
from headscope.models.anatomy import Anatomy, KindLayout
from headscope.models.dtypes import precision_note
from headscope.models.examination import examine
from headscope.models.in_memory import dtype_of, without_head
from headscope.models.loading import LoadedModel, load_model
from headscope.models.random_weights import with_random_weights
from headscope.prepare.annotated import AnnotatedText
from headscope.prepare.annotated_inputs import open_annotated
from headscope.prepare.input_sizes import auto_batch_size, check_length
from headscope.prepare.signature import make_signature, model_facts, tokenizer_hash
from headscope.prepare.text_corpus import TextCorpus, TextInMemory
from headscope.scans.progress import Watcher, tell
from headscope.statistics.confidence import too_few

_CONTROL_BYTES = 1 << 30
"""Models with random weights are held for all stages as long as they are no larger together."""


class ModelRun:
    """A model and a corpus, ready to be scanned.

    Args:
        options: what is asked.
        watch: told what is read and loaded.
        text_read: number of documents and hash of the text, where it was read before and is not read here.

    Attributes:
        signature: what the numbers depend on.
        treebank, treebank_train, coreference, gap: the annotated corpora, where they are asked for.
        loaded: the model, below its vocabulary head.
        layout: the model's kinds of attention.
        total: documents in the corpus; None where a limit makes the number meaningless.
        passed_over: documents of which the reading at hand made no inputs: they are another part's.

    Raises:
        HeadscopeError: the model, the corpus or an option is not as it should be.
    """

    def __init__(
        self,
        options: RunOptions,
        *,
        watch: Watcher | None = None,
        text_read: tuple[int, str] | None = None,
    ) -> None:
        self.options = options
        self.keeper = SentenceKeeper()
        tell(watch, "reading the corpus")
        # The corpora first: a broken file is found before a large model is loaded.
        annotated = open_annotated(options)
        self.treebank, self.treebank_train = annotated.treebank, annotated.treebank_train
        self.coreference, self.gap = annotated.coreference, annotated.gap
        self.corpus = self._text(options)
        documents, corpus_hash = 0, ""
        if options.reads("text"):
            documents, corpus_hash = text_read or self.corpus.digest()
        if options.loaded_model is None:
            tell(watch, "loading the model")
        given: LoadedModel = options.loaded_model or load_model(
            options.model, revision=options.revision, dtype=options.dtype, device=options.device
        )
        self.loaded = without_head(given)
        self.encoder = Encoder(self.loaded.tokenizer, token_types=options.token_types)
        self.anatomy: Anatomy = examine(self.loaded.model, self.encoder.vocabulary)
        check_length(options.max_length, self.loaded, self.encoder, self.anatomy)
        self._trained = ModelSource(self.loaded.model, self.anatomy, self.encoder.vocabulary, ())
        self._controls: dict[int, ModelSource] = {}
        self.packer = self._packer()
        self.known = KnownPieces(self.encoder, "text")
        self.documents = documents
        self.passed_over = 0
        text = {"name": self.corpus.name, "hash": corpus_hash, "documents": documents}
        self.signature = make_signature(
            model=model_facts(given, self.encoder.vocabulary),
            tokenizer=tokenizer_hash(self.loaded.tokenizer),
            corpus={**(text if options.reads("text") else {}), **annotated.hashes},
            options=options.shaping(),
            seed=options.seed,
        )

    def _text(self, options: RunOptions) -> "TextCorpus | TextInMemory | AnnotatedText":
        """Open the text: what was given, else the sentences of the annotated corpora, else the demonstration."""
        as_written = options.compat is not None  # whose cuts are drawn from one stream over the corpus
        if options.documents_in_memory:
            return TextInMemory(options.documents_in_memory, as_written=as_written)
        if options.text or not (options.treebank or options.coref):
            by_line = options.documents == "lines"
            return TextCorpus(
                options.text or (str(demo_text()),),
                by_line=by_line,
                column=options.column,
                as_written=as_written,
                max_inputs=options.max_inputs,
            )
        given = [self.treebank, None if options.coref == options.treebank else self.coreference]
        corpora = [corpus for corpus in given if corpus is not None]
        if not corpora and options.reads("text"):
            raise OptionError("GAP has no text to read heads on; give --text too, or use headscope coref")
        return AnnotatedText(corpora)

    def segments(self) -> Iterator[Segment]:
        """Yield the run's inputs.

        Raises:
            InputError: no input could be made of the corpus; says why.
        """
        made = self._packed()
        one = next(made, None)
        if one is None:
            raise InputError(_nothing_to_read(self.packer.counts, self.options))
        yield from chain([one], made)

    def _packed(self) -> Iterator[Segment]:
        """Read the text from its start; several stages may."""
        again, max_inputs = self.packer.counts.documents > 0, self.options.max_inputs
        if again:
            self.packer = self._packer()
            yield from self.packer.pack(self.corpus.read(), max_inputs=max_inputs)
        else:
            made = self.packer.pack(self.keeper.watch(self.corpus.read()), max_inputs=max_inputs)
            yield from self.known.watch(made)

    def batches(self, batch_size: int) -> ShardedBatches:
        """Return the run's inputs, in batches and shards.

        Without a limit shards are cut by the documents' length, so that a part of a run makes inputs of its own alone;
        a limit draws among all inputs, and the original's one stream of draws goes through all of them.
        """
        if self.options.max_inputs is not None or self.options.compat is not None:
            return ShardedBatches(self.segments(), batch_size=batch_size)
        return ShardedBatches(self._shards(), batch_size=batch_size)

    def _shards(self) -> Iterator[Shard]:
        """Read the text from its start, in shards; several stages may.

        Raises:
            InputError: no input could be made of the corpus; says why.
        """
        again = self.packer.counts.documents > 0
        if again:
            self.packer = self._packer()
        self.passed_over, passed, seen = 0, False, 0
        documents = self.corpus.read() if again else self.keeper.watch(self.corpus.read())

        def counted() -> Iterator[Document]:
            nonlocal seen
            for document in documents:
                seen += 1
                yield document

        def pack(given: Sequence[Document]) -> list[Segment]:
            made = self.packer.pack(given)
            return list(made if again else self.known.early(made))

        for shard in document_shards(counted(), pack):
            yield shard
            if not shard.is_made:
                passed = True
                self.passed_over = max(0, seen - 1 - self.packer.counts.documents)
        if not again:
            self.known.check()
        if not passed and not self.packer.counts.segments:
            raise InputError(_nothing_to_read(self.packer.counts, self.options))

    def _packer(self) -> Packer:
        options = self.options
        return Packer(
            self.encoder,
            packing=options.packing,
            max_length=options.max_length,
            too_long=options.too_long,
            seed=options.seed,
            one_stream=options.compat is not None,
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
        return self.documents if self.options.max_inputs is None else None

    def done(self, segments: int) -> int:
        """About how many documents so many computed segments make up: reading runs ahead of computing."""
        counts = self.packer.counts
        return self.passed_over + counts.documents * segments // max(1, counts.segments)

    def source(self) -> ModelSource:
        """Return the stream of tiles over the text."""
        return self._source(self._trained, None, None)

    def example_source(self) -> ModelSource:
        """Return the stream of tiles over a few short sentences of the corpus, to draw heads on.

        Where the corpus has no short sentence, its shortest inputs stand in, few of them if they are long.
        """
        packer = Packer(self.encoder, packing="single", max_length=MOST_TOKENS, too_long="skip")
        sentences = [
            Document(id=document, lines=sentence, whole=True)
            for document, sentence in self.keeper.candidates()
        ]
        segments = list(packer.pack(sentences))
        if not segments:
            most = example_tokens(self.packer.counts.tokens)
            segments = within_tokens(sorted(self.sample(32), key=len)[:8], most=most)
        return self.over(segments)

    def names(self, maps: ExampleMaps) -> tuple[list[str], list[str]]:
        """Return readable tokens of a map's rows and columns."""
        tokenizer = self.loaded.tokenizer
        return readable_tokens(tokenizer, maps.queries), readable_tokens(tokenizer, maps.keys)

    def again(self, segments: Iterable[Segment]) -> ModelSource:
        """Return the stream of tiles over segments that a scan kept, for what it did not keep of them."""
        return self.over(segments)

    def excerpt_words(self, excerpt: Excerpt) -> tuple[list[str], list[str], str]:
        """Return readable tokens of an excerpt's rows and columns, and what the model read of it as text."""
        tokenizer = self.loaded.tokenizer
        rows, keys = readable_tokens(tokenizer, excerpt.queries), readable_tokens(tokenizer, excerpt.keys)
        # Across attention it is the keys that stand for the text; what the decoder reads is the same text again.
        ids = excerpt.keys if excerpt.wanted.kind == "cross" else excerpt.queries
        known = [int(number) for number in ids if number < len(tokenizer)]
        return rows, keys, str(tokenizer.decode(known, skip_special_tokens=True)).strip()

    def joined(self, excerpt: Excerpt) -> list[int]:
        """Return which of an excerpt's rows, from 0, go on with the word of the row before them."""
        return joined_pieces(self.loaded.tokenizer, excerpt.queries)

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of the run beyond its signature; complete once it was scanned."""
        return {
            "counts": _counts(self.packer.counts),
            "tap": self.anatomy.path,
            "device": str(next(self.loaded.model.parameters()).device),
            "notes": self._notes(),
        }

    def sample(self, most: int, *, changed: Callable[[Document], Document] | None = None) -> list[Segment]:
        """Return at most so many of the run's inputs, spread over its documents; the run's counts are not of them.

        Args:
            most: how many; no more than the run's limit.
            changed: makes another document of each, such as one of its words in another order.
        """
        max_inputs = most if self.options.max_inputs is None else min(most, self.options.max_inputs)
        documents = self.corpus.read()
        made = documents if changed is None else map(changed, documents)
        return list(self._packer().pack(made, max_inputs=max_inputs))

    def over(
        self, segments: Iterable[Segment], *, length: int | None = None, control: int | None = None
    ) -> ModelSource:
        """Return the stream of tiles over segments.

        Args:
            segments: the inputs.
            length: about how long they are, for the size of batches; the longest allowed when None.
            control: seed of the model with random weights that reads them in place of the run's.
        """
        read_by = self._trained if control is None else self._control(control)
        return self._source(read_by, segments, length)

    def _control(self, seed: int) -> ModelSource:
        """Return what reads with the random weights of a seed: made once for all stages, where memory allows it."""
        if seed not in self._controls:
            size = sum(each.numel() * each.element_size() for each in self.loaded.model.parameters())
            if (len(self._controls) + 1) * size > _CONTROL_BYTES:
                self._controls.clear()
            model = with_random_weights(self.loaded.model, seed=seed)
            # Of the same architecture, so that it is read as the run's is.
            self._controls[seed] = ModelSource(model, self.anatomy, self.encoder.vocabulary, ())
        return self._controls[seed]

    def _source(
        self, read_by: ModelSource, segments: Iterable[Segment] | None, length: int | None
    ) -> ModelSource:
        """Return the stream of tiles over segments, or over the text where none are given; see `over`."""
        size = self.options.batch_size or auto_batch_size(
            length or self.options.max_length, self.anatomy, self.loaded
        )
        source = copy(read_by)
        source.batches = self.batches(size) if segments is None else ShardedBatches(segments, batch_size=size)
        return source

    def _how_to_part(self, documents: int) -> list[str]:
        """Say what makes documents of lines, where the text may be one sentence a line."""
        lines_are_parted = self.options.documents == "lines" or isinstance(self.corpus, AnnotatedText)
        if lines_are_parted or self.packer.counts.segments <= documents:
            return []
        return ["blank lines part documents; where each line is a text of its own, give --documents lines"]

    def _notes(self) -> list[str]:
        notes = []
        if isinstance(self.corpus, TextCorpus) and self.documents == documents_read(self.options.max_inputs):
            notes.append(f"the inputs were drawn from the text's first {count(self.documents, 'document')}")
        corpora = (self.corpus, self.treebank, self.treebank_train, self.coreference, self.gap)
        # A file of trees and mentions is two corpora.
        notes += dict.fromkeys(note for corpus in corpora if corpus is not None for note in corpus.notes())
        if self.anatomy.encoder_decoder:
            notes.append("the decoder reads the encoder's text again, shifted right by its start token")
        notes += self.anatomy.notes
        if low := precision_note(dtype_of(self.loaded)):
            notes.append(low)
        if self.anatomy.path == "fallback":
            notes.append(
                "the model does not use transformers' attention interface: output_attentions was used"
            )
        used = self.packer.counts.documents_used
        # Last, as a run that goes on after a stop learns it last: before the scan nothing has been used.
        if used and (few := too_few(used)):
            notes += [few, *self._how_to_part(used)]
        if unknown := self.known.note():
            notes.append(unknown)
        return notes


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
    return (
        f"no input could be made of {count(counts.documents, 'document')} with packing {options.packing} "
        f"({why}); {hint}"
    )
