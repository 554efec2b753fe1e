"""A scan with accumulators of one's own: `hs.scan(model, texts, [MyAccumulator()])`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from headscope.attention.scan import ScanCounts
from headscope.attention.scan import scan as scan_source
from headscope.attention.source import ModelSource
from headscope.corpora.demo import demo_text
from headscope.corpora.document import Document
from headscope.corpora.reading import read_corpus
from headscope.corpora.text.plain import text_documents
from headscope.encoding.batching import length_buckets
from headscope.encoding.packing import Packer
from headscope.errors import InputError, OptionError
from headscope.prepare.input_sizes import auto_batch_size, check_length
from headscope.prepare.options import RunOptions
from headscope.views.snapshot.snapshot_of import reader_of

_EXPECTED = (
    "expected a text, a list of texts, the Path of a file or folder, or what headscope.read_corpus returns"
)


def scan(
    model: Any,
    texts: Any,
    accumulators: Any,
    *,
    tokenizer: Any = None,
    packing: str = "single",
    max_length: int = 128,
    too_long: str = "truncate",
    limit: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    revision: str | None = None,
    dtype: str = "float32",
    device: str = "auto",
    progress: Callable[[ScanCounts], None] | None = None,
) -> list[Any]:
    """Run a model over texts once and feed its attention to accumulators.

    Args:
        model: hub name or folder, None for the embedded model, what `load_model` returns, or a transformers model with
            its `tokenizer`.
        texts: a text, or several; or a `Path` (or several) of files and folders; or documents, as `read_corpus` returns
            them; None for the demonstration text. Lines are inputs, and a blank line parts documents; each text of
            several is a document of its own.
        accumulators: updated in place; made without a layout, they are told the model's.
        tokenizer: of a transformers model.
        packing, max_length, too_long, limit, batch_size, seed: how text becomes inputs; see `RunOptions`.
        revision, dtype, device: of the model; see `load_model`.
        progress: called after each batch.

    Returns:
        What each accumulator's `compute()` gives, in their order.

    Raises:
        HeadscopeError: the model, the texts or an option is not as it should be.
    """
    options = RunOptions(
        packing=packing,
        max_length=max_length,
        too_long=too_long,
        limit=limit,
        batch_size=batch_size,
        seed=seed,
    )
    if not isinstance(accumulators, Sequence) or not accumulators:
        raise OptionError(f"accumulators is {accumulators!r}; expected a list of one accumulator or more")
    documents = _documents(texts)
    reader = reader_of(model, tokenizer=tokenizer, revision=revision, dtype=dtype, device=device)
    loaded, encoder, anatomy = reader.loaded, reader.encoder, reader.anatomy
    check_length(max_length, loaded, encoder, anatomy)
    packer = Packer(encoder, packing=packing, max_length=max_length, too_long=too_long, seed=seed)
    size = options.batch_size or auto_batch_size(max_length, anatomy, loaded)
    batches = length_buckets(packer.pack(documents, limit=limit), batch_size=size)
    scan_source(
        ModelSource(loaded.model, anatomy, encoder.vocabulary, batches), accumulators, progress=progress
    )
    if not packer.counts.segments:
        why = "; ".join(f"{reason}: {n}" for reason, n in sorted(packer.counts.skipped.items()))
        raise InputError(
            f"no input could be made of {packer.counts.documents:,} documents ({why or 'all are empty'}); expected "
            f"text that packing {packing} can cut into inputs of {max_length} tokens"
        )
    return [each.compute() for each in accumulators]


def _documents(texts: Any) -> Iterator[Document]:
    """Return the documents of what was given; paths are looked up now, before a model is loaded."""
    if texts is None:
        return read_corpus(demo_text())
    if isinstance(texts, Path):
        return read_corpus(texts)
    if isinstance(texts, str):
        return _of_texts([texts])
    if isinstance(texts, Sequence) and texts:
        if all(isinstance(text, str) for text in texts):
            return _of_texts([str(text) for text in texts])
        if all(isinstance(text, Path) for text in texts):
            return read_corpus([Path(str(path)) for path in texts])
    if not isinstance(texts, Iterable) or (isinstance(texts, Sequence) and not texts):
        raise OptionError(f"texts is {texts!r}; {_EXPECTED}")
    return _checked(texts)


def _of_texts(texts: Sequence[str]) -> Iterator[Document]:
    for text in texts:
        # A name given as a string is read as elsewhere only where it is a Path: here it would be the text itself.
        if len(text) < 256 and len(text.split()) == 1 and Path(text).is_file():
            raise OptionError(
                f'texts holds {text!r}, the name of a file; give Path("{text}") to read the file'
            )
    return _numbered(texts)


def _numbered(texts: Sequence[str]) -> Iterator[Document]:
    ordinal = 0
    for number, text in enumerate(texts, 1):
        for document in text_documents(text.splitlines(), name=f"text {number}", start=ordinal):
            ordinal += 1
            yield document


def _checked(documents: Iterable[Any]) -> Iterator[Document]:
    for document in documents:
        if not isinstance(document, Document):
            raise OptionError(f"texts holds a {type(document).__name__}; {_EXPECTED}")
        yield document
