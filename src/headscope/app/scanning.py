"""A scan with the user's accumulators, from texts of any kind to the accumulators' results."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import ScanCounts
from headscope.corpora.demo import demo_text
from headscope.corpora.document import Document, distinct
from headscope.corpora.files import text_lines
from headscope.corpora.reading import read_corpus
from headscope.corpora.text.plain import text_documents
from headscope.counted import count
from headscope.declarations.run_options import RunOptions
from headscope.encoding.line_packing import Packer
from headscope.encoding.max_inputs import first_documents
from headscope.encoding.shards import ShardedBatches
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError, OptionError
from headscope.prepare.input_sizes import auto_batch_size, check_length
from headscope.scans.short_memory import scan_in_place
from headscope.statistics.sums.accumulator import Accumulator
from headscope.views.snapshot.snapshot_of import reader_of

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
        if isinstance(each, type):
            raise OptionError(f"accumulators holds the class {each.__name__} itself; expected what it makes")
        if not isinstance(each, Accumulator):
            raise OptionError(
                f"accumulators holds a {type(each).__name__}; expected what a subclass of headscope.Accumulator makes"
            )
    if getattr(text, "closed", None) is True:
        raise OptionError(f"text is a file that was closed; {_EXPECTED}")
    documents = _documents(text)
    reader = reader_of(model, **reading)
    loaded, encoder, anatomy = reader.loaded, reader.encoder, reader.anatomy
    packing, length = options.packing, options.max_length
    check_length(length, loaded, encoder, anatomy)
    packer = Packer(encoder, packing=packing, max_length=length, too_long=options.too_long, seed=options.seed)
    size = options.batch_size or auto_batch_size(length, anatomy, loaded)
    read = first_documents(documents, limit=options.max_inputs)
    known = KnownPieces(encoder, "text")
    segments = known.early(packer.pack(read, max_inputs=options.max_inputs))
    batches = ShardedBatches(segments, batch_size=size)
    scan_in_place(ModelSource(reader.model, anatomy, encoder.vocabulary, batches), accumulators, progress=progress)
    for note in filter(None, [batches.limit.note, *known.notes()]):
        warnings.warn(note, stacklevel=3)
    if not packer.counts.segments:
        why = "; ".join(f"{reason}: {n}" for reason, n in sorted(packer.counts.skipped.items()))
        raise InputError(
            f"no input could be built from {count(packer.counts.documents, 'document')} "
            f"({why or 'all are empty'}); expected "
            f"text that packing {packing} can cut into inputs of {length} tokens"
        )
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
