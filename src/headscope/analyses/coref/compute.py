"""The stages of section 4.3: which head finds antecedents, and which of two names in a row of GAP."""

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import islice
from typing import Any

import pandas as pd

from headscope.analyses.coref.gap import GapAccumulator, GapCounts, gap_segments
from headscope.analyses.coref.head_words import rule_agreement
from headscope.analyses.coref.mentions import coreference_questions
from headscope.analyses.coref.sums import CoreferenceAccumulator
from headscope.analyses.coref.tables import CoreferenceResult, gap_table
from headscope.analyses.coref.windows import MentionCounts, MentionWindows
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.attention.model.model_source import TileSource
from headscope.corpora.annotation import unmatched_line
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.scans.examples.arc_examples import FEWEST_WORDS, MOST_WORDS, ArcExamples, WantedHead
from headscope.scans.examples.example_tables import example_inputs
from headscope.scans.passes import collect
from headscope.scans.prepare.drawn_inputs import SegmentCache
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanCorpus, ScanSums
from headscope.statistics.inference.confidence import too_few
from headscope.statistics.sums.control_documents import ControlDocuments
from headscope.visible import count, with_reasons

_EXAMPLE_TOKENS = 28


class CoreferenceMeasurement(Measurement[ModelRun]):
    """The accuracy of every head for antecedents, for the trained model and its controls, with baselines and examples.

    Attributes:
        counts, known: counts of mentions, and unknown tokens; filled while the trained model reads the corpus.
    """

    def __init__(self, run: ModelRun, **more: Any) -> None:
        super().__init__(run, **more)
        self.windows = MentionWindows(run, self._trained)
        self.corpus = self.windows.corpus
        self.counts, self.known = MentionCounts(), KnownPieces(run.encoder, "coreference corpus")
        self._segment_cache = SegmentCache()

    @cached_property
    def control_documents(self) -> ControlDocuments:
        """The documents that controls read."""
        limit, documents = self.run.options.max_inputs, self.corpus.documents
        return ControlDocuments(documents if limit is None else min(documents, limit))

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of the windows by the trained model, and the scans by its controls."""
        controls, options = self.run.controls, self.run.options
        sums = partial(CoreferenceAccumulator, self.run.layout, pooling=options.pooling, strict=options.strict)
        yield Scan(self.windows, [sums()], label="coreference heads")
        for number in range(controls):
            corpus = MentionWindows(self.run, partial(self._control, number))
            yield Scan(corpus, [sums()], f"control-{number}", label=f"coreference, control {number + 1} of {controls}")

    def compute(self, sums: ScanSums) -> StageResult:
        """Return the tables.

        Raises:
            InputError: no mention of the corpus can be scored.
        """
        seed = self.run.options.seed
        if not self.counts.counted.total():
            raise InputError(_nothing(self.corpus.name, self.counts))
        trained = sums.of(CoreferenceAccumulator)
        result = CoreferenceResult(trained.compute(), seed=seed)
        results, gaps = [result], [result.differences()]
        for number in range(self.run.controls):
            control = sums.of(CoreferenceAccumulator, f"control-{number}")
            # The documents of a control may have no scored mention.
            if not len(control.sums):
                continue
            same = self.control_documents.paired(trained, control)
            control_result = CoreferenceResult(control.compute(), model="control", control_seed=number, seed=seed)
            results.append(control_result)
            gaps.append(CoreferenceResult(same.compute(), seed=seed).against(control_result))
        facts = self._facts()
        # One document gives no held-out rows, and an empty table would turn the others' counts into floats.
        nonempty = [gap for gap in gaps if len(gap)]
        brackets = unmatched_line(self.counts.unmatched, self.counts.unmatched_named)
        return StageResult(
            name="coref",
            tables={
                "coref": pd.concat([each.systems() for each in results], ignore_index=True),
                "coref_heads": pd.concat([each.heads() for each in results], ignore_index=True),
                "coref_differences": pd.concat(nonempty or gaps, ignore_index=True),
                "coref_examples": self._examples(result),
            },
            facts={"coreference": facts},
            notes=(
                *notes_on(
                    "coreference",
                    too_few(facts["documents"], here="it has"),
                    brackets if self.counts.unmatched else None,
                ),
                *filter(None, [self.known.note()]),
            ),
            state=trained.state(),
        )

    def _trained(self) -> TileSource:
        """Return the stream of tiles over all windows, by the trained model."""
        return self.run.over(self._segment_cache.watch(self.known.watch(self.windows.segments(self.counts))))

    def _control(self, number: int) -> TileSource:
        """Return the stream of tiles over the windows of a control's documents, by a model with random weights."""
        segments = self._segment_cache.again(lambda: self.windows.segments(MentionCounts()))
        return self.run.over(self.control_documents.segments(segments), control=number)

    def _examples(self, result: CoreferenceResult) -> pd.DataFrame:
        """Return examples of the best head on short windows, which are read in a separate scan."""
        best = result.best()
        wanted = [] if best is None else [WantedHead("coreference", *best, "mention->antecedent")]
        special, pooling = self.run.encoder.vocabulary.special_names, self.run.options.pooling
        empty = partial(ArcExamples, wanted, coreference_questions, special=special, pooling=pooling)
        return (collect(self._short_windows, empty) if wanted else empty()).table()

    def _short_windows(self) -> TileSource:
        """Return the stream of tiles over a few short windows."""
        short = (
            segment
            for segment in self.windows.segments(MentionCounts(), max_length=_EXAMPLE_TOKENS)
            if FEWEST_WORDS <= len(segment.words) <= MOST_WORDS
        )
        most = example_inputs(self.corpus.words // _EXAMPLE_TOKENS)
        return self.run.over(islice(short, most), length=_EXAMPLE_TOKENS)

    def _facts(self) -> dict[str, Any]:
        treebank, counts, trees = self.run.corpora.treebank, self.counts, self.corpus.trees
        # The rule is scored on the run's own trees.
        number, agreement = (0, None) if trees or treebank is None else rule_agreement(treebank.read())
        return {
            "name": self.corpus.name,
            "documents": counts.windows.documents,
            "windows": counts.windows.windows,
            "max_length": self.run.options.max_length,
            **{name: getattr(counts, name) for name in ("mentions", "entities", "singletons", "without_antecedent")},
            "counted": counts.counted.total(),
            "counted_by_type": dict(counts.counted),
            "lost": counts.lost.total(),
            "lost_why": dict(sorted(counts.lost.items())),
            "sentences_cut": counts.windows.sentences_cut,
            "unmatched_brackets": counts.unmatched,
            "unmatched_named": counts.unmatched_named,
            "head_rule": {"from": "trees" if trees else "rule", "n_mentions": number, "agreement": agreement},
            "strict": self.run.options.strict,
        }


def _nothing(name: str, counts: MentionCounts) -> str:
    reasons = with_reasons(counts.lost)
    return (
        f"no mention of {name} can be scored: {count(counts.mentions, 'mention')} in "
        f"{count(counts.windows.documents, 'document')}, "
        f"none with an antecedent in its window ({reasons or 'each entity is mentioned once'}); raise --max-length"
        + (f". {unmatched_line(counts.unmatched, counts.unmatched_named)}" if counts.unmatched else "")
    )


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
