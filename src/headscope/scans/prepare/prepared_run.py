"""A prepared run, for analyses: a model over corpora, or saved maps; its signature is known before a scan begins."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from headscope.attention.model.model_source import ModelSource
from headscope.corpora.document import Document
from headscope.encoding.paired_encoder import PairedEncoder
from headscope.encoding.segment import Segment
from headscope.encoding.shards import ShardedBatches
from headscope.encoding.tokenizer.token_names import joined_pieces, readable_tokens
from headscope.models.anatomy import GUIDED, KindLayout, guided_heads
from headscope.models.in_memory import dtype_of
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.examples.collector import ExampleMaps, MapTokens
from headscope.scans.examples.excerpts import Excerpt
from headscope.scans.prepare.input_sizes import BY_WORD, SINGLE_LINES, controls_of, read_alone, with_packing
from headscope.scans.prepare.maps_run import MapsRun
from headscope.scans.prepare.reading_model import (
    ReadingModel,
    make_signature,
    needs_words,
    open_model,
    open_second,
    tokenizer_hash,
)
from headscope.scans.prepare.run_corpora import RunCorpora, open_corpora
from headscope.scans.prepare.run_inputs import RunInputs
from headscope.scans.progress import Watcher, note_early, tell
from headscope.scans.scan_declaration import ReadableRun

FEW_INPUTS = 32
"""Maximum number of inputs of text that random weights read: values near chance hardly differ between inputs."""
_NO_CONTROLS = "no random weights are measured beside a model of over a billion parameters; --controls 1 measures them"


class ModelRun:
    """A model and corpora, ready to be scanned.

    Args:
        options: options of the run.
        corpora: corpora that the run reads.
        model: model that reads them.
        second: model that is compared with it; None for none.
        chosen: notes for the user on choices made for this text because the options leave them open.

    Attributes:
        inputs: inputs that the model reads from the text.
        by_word: whether the two models are compared by words, because their tokens differ.
        signature: record of everything that the numbers depend on.
    """

    def __init__(
        self,
        options: RunOptions,
        *,
        corpora: RunCorpora,
        model: ReadingModel,
        second: ReadingModel | None = None,
        chosen: tuple[str, ...] = (),
    ) -> None:
        self.options, self.corpora, self.model, self._chosen = options, corpora, model, chosen
        self.second = second
        self.loaded, self.encoder, self.anatomy = model.loaded, model.encoder, model.anatomy
        self.by_word = second is not None and needs_words(model, second)
        if second is not None and self.by_word:
            self.encoder = PairedEncoder(model.encoder, second.encoder, max_length=options.max_length)
        self.inputs = RunInputs(corpora.text, self.encoder, options)
        self.signature = make_signature(
            model=model.facts,
            tokenizer=tokenizer_hash(model.loaded.tokenizer),
            corpus=corpora.facts,
            options=options.shaping if second is None else {**options.shaping, "other": second.identity},
            seed=options.seed,
        )

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The model's kinds of attention."""
        return self.anatomy.layout

    @property
    def controls(self) -> int:
        """The number of models with random weights that are measured along with the trained one."""
        return self.options.controls or 0

    @property
    def lacking(self) -> frozenset[str]:
        """Annotations that the files with mentions lack, if they are read: coreference or GAP."""
        return frozenset(name for name in ("coreference", "gap") if getattr(self.corpora, name) is None)

    @property
    def total(self) -> int | None:
        """The number of documents in the text; None if a limit makes it meaningless."""
        return self.corpora.documents if self.options.max_inputs is None else None

    def done(self, segments: int) -> int:
        """Return the approximate number of documents that a number of computed segments covers."""
        return self.inputs.documents_in(segments)

    def segments(self) -> Iterator[Segment]:
        """Yield the inputs; see `RunInputs.segments`."""
        return self.inputs.segments()

    def batches(self, batch_size: int) -> ShardedBatches:
        """Return the inputs, in batches and shards."""
        return ShardedBatches(self.inputs.in_shards(), batch_size=batch_size)

    def sample(self, most: int, *, changed: Callable[[Document], Document] | None = None) -> list[Segment]:
        """Return a sample of the inputs, spread over the documents; see `RunInputs.sample`."""
        return self.inputs.sample(most, changed=changed)

    @cached_property
    def few_inputs(self) -> list[Segment]:
        """The part of the text that random weights read and that some examples are chosen from, drawn once."""
        return self.sample(FEW_INPUTS)

    def source(self) -> ModelSource:
        """Return the stream of tiles over the text."""
        return self.model.source(self.inputs.in_shards())

    def over(self, inputs: Iterable[Segment], *, length: int | None = None, control: int | None = None) -> ModelSource:
        """Return the stream of tiles over the given inputs; see `ReadingModel.source`."""
        return self.model.source(inputs, length=length, control=control)

    def example_source(self) -> ModelSource:
        """Return the stream of tiles over a few short sentences of the text, to draw heads on."""
        return self.over(self.inputs.short_sentences())

    def again(self, segments: Iterable[Segment]) -> ModelSource:
        """Return the stream of tiles over segments that a scan kept, to read values that it did not keep."""
        return self.over(segments)

    def names(self, maps: ExampleMaps) -> MapTokens:
        """Return readable tokens of a map's rows and columns."""
        tokenizer = self.loaded.tokenizer
        queries, keys = (readable_tokens(tokenizer, ids) for ids in (maps.queries, maps.keys))
        return MapTokens(queries, keys, joined_pieces(tokenizer, maps.keys))

    def excerpt_words(self, excerpt: Excerpt) -> tuple[list[str], list[str], str]:
        """Return readable tokens of an excerpt's rows and columns, and the text that the model read there."""
        tokenizer = self.loaded.tokenizer
        rows, keys = readable_tokens(tokenizer, excerpt.queries), readable_tokens(tokenizer, excerpt.keys)
        # In cross-attention the keys are the tokens of the text; the decoder reads the same text again.
        ids = excerpt.keys if excerpt.wanted.kind == "cross" else excerpt.queries
        known = [int(number) for number in ids if number < len(tokenizer)]
        return rows, keys, str(tokenizer.decode(known, skip_special_tokens=True)).strip()

    def joined(self, excerpt: Excerpt) -> list[int]:
        """Return the indices, from 0, of an excerpt's rows that continue the previous row's word."""
        return joined_pieces(self.loaded.tokenizer, excerpt.queries)

    def early_notes(self) -> list[str]:
        """Return notes for the user on the text before it is measured; an empty list if it is not read."""
        return [*self._chosen, *self.inputs.early_notes(self.corpora.documents), *self._on_controls()]

    def _on_controls(self) -> list[str]:
        measured = "controls" in self.options.shaping  # by a stage of this run
        left_out = measured and self.controls == 0 and controls_of(self.loaded.model) == 0
        return [_NO_CONTROLS] * left_out

    def facts(self) -> dict[str, Any]:
        """Return the manifest's facts on the run beyond its signature; complete after the scan."""
        return {
            "counts": self.inputs.counts(),
            "tap": self.anatomy.path,
            "device": self.model.device,
            **({GUIDED: guided} if (guided := guided_heads(self.loaded.model.config)) else {}),
            "notes": [
                *self.corpora.notes(),
                *self.model.notes(),
                *self._chosen,
                *self.inputs.notes(),
                *self._on_controls(),
            ],
        }


