"""The inputs of a run: its text, packed into segments and cut into shards."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import NO_PAIR, Packer
from headscope.encoding.segment import Segment
from headscope.encoding.shards import Shard, document_shards
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.scans.declarations.option import UNSET
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.examples.collector import MOST_TOKENS
from headscope.scans.examples.example_tables import SentenceKeeper, example_tokens, within_tokens
from headscope.scans.prepare.input_sizes import no_input, packer_of
from headscope.scans.prepare.run_corpora import Text
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, too_few
from headscope.visible import count

BY_LINES = "blank lines part documents; where each line is a text of its own, give --documents lines"


class RunInputs:
    """The inputs that a run makes from its text.

    Several stages may read them, each from the start of the text. Unknown pieces are counted and short sentences are
    kept at the first reading.

    Args:
        text: text of the run.
        encoder: encoder that wraps the tokenizer.
        options: options of the run.
    """

    def __init__(self, text: Text, encoder: Encoder, options: RunOptions) -> None:
        self.text, self.encoder, self.options = text, encoder, options
        self._packer = self._new_packer()
        self._sentences = SentenceKeeper()
        self._known = KnownPieces(encoder, "text")
        self._passed_over = 0  # documents without inputs in the latest reading, because they belong to another part

    def segments(self) -> Iterator[Segment]:
        """Yield the inputs.

        Raises:
            InputError: no input could be made from the text; the message gives the reason.
        """
        segments = self._packed()
        first = next(segments, None)
        if first is None:
            raise self._no_input()
        yield from chain([first], segments)

    def _packed(self) -> Iterator[Segment]:
        documents, again = self._read()
        segments = self._packer.pack(documents, max_inputs=self.options.max_inputs)
        yield from segments if again else self._known.watch(segments)

    def in_shards(self) -> Iterator[Segment] | Iterator[Shard]:
        """Return the inputs in the form in which they are scanned.

        Without a limit, shards are cut by the documents' length, so that a part of a run makes only its own inputs. A
        limit draws from all inputs, and the original code has a single stream of draws over all of them.

        Raises:
            InputError: no input could be made from the text; the message gives the reason.
        """
        if self.options.max_inputs is not None or self.options.compat is not None:
            return self.segments()
        return self._shards()

    def _shards(self) -> Iterator[Shard]:
        documents, again = self._read()
        self._passed_over, n_read, any_passed = 0, 0, False

        def counted() -> Iterator[Document]:
            nonlocal n_read
            for document in documents:
                n_read += 1
                yield document

        def pack(part: Sequence[Document]) -> list[Segment]:
            segments = self._packer.pack(part)
            return list(segments if again else self._known.early(segments))

        for shard in document_shards(counted(), pack):
            yield shard
            if not shard.is_made:
                any_passed = True
                self._passed_over = max(0, n_read - 1 - self._packer.counts.documents)
        if not again:
            self._known.check()
        if not any_passed and not self._packer.counts.segments:
            raise self._no_input()

    def _read(self) -> tuple[Iterable[Document], bool]:
        """Read the text from its start; return its documents, and True if it was read before."""
        if not self._packer.counts.documents:
            return self._sentences.watch(self.text.read()), False
        self._packer = self._new_packer()
        return self.text.read(), True

    def _new_packer(self) -> Packer:
        return packer_of(self.encoder, self.options, one_stream=self.options.compat is not None)

    def sample(self, most: int, *, changed: Callable[[Document], Document] | None = None) -> list[Segment]:
        """Return a sample of the inputs, spread over the documents; the run's counts do not include them.

        Args:
            most: maximum number of inputs, further limited by the run's own limit.
            changed: function that makes another document from each, for example with its words in another order.
        """
        max_inputs = most if self.options.max_inputs is None else min(most, self.options.max_inputs)
        documents = self.text.read()
        read = documents if changed is None else map(changed, documents)
        return list(self._new_packer().pack(read, max_inputs=max_inputs))

    def short_sentences(self) -> list[Segment]:
        """Return a few short sentences of the text, to draw heads on.

        If the text has no short sentence, return its shortest inputs, few of them if they are long.
        """
        packer = Packer(self.encoder, packing="single", max_length=MOST_TOKENS, too_long="skip")
        sentences = [Document(id=document, lines=lines, whole=True) for document, lines in self._sentences.candidates()]
        if segments := list(packer.pack(sentences)):
            return segments
        most = example_tokens(self._packer.counts.tokens)
        return within_tokens(sorted(self.sample(32), key=len)[:8], most=most)

    def documents_in(self, segments: int) -> int:
        """Return the approximate number of documents of the computed segments, as reading runs ahead of computing."""
        counts = self._packer.counts
        return self._passed_over + counts.documents * segments // max(1, counts.segments)

    def counts(self) -> dict[str, Any]:
        """Return the counts of documents, segments and tokens for the manifest."""
        counts = self._packer.counts
        why = dict(sorted(counts.skipped.items()))
        return {**vars(counts), "skipped": sum(why.values()), "skipped_why": why}

    def check(self, documents: int) -> None:
        """Raise an error if a text with this number of documents makes no input, before the model reads it.

        Raises:
            InputError: each document is a single line, and the packing makes pairs.
        """
        if documents and self._left_out() and self.text.of_one_line == documents:
            packing = self.options.packing
            raise no_input(documents, {NO_PAIR[packing]: documents}, packing=packing)

    def early_notes(self, documents: int) -> list[str]:
        """Return notes on a text with this number of documents that are known before it becomes inputs."""
        if not documents:
            return []
        left_out = self._left_out()
        used = documents - (self.text.of_one_line if left_out else 0)
        return list(filter(None, [left_out, *self._few(used)]))

    def _few(self, documents: int) -> list[str]:
        """Return notes if there are too few documents for intervals."""
        few = too_few(documents)
        lines_help = self.options.documents == UNSET and self.text.lines >= FEWEST_DOCUMENTS
        return [] if few is None else [few, *([BY_LINES] if lines_help else [])]

    def _left_out(self) -> str | None:
        """Return a note on documents left out because a single line makes no pair; None if there are none."""
        number = self.text.of_one_line if self.options.packing in NO_PAIR else 0
        if not number:
            return None
        verb = "is" if number == 1 else "are"
        return (
            f"{count(number, 'document')} of a single line {verb} left out, because a line alone makes no pair; give "
            "--packing single to read each line by itself"
        )

    def notes(self) -> list[str]:
        """Return notes on the inputs for the user; complete after they were read."""
        notes = list(filter(None, [self._left_out()]))
        documents = self._packer.counts.documents_used
        # A resumed run learns this last: before the scan nothing has been used.
        if documents:
            notes += self._few(documents)
        return notes + self._known.notes()

    def _no_input(self) -> InputError:
        counts = self._packer.counts
        return no_input(counts.documents, counts.skipped, packing=self.options.packing)
