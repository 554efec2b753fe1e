"""Attention maps of a corpus on disk, as the original's `extract_attention.py` makes them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import PackingCounts
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.shards import BatchLimit, ShardedBatches
from headscope.encoding.tokenizer.spelling import keep_case
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError, OptionError, OutputError
from headscope.maps.index import MapsIndex, maps_folder
from headscope.maps.index_reader import read_index
from headscope.maps.pickle_conversion import NO_PLACE_FOR_SINKS, maps_to_pickle
from headscope.maps.writer import MapsWriter
from headscope.models.anatomy import Anatomy
from headscope.models.in_memory import dtype_of, load_debug_model
from headscope.models.load_model import LoadedModel, load_model
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.passes import with_fewer_inputs
from headscope.scans.prepare.input_sizes import auto_batch_size, check_length, no_input, packer_of, with_packing
from headscope.scans.prepare.reading_model import make_signature, model_facts, tokenizer_hash
from headscope.scans.prepare.text_corpus import TextCorpus
from headscope.storage.atomic import already_there, is_free
from headscope.storage.lock import place_held
from headscope.storage.places import check_place, part_of, remove
from headscope.visible import count


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """Options for making and storing maps.

    Attributes:
        pickle: write the original's pickle in place of a folder of safetensors.
        store: `float16` or `float32`; a pickle holds float16.
        word_level: None for attention between tokens, else how attention from the pieces of a split word is pooled
            (`mean`, `first`, `max`).
        cased: do not lower-case; otherwise the tokenizer keeps its own setting.
        debug: a tiny random model with the same tokenizer.
        replace: whether an existing output is replaced.
    """

    pickle: bool = False
    store: str = "float16"
    word_level: str | None = None
    cased: bool = False
    debug: bool = False
    replace: bool = False


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """The result of an extraction.

    Attributes:
        path: path of the folder or the pickle.
        index: description of the maps, without shards and entries.
        counts: counts of the corpus as it was packed; None if the same maps existed already.
        bytes: size of the output.
        left_out: number of inputs that a pickle cannot store; see `maps_to_pickle`.
        notes: sentences that the user should see.
    """

    path: Path
    index: MapsIndex
    counts: PackingCounts | None
    bytes: int = 0
    left_out: int = 0
    notes: tuple[str, ...] = ()


def extract(options: RunOptions, out: str | Path, how: MapOptions) -> Extraction:
    """Run a model over a corpus and write its attention maps.

    A folder with maps of the same signature is left as it is; anything else at `out` is refused before the model runs.

    Args:
        options: model and corpus.
        out: folder or pickle to write; it appears only when it is complete.
        how: options for making and storing the maps.

    Raises:
        HeadscopeError: the model, the corpus, an option or `out` is invalid.
    """
    # The lock is taken at the start, so that a second run is refused at once and not after hours.
    check_place(Path(out), reads=[options.model, *options.text], replace=how.replace)
    with place_held(Path(out)):
        return _extract(options, Path(out), how)


def _extract(options: RunOptions, path: Path, how: MapOptions) -> Extraction:
    if how.pickle and not how.replace and not is_free(path):
        raise OutputError(already_there(path))
    by_line = options.documents == "lines"
    corpus = TextCorpus(
        options.text, by_line=by_line, column=options.column, as_written=True, max_inputs=options.max_inputs
    )
    documents, corpus_hash = corpus.digest()
    if how.debug:
        loaded = load_debug_model(options.model, revision=options.revision, device=options.device)
    else:
        loaded = load_model(options.model, **options.loading)
    tokenizer = keep_case(loaded.tokenizer) if how.cased else loaded.tokenizer
    encoder = Encoder(tokenizer, token_types=options.token_types)
    anatomy = examine(loaded.model, encoder.vocabulary)
    check_length(options.max_length, loaded, encoder, anatomy)
    options = replace(with_packing(options, anatomy), dtype=dtype_of(loaded))
    if how.pickle and len(anatomy.layout) != 1:
        kinds = ", ".join(part.kind for part in anatomy.layout)
        raise OptionError(
            f"{loaded.name} has attention of several kinds ({kinds}), and the original's pickle has place for "
            "one; use --format safetensors"
        )
    if how.pickle and anatomy.layout[0].sinks:
        raise OptionError(f"{loaded.name} {NO_PLACE_FOR_SINKS}; use --format safetensors")
    index = _index(options, how, loaded, encoder, anatomy, {"hash": corpus_hash, "documents": documents})
    if not how.pickle and not how.replace and not is_free(path):
        if not _holds(path, index):
            raise OutputError(already_there(path))
        return Extraction(path=path, index=index, counts=None)
    limit = BatchLimit()

    def names(ids: list[int]) -> list[str]:
        return [str(token) for token in tokenizer.convert_ids_to_tokens(ids)]

    def write_maps(folder: Path) -> Extraction:
        packer = packer_of(encoder, options)
        known, of_words = KnownPieces(encoder, "text"), Counter[str]()
        with maps_folder(folder, index, replace=how.replace) as saved:
            inputs = packer.pack(_with_text(corpus.read()), max_inputs=options.max_inputs)
            if how.word_level is not None:
                inputs = _with_words(inputs, encoder, of_words)
            segments = saved.in_order(known.watch(inputs))
            size = options.batch_size or auto_batch_size(options.max_length, anatomy, loaded)
            batches = ShardedBatches(segments, batch_size=size, limit=limit)
            scan(ModelSource(loaded.model, anatomy, encoder.vocabulary, batches), [MapsWriter(saved, names=names)])
            if not packer.counts.segments:
                raise no_input(packer.counts.documents, packer.counts.skipped, packing=options.packing)
        words = [f"{note} ({count(number, 'input')})" for note, number in sorted(of_words.items())]
        notes = tuple(filter(None, [*known.notes(), *words, limit.note]))
        return Extraction(path=folder, index=index, counts=packer.counts, bytes=saved.bytes, notes=notes)

    if not how.pickle:
        return with_fewer_inputs(partial(write_maps, path), limit.halve)
    # A folder of maps is written first, because batches are sorted by length and the pickle keeps the input order.
    between = part_of(path)
    try:
        maps = with_fewer_inputs(partial(write_maps, between / "maps"), limit.halve)
        _, left_out = maps_to_pickle(between / "maps", path, replace=how.replace)
    finally:
        remove(between)
    return replace(maps, path=path, bytes=path.stat().st_size, left_out=left_out)


def _with_words(segments: Iterator[Segment], encoder: Encoder, notes: Counter[str]) -> Iterator[Segment]:
    """Yield segments and count the notes on their words.

    Raises:
        InputError: a segment's pieces could not be traced to words, which can happen without a fast tokenizer.
    """
    special = set(encoder.tokenizer.all_special_ids)
    for number, segment in enumerate(segments, 1):
        if np.all(segment.word_ids == NO_WORD) and not special.issuperset(segment.ids.tolist()):
            raise InputError(
                f"{type(encoder.tokenizer).__name__} does not say which characters each token covers, and its tokens "
                f"of input {number} do not spell the text out; extract attention between tokens (without "
                "--word-level), or give a model with a tokenizer.json"
            )
        if segment.words_note:
            notes[segment.words_note] += 1
        yield segment


def _index(
    options: RunOptions,
    how: MapOptions,
    loaded: LoadedModel,
    encoder: Encoder,
    anatomy: Anatomy,
    corpus: dict[str, object],
) -> MapsIndex:
    signature = make_signature(
        model=model_facts(loaded, encoder.vocabulary),
        tokenizer=tokenizer_hash(encoder.tokenizer),
        corpus=corpus,
        options={**options.shaping, "store": how.store, "word_level": how.word_level},
        seed=options.seed,
    )
    return MapsIndex(
        model=signature["model"],
        special=signature["model"]["special"],
        layout=anatomy.layout,
        store=how.store,
        word_level=how.word_level,
        signature=signature,
    )


def _holds(path: Path, index: MapsIndex) -> bool:
    """Return True if the maps that an index describes exist already."""
    try:
        return bool(read_index(path).signature.get("id") == index.signature["id"])
    except InputError:
        return False


def _with_text(documents: Iterable[Document]) -> Iterator[Document]:
    """Keep an entry's text among its fields, as the original does; words and tokens are kept elsewhere."""
    for document in documents:
        if document.whole and len(document.lines) == 1:
            document = replace(document, fields={"text": document.lines[0], **document.fields})
        yield document
