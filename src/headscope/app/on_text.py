"""Functions on a text that the user gives: its attention as an array, views in a notebook, a scan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import ScanCounts
from headscope.attention.word_attention import word_level
from headscope.corpora.document import Document, distinct
from headscope.corpora.files import text_lines
from headscope.corpora.plain import text_documents
from headscope.corpora.reading import read_corpus
from headscope.encoding.choices import LOADING
from headscope.encoding.max_inputs import first_documents
from headscope.encoding.segment import NO_WORD
from headscope.encoding.shards import ShardedBatches
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import OptionError
from headscope.installing import demo_text
from headscope.present.values import LabeledArray
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.passes import scan_in_place
from headscope.scans.prepare.input_sizes import auto_batch_size, check_length, no_input, packer_of
from headscope.statistics.sums.accumulator import Accumulator
from headscope.views.attention_page import HEIGHT, StaticPage, attention_page
from headscope.views.bundle import needs_neuron
from headscope.views.snapshot_of import reader_of, take_snapshot
from headscope.views.state import figure_call, opening
from headscope.visible import titled

if TYPE_CHECKING:
    from headscope.views.attention_snapshot import Axis, KindMaps


def attention_array(
    model: Any,
    text: str,
    text_b: str | None,
    *,
    layer: Sequence[int] = (),
    head: Sequence[int] = (),
    level: str = "token",
    pooling: str = "mean",
    kind: str | None = None,
    **more: Any,
) -> xr.DataArray:
    """Implement `hs.attention`, with options that were checked.

    Raises:
        HeadscopeError: the model, the text, a layer, a head or a kind is invalid.
    """
    loading = {name: more.pop(name) for name in LOADING if name in more}
    reader = reader_of(model, writes=bool(more.get("generate")), **loading)
    layout = {part.kind: part for part in reader.anatomy.layout}
    chosen = kind or next(iter(layout))
    if chosen not in layout:
        raise OptionError(f"kind {chosen!r} is not known; {reader.loaded.name} has {', '.join(layout)}")
    part = layout[chosen]
    for name, labels, most in (("layer", layer, part.layers), ("head", head, part.heads)):
        if wrong := [label for label in labels if not 1 <= label <= most]:
            raise OptionError(f"there is no {name} {wrong[0]}; expected numbers from 1 to {most}")
    view = reader.view(text, text_b, layers=tuple(layer), **more)
    (maps,) = (each for each in view.kinds if each.kind == chosen)
    # Layers keep the order of the argument; a view has them in ascending order.
    layers, heads = list(layer or maps.layers), list(head or maps.heads)
    rows = [maps.layers.index(label) for label in layers]
    weights = maps.weights[np.ix_(rows, [label - 1 for label in heads])]
    notes = [*view.notes, *(view.words_notes if level == "word" else ())]
    if level == "word":
        weights, queries, keys = _between_words(weights, maps, pooling)
    else:
        queries, keys = list(maps.queries.tokens), list(maps.key_axis.tokens)
    return LabeledArray(
        weights,
        dims=("layer", "head", "query", "key"),
        coords={
            "layer": layers,
            "head": heads,
            "query": list(map(titled, queries)),
            "key": list(map(titled, keys)),
            "query_position": ("query", np.arange(len(queries))),
            "key_position": ("key", np.arange(len(keys))),
        },
        name="attention",
        attrs={"units": "share", "kind": chosen, "level": level, "model": reader.loaded.name}
        | ({"notes": notes} if notes else {}),
    )


def _between_words(
    weights: NDArray[np.float32], maps: KindMaps, pooling: str
) -> tuple[NDArray[np.float32], list[str], list[str]]:
    """Pool the pieces of words, `[layer, head, word, word]`, and return the words of queries and keys."""
    queries, keys = maps.queries, maps.key_axis

    def ids(axis: Axis) -> torch.Tensor:
        words = axis.words or (None,) * len(axis)
        row = torch.tensor([NO_WORD if word is None else word for word in words])
        return row.expand(len(weights), -1)

    joined = word_level(
        torch.from_numpy(np.ascontiguousarray(weights)), ids(queries), key_word_ids=ids(keys), pooling=pooling
    )
    return joined.weights.numpy(), _said(queries, joined.queries), _said(keys, joined.keys)


def _said(axis: Axis, words: Any) -> list[str]:
    """Return the text at each position: a word as it was typed, else the token."""
    return [
        axis.tokens[leader] if word == NO_WORD else axis.word_text[word]
        for word, leader in zip(words.words[0].tolist(), words.leaders[0].tolist(), strict=True)
    ]


def view_of(
    name: str,
    text: str | None,
    text_b: str | None,
    *,
    model: Any,
    kind: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] = (),
    words: bool = False,
    state: str | None = None,
    height: int = HEIGHT,
    static: bool = False,
    **snapshot_options: Any,
) -> Any:
    """Return a view by its name, with the arguments of `hs.head_view`, as an object that a notebook displays."""
    view = take_snapshot(model, text, text_b, neuron=needs_neuron(name) or None, **snapshot_options)
    if state is None:
        state = opening(view, name, kind=kind, layer=layer, heads=heads, words=words)
    call = figure_call(text, text_b, model=model, **snapshot_options)
    if not static:
        try:
            from headscope.app.widget import AttentionWidget
        except ImportError:
            pass
        else:
            return AttentionWidget(view, state=state, height=height, call=call)
    return StaticPage(attention_page(view, state=state, call=call), title=view.title, height=height)


_EXPECTED = "expected a text, a list of texts, the Path of a file or folder, or what headscope.read_corpus returns"


def scan_text(
    text: Any,
    accumulators: Any,
    *,
    model: Any,
    options: RunOptions,
    progress: Callable[[ScanCounts], None] | None = None,
    **reading: Any,
) -> list[Any]:
    """Implement `hs.scan`, with `options` for the text, and the options for the model in `reading`."""
    if not isinstance(accumulators, Sequence) or not accumulators:
        raise OptionError(f"accumulators is {accumulators!r}; expected a list of one accumulator or more")
    for each in accumulators:
        if not isinstance(each, Accumulator):
            came = f"the class {each.__name__} itself" if isinstance(each, type) else f"a {type(each).__name__}"
            raise OptionError(f"accumulators holds {came}; expected what a subclass of headscope.Accumulator makes")
    if getattr(text, "closed", None) is True:
        raise OptionError(f"text is a file that was closed; {_EXPECTED}")
    documents = _documents(text)
    reader = reader_of(model, **reading)
    loaded, encoder, anatomy = reader.loaded, reader.encoder, reader.anatomy
    length = options.max_length
    check_length(length, loaded, encoder, anatomy)
    packer = packer_of(encoder, options)
    size = options.batch_size or auto_batch_size(length, anatomy, loaded)
    read = first_documents(documents, limit=options.max_inputs)
    known = KnownPieces(encoder, "text")
    segments = known.early(packer.pack(read, max_inputs=options.max_inputs))
    batches = ShardedBatches(segments, batch_size=size)
    scan_in_place(ModelSource(reader.model, anatomy, encoder.vocabulary, batches), accumulators, progress=progress)
    for note in filter(None, [batches.limit.note, *known.notes()]):
        warnings.warn(note, stacklevel=3)
    if not packer.counts.segments:
        raise no_input(packer.counts.documents, packer.counts.skipped, packing=options.packing)
    return [each.compute() for each in accumulators]


def _documents(text: Any) -> Iterator[Document]:
    """Return the documents of the argument `text`; paths are checked at once, before a model is loaded."""
    if text is None:
        return read_corpus(demo_text())
    if isinstance(text, Path):
        return read_corpus(text)
    if isinstance(text, str):
        return _of_texts([text])
    if isinstance(text, Sequence) and text:
        if all(isinstance(each, str) for each in text):
            return _of_texts([str(each) for each in text])
        if all(isinstance(each, Path) for each in text):
            return read_corpus([Path(str(path)) for path in text])
    if not isinstance(text, Iterable) or (isinstance(text, Sequence) and not text):
        raise OptionError(f"text is {text!r}; {_EXPECTED}")
    return _checked(text)


def _of_texts(texts: Sequence[str]) -> Iterator[Document]:
    for text in texts:
        # Unlike elsewhere, a name must be a Path to be read as a file: as a string it would be the text itself.
        if len(text) < 256 and len(text.split()) == 1 and Path(text).is_file():
            raise OptionError(f'text holds {text!r}, the name of a file; give Path("{text}") to read the file')
    return distinct(
        document
        for number, text in enumerate(texts, 1)
        for document in text_documents(text_lines(text), name=f"text {number}")
    )


def _checked(documents: Iterable[Any]) -> Iterator[Document]:
    for document in documents:
        if not isinstance(document, Document):
            raise OptionError(f"text holds a {type(document).__name__}; {_EXPECTED}")
        yield document
