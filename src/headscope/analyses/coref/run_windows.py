"""The windows of a run's coreference corpus, with their mentions, and a scan corpus of these windows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headscope.analyses.coref.mention_windows import MentionCounts, coreference_segments
from headscope.attention.model.model_source import TileSource
from headscope.encoding.packing.max_inputs import draw_inputs
from headscope.encoding.segment import Segment
from headscope.prepare.model_run import ModelRun
from headscope.scans.scan_declaration import ScanCorpus


class WindowReader:
    """Cuts the windows of a run's coreference corpus, as often as they are needed.

    Args:
        run: run with such a corpus.
    """

    def __init__(self, run: ModelRun) -> None:
        assert run.corpora.coreference is not None
        self.run, self.corpus = run, run.corpora.coreference
        self._drawn: dict[int, frozenset[tuple[str, int]]] = {}

    def segments(self, counts: MentionCounts, *, max_length: int | None = None) -> Iterator[Segment]:
        """Yield the windows in which a mention is scored, or a random draw of them if inputs are limited.

        Args:
            counts: counts of documents and mentions to fill.
            max_length: largest number of tokens in a window; the run's when None.
        """
        options, length = self.run.options, max_length or self.run.options.max_length

        how: dict[str, Any] = {"first_only": options.windows == "first", "singletons": options.singletons}

        def cut(**more: Any) -> Iterator[Segment]:
            return coreference_segments(self.corpus.read(), self.run.encoder, max_length=length, **how, **more)

        if options.max_inputs is None:
            return cut(counts=counts)
        # The draw is made once, for the trained model and all controls.
        if length not in self._drawn:
            windows = [(segment.document, segment.index) for segment in cut()]
            self._drawn[length] = draw_inputs(windows, limit=options.max_inputs, seed=options.seed)
        return cut(counts=counts, drawn=self._drawn[length])

    def source(self) -> TileSource:
        """Return the stream of tiles over all windows."""
        return self.run.over(self.segments(MentionCounts()))


@dataclass(frozen=True)
class MentionWindows(ScanCorpus):
    """The windows of a coreference corpus as the corpus of a scan.

    Attributes:
        windows: reader of the corpus's windows.
        read: function that opens the stream of their tiles.
    """

    windows: WindowReader
    read: Callable[[], TileSource]

    def source(self) -> TileSource:
        """Return the stream of tiles."""
        return self.read()

    def documents_read(self, inputs: int) -> int:
        """Return the approximate number of documents in a number of windows."""
        corpus = self.windows.corpus
        # The estimate of the number of windows follows from the number of words.
        windows = max(1, corpus.words * 4 // (3 * self.windows.run.options.max_length))
        return min(corpus.documents, corpus.documents * inputs // windows)

    @property
    def total(self) -> int:
        """Number of documents."""
        return self.windows.corpus.documents

    @property
    def limit(self) -> int | None:
        """Largest number of windows."""
        return self.windows.run.options.max_inputs