@runtime_checkable
class Stream(ReadableRun, Protocol):
    """The parts of a run that a scan of its text needs."""

    @property
    def layout(self) -> tuple[KindLayout, ...]:
        """The kinds of attention."""


Run = ModelRun | MapsRun
"""A run that can be measured: a model over corpora, or saved maps."""


def prepare(options: RunOptions, *, watch: Watcher | None = None) -> Run:
    """Load the model and the corpora and compute the run's signature, without a scan.

    Args:
        options: options of the run.
        watch: function that receives the name of each thing that is read and loaded.

    Raises:
        HeadscopeError: the model, a corpus or an option is invalid.
    """
    if options.maps is not None:
        tell(watch, "reading the maps")
        return MapsRun(options)
    return prepare_model_run(options, watch=watch)


def prepare_model_run(
    options: RunOptions, *, watch: Watcher | None = None, text_read: tuple[int, str] | None = None
) -> ModelRun:
    """Open the corpora, load the model and build the run; see `prepare`.

    Args:
        options: options of the run.
        watch: function that receives the name of each thing that is read and loaded.
        text_read: number of documents and hash of the text, if it was read before and is not read here.
    """
    tell(watch, "reading the corpus")
    # Corpora are opened first, so that a broken file is found before a large model is loaded.
    corpora = open_corpora(options, text_read=text_read)
    if options.loaded_model is None:
        tell(watch, "loading the model")
    model = open_model(options)
    if options.other is not None and options.loaded_other is None:
        tell(watch, "loading the second model")
    second = open_second(options, model)
    # The choices that the options leave to the model are known now; the signature names the result.
    controls = controls_of(model.loaded.model) if options.controls is None else options.controls
    by_word = second is not None and needs_words(model, second)
    if by_word:
        options = read_alone(options)
    text = corpora.text
    packed = with_packing(options, model.anatomy, only_single_lines=text.of_one_line > 0 == text.of_several_lines)
    single_chosen = SINGLE_LINES if packed.packing == "single" != options.packing else None
    chosen = tuple(filter(None, [corpora.lines_chosen, single_chosen, BY_WORD if by_word else None]))
    documents = "lines" if corpora.lines_chosen else options.documents
    options = replace(packed, documents=documents, dtype=dtype_of(model.loaded), controls=controls)
    run = ModelRun(options, corpora=corpora, model=model, second=second, chosen=chosen)
    run.inputs.check(corpora.documents)
    for note in run.early_notes():
        note_early(watch, note)
    return run
