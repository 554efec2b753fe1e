"""The stage of section 5: the scores of classifiers over all heads together, and of those without attention."""

import time
from typing import Any

import pandas as pd

from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.analyses.probes.map_cache import MapCache, cache_folder, cache_limit
from headscope.analyses.probes.score_rows import distance_rows, probe_differences, probe_rows, relation_rows
from headscope.analyses.probes.structural.measure import TRAINING, StructuralTables, Teller, measure_structural
from headscope.analyses.probes.trained_parsers import OVER_MODEL, WITHOUT_ATTENTION, ProbeStage
from headscope.analyses.probes.treebanks import USUAL_LENGTH, ProbeBench, ProbeTreebank
from headscope.attention.word_rows import word_states
from headscope.encoding.batching import length_buckets
from headscope.scans.prepare.input_sizes import auto_batch_size
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.prepare.run_corpora import overlap_facts, overlap_line
from headscope.scans.progress import Progress, Watcher
from headscope.scans.scan_declaration import ScanSums
from headscope.statistics.inference.confidence import too_few
from headscope.visible import count


class ProbesMeasurement(Measurement[ModelRun]):
    """Probes trained on one treebank and scored on another, with their controls; it trains, and declares no scan.

    Args:
        run: a `ModelRun` with `treebank_train` and `treebank`.
        cache: cache for attention on disk; `cache_folder` within `cache_limit` when None.
        **more: as in `Measurement`.
    """

    def __init__(self, run: ModelRun, *, cache: MapCache | None = None, **more: Any) -> None:
        super().__init__(run, **more)
        self.cache = cache

    def compute(self, sums: ScanSums) -> StageResult:
        """Train the probes and return their tables.

        Raises:
            InputError: a treebank to train on is missing, or one of the treebanks has no tree.
            OutputError: the attention of the treebanks does not fit on the disk.
        """
        tell = _teller(self.watch)
        bench = ProbeBench(self.run, self.cache or MapCache(cache_folder(), gib=cache_limit()), tell)
        stage = ProbeStage(bench)
        stage.on_trained(attention=True)
        stage.on_trained(attention=False)
        stage.controls()
        stage.right_branching()
        structural = _structural(self.run, stage, tell)
        tables = {
            "probes": [*(probe_rows(each, stage.gold) for each in stage.answers), structural.probes],
            "probe_differences": [probe_differences(stage.answers, stage.gold), structural.difference],
            "probe_relations": [relation_rows(each, stage.gold) for each in stage.answers],
            "probe_by_distance": [distance_rows(each, stage.gold) for each in stage.answers],
            "probe_weights": stage.weights,
            "probe_layers": [structural.layers],
        }
        train, dev = ([sentence.words for sentence in bank.read] for bank in (bench.train, bench.dev))
        overlap = overlap_facts(train, dev, bench.shared)
        facts = {
            "vectors": bench.vectors.name,
            "seeds": self.run.options.seeds,
            "train": _facts(bench.train),
            "dev": _facts(bench.dev),
            "overlap": overlap,
            "epochs": {name: record.best.tolist() for name, record in stage.records.items()},
            # the loss of each run and its distance from the optimum, in nats a word
            "fits": {
                name: {"loss": fit.loss.tolist(), "gap": fit.gap.tolist(), "passes": fit.passes}
                for name, fit in stage.fits.items()
            },
            "structural": structural.facts,
        }
        return StageResult(
            name="probes",
            tables={name: pd.concat(rows, ignore_index=True) for name, rows in tables.items()},
            facts={"probes": facts},
            notes=(*_notes(bench, overlap), *_unsettled(stage, structural)),
        )


def _structural(run: ModelRun, stage: ProbeStage, tell: Teller) -> StructuralTables:
    bench = stage.bench
    size = run.options.batch_size or auto_batch_size(USUAL_LENGTH, run.anatomy, run.loaded)
    return measure_structural(
        lambda segments: word_states(
            run.loaded.model, run.anatomy, run.encoder.vocabulary, length_buckets(segments, batch_size=size)
        ),
        train=bench.train.segments,
        dev=bench.dev.segments,
        words=sum(len(sentence) for sentence in bench.train.read),
        seeds=run.options.seeds,
        seed=run.options.seed,
        device=stage.device,
        tell=tell,
    )


def _teller(watch: Watcher | None) -> Teller:
    """Convert (done, total) into a run's progress, with a clock for each label."""
    began: dict[str, float] = {}

    def tell(what: str, done: int, total: int | None) -> None:
        if watch is not None:
            since = began.setdefault(what, time.perf_counter())
            unit = "probes" if what == TRAINING else "sentences"
            watch(Progress(what, 0, None, done, total, time.perf_counter() - since, unit))

    return tell


def _facts(bank: ProbeTreebank) -> dict[str, Any]:
    return {
        "name": bank.name,
        "documents": len({sentence.document for sentence in bank.sentences}),
        "sentences": len(bank.numbers),
        "words": sum(len(sentence) for sentence in bank.read),
        "left_out": len(bank.sentences) - len(bank.numbers),
    }


def _unsettled(stage: ProbeStage, structural: StructuralTables) -> tuple[str, ...]:
    """Return a note on each probe that may not have converged: the loss of a run was still falling at the end."""
    settled = {name: each.settled.all() for name, each in (stage.records | stage.fits).items()}
    settled[TRAINING] = structural.facts["settled"]
    unsettled = [name for name, is_settled in settled.items() if not is_settled]
    names = [name.removeprefix(f"{OVER_MODEL}: ").removeprefix(f"{WITHOUT_ATTENTION}: ") for name in unsettled]
    return notes_on("probes", *(f"{name}: its loss was not seen to settle; more may be found" for name in names))


def _notes(bench: ProbeBench, overlap: dict[str, Any]) -> tuple[str, ...]:
    notes = [overlap_line(overlap) if overlap["sentences"] else None]
    for name, bank in (("train", bench.train), ("dev", bench.dev)):
        if left := len(bank.sentences) - len(bank.numbers):
            notes.append(
                f"{left:,} of {count(len(bank.sentences), 'sentence')} of {name} "
                f"{'was' if left == 1 else 'were'} left out (over the limit)"
            )
        if unknown := bank.known.note():
            notes.append(f"{name}: {unknown}")
    notes.append(too_few(len({sentence.document for sentence in bench.dev.read}), here="dev has"))
    if len({sentence.document for sentence in bench.train.read}) < 2:
        notes.append("train is one document; sentences of it were held out in place of documents")
    return notes_on("probes", *notes)
