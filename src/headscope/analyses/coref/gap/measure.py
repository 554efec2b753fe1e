"""The stage on GAP: the accuracy of heads in resolving a pronoun to one of two names."""

from collections.abc import Iterator
from typing import Any

from headscope.analyses.coref.gap.accumulator import GapAccumulator
from headscope.analyses.coref.gap.gap_segments import GapCounts, gap_segments
from headscope.analyses.coref.result_tables import gap_table
from headscope.analyses.measurement import Measurement
from headscope.analyses.stage_result import StageResult
from headscope.attention.model.model_source import TileSource
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.prepare.model_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanCorpus, ScanSums


class GapRows(ScanCorpus):
    """The rows of GAP given to a run.

    Args:
        run: a `ModelRun` with GAP files.

    Attributes:
        rows: the files.
        counts, known: counts of used and lost rows, and unknown tokens in them; filled as rows are read.
    """

    def __init__(self, run: ModelRun) -> None:
        assert run.corpora.gap is not None
        self.run, self.rows = run, run.corpora.gap
        self.counts, self.known = GapCounts(), KnownPieces(run.encoder, "GAP")

    def source(self) -> TileSource:
        """Return the stream of tiles over the rows."""
        options = self.run.options
        segments = gap_segments(
            self.rows.read(limit=options.max_inputs, seed=options.seed),
            self.run.encoder,
            max_length=options.max_length,
            counts=self.counts,
        )
        return self.run.over(self.known.watch(segments))

    def documents_read(self, inputs: int) -> int:
        """Return the number of rows: each is an input."""
        return inputs

    @property
    def limit(self) -> int | None:
        """The largest number of rows."""
        return self.run.options.max_inputs


class GapMeasurement(Measurement[ModelRun]):
    """The accuracy with which every head resolves the pronoun of a row of GAP, by gender."""

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        self.corpus = GapRows(run)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the rows."""
        yield Scan(self.corpus, [GapAccumulator(self.run.layout, pooling=self.run.options.pooling)], label="GAP")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the table.

        Raises:
            InputError: no row fits into an input.
        """
        counts, name, heads = self.corpus.counts, self.corpus.rows.name, sums.of(GapAccumulator)
        if not counts.used:
            raise InputError(f"no row of {name} fits into --max-length {self.run.options.max_length} tokens; raise it")
        facts = {
            "name": name,
            "kinds": [part.kind for part in heads.layout],
            **{key: getattr(counts, key) for key in ("rows", "used", "shortened")},
            "lost": dict(sorted(counts.lost.items())),
        }
        return StageResult(
            name="gap",
            tables={"gap": gap_table(heads.compute(), seed=self.run.options.seed)},
            facts={"gap": facts},
            notes=tuple(filter(None, [self.corpus.known.note()])),
            state=heads.state(),
        )
