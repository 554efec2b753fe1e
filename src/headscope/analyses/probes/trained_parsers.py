"""Probes under way: which are trained together, on which model, and what each answers on dev."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.probes.data.batches import ProbeData
from headscope.analyses.probes.data.shards import WordMaps
from headscope.analyses.probes.head_weights import attention_weights, mean_word_weights, weight_rows
from headscope.analyses.probes.names import ATTENTION, ATTENTION_WORDS, DISTANCES_WORDS, RIGHT_BRANCHING
from headscope.analyses.probes.parsers.attention_probe import AttentionProbe, AttentionWordsProbe
from headscope.analyses.probes.parsers.decoding import right_branching
from headscope.analyses.probes.parsers.distance_probe import DistanceWordsProbe
from headscope.analyses.probes.parsers.label_probe import LabelProbe, root_label
from headscope.analyses.probes.parsers.learner import ArcProbe, Learner
from headscope.analyses.probes.parsers.parses import ArcAnswers, answer
from headscope.analyses.probes.score_rows import GoldWords, ProbeAnswers
from headscope.analyses.probes.training.attention_fit import FitOptions, Fitted, fit_attention
from headscope.analyses.probes.training.train import Record, TrainingOptions, hold_out, train
from headscope.analyses.probes.treebanks import ProbeBench

# Whose answers are decoded into trees too, of the first seed: networkx takes some 20 ms a sentence.
_TREES = {ATTENTION_WORDS: (0,)}
_WEIGHTS_AT_ONCE = {"cpu": 1 << 23, "cuda": 1 << 27, "mps": 1 << 25}


class ProbeStage:
    """Trains probes and keeps what they answer; call the methods that are wanted, in any order.

    Args:
        bench: the treebanks and the model.

    Attributes:
        gold: the words of dev.
        found: what each probe got right.
        weights: rows of `probe_weights`.
        records: what became of each probe in training.
        fits: the same of the probes over attention alone, which are fitted.
        device: where probes are trained: where the model is.
    """

    def __init__(self, bench: ProbeBench) -> None:
        self.bench = bench
        options = bench.run.options
        self.device = next(bench.run.loaded.model.parameters()).device
        at_once = _WEIGHTS_AT_ONCE.get(self.device.type, 1 << 23)
        self.how = TrainingOptions.of(len(bench.train.numbers), weights=at_once, seed=options.seed)
        self.seeds = [options.seed + number for number in range(options.seeds)]
        self.gold = GoldWords.of(bench.dev.read)
        documents = [sentence.document for sentence in bench.train.sentences]
        self.held_out = np.stack([hold_out(documents, seed=seed) for seed in self.seeds])
        self.found: list[ProbeAnswers] = []
        self.weights: list[pd.DataFrame] = []
        self.records: dict[str, Record] = {}
        self.fits: dict[str, Fitted] = {}

    def attention(self) -> None:
        """Attention alone, and with words, on the trained model: parsers, their labels, their control task."""
        maps, dev = self.bench.trained()
        runs = range(len(self.seeds))
        alone, words = self._parsers(*self._tasks())
        labels = self._labellers()
        parsers: dict[str, ArcProbe] = {ATTENTION: alone, ATTENTION_WORDS: words}
        learners = {ATTENTION_WORDS: words, **{f"labels, {name}": each for name, each in labels.items()}}
        self._train(learners, maps, "probes")
        self._fit(alone, maps, "probes")
        for name, parser in parsers.items():
            answers = self._answer(parser, dev, labels=labels[name], trees=_TREES.get(name, ()))
            self._add(name, "trained", answers)
        data = self.bench.data(self.bench.dev, None)
        given = mean_word_weights(words, runs, self.bench.dev.read, _chosen(data.words, data))
        self.weights += [
            weight_rows(ATTENTION, attention_weights(alone, runs), self.bench.heads),
            weight_rows(ATTENTION_WORDS, given, self.bench.heads),
        ]

    def distances(self) -> None:
        """Words and distances, which need no more of a model than its vectors."""
        tasks, seeds = self._tasks()
        probe = DistanceWordsProbe(tasks, self.bench.vectors.vectors, seeds=seeds)
        self._train({DISTANCES_WORDS: probe}, None, "distance probe")
        self._add(DISTANCES_WORDS, "trained", self._answer(probe, None))

    def controls(self) -> None:
        """The parsers over attention on models with random weights, another model for every seed."""
        found: dict[str, list[ArcAnswers]] = {ATTENTION: [], ATTENTION_WORDS: []}
        for number, seed in enumerate(self.seeds):
            with self.bench.control(number) as (maps, dev):
                alone, words = self._parsers([0], [seed])
                what, held_out = f"probes on random weights {number + 1}", self.held_out[number : number + 1]
                self._train({ATTENTION_WORDS: words}, maps, what, held_out=held_out)
                self._fit(alone, maps, what, held_out=held_out)
                for name, parser in ((ATTENTION, alone), (ATTENTION_WORDS, words)):
                    found[name].append(self._answer(parser, dev))
        for name, several in found.items():
            lines = {
                key: np.concatenate([getattr(each, key) for each in several]) for key in vars(several[0])
            }
            self._add(name, "control", ArcAnswers(**lines))

    def right_branching(self) -> None:
        """The tree in which every word's head is the next; the last word's is the root."""
        heads = np.concatenate([right_branching(len(sentence)) for sentence in self.bench.dev.read])
        right = (heads == self.gold.heads)[None].astype(np.float64)
        self.found.append(ProbeAnswers(RIGHT_BRANCHING, "trained", None, {"UAS": right}, seeded=False))

    def _tasks(self) -> tuple[list[int], list[int]]:
        """Tasks and seeds of runs: every seed at the tree, then the first at the control task, which is dear."""
        return [*(0 for _ in self.seeds), 1], [*self.seeds, self.seeds[0]]

    def _parsers(
        self, tasks: Sequence[int], seeds: Sequence[int]
    ) -> tuple[AttentionProbe, AttentionWordsProbe]:
        width, special = len(self.bench.heads), self.bench.run.encoder.special_tokens_single > 0
        return (
            AttentionProbe(tasks, width, special=special, seeds=seeds),
            AttentionWordsProbe(tasks, width, self.bench.vectors.vectors, special=special, seeds=seeds),
        )

    def _labellers(self) -> dict[str, LabelProbe]:
        seen = {ATTENTION: None, ATTENTION_WORDS: self.bench.vectors.vectors}
        width, labels = len(self.bench.heads), len(self.bench.labels)
        return {
            name: LabelProbe(len(self.seeds), width, labels, vectors, seeds=self.seeds)
            for name, vectors in seen.items()
        }

    def _train(
        self,
        learners: Mapping[str, Learner],
        maps: WordMaps | None,
        what: str,
        *,
        held_out: NDArray[np.bool_] | None = None,
    ) -> None:
        total = len(self.bench.train.numbers)
        records = train(
            learners,
            self.bench.data(self.bench.train, maps),
            self.held_out if held_out is None else held_out,
            options=self.how,
            device=self.device,
            progress=lambda epoch, done: self.bench.tell(f"{what}, epoch {epoch + 1}", done, total),
        )
        self.records |= {f"{what}: {name}": record for name, record in records.items()}

    def _fit(
        self,
        probe: AttentionProbe,
        maps: WordMaps,
        what: str,
        *,
        held_out: NDArray[np.bool_] | None = None,
    ) -> None:
        total = len(self.bench.train.numbers)
        self.fits[f"{what}: {ATTENTION}"] = fit_attention(
            probe,
            self.bench.data(self.bench.train, maps),
            self.held_out if held_out is None else held_out,
            options=FitOptions(weights=self.how.weights, seed=self.how.seed),
            device=self.device,
            progress=lambda number, done: self.bench.tell(
                f"{what}, {ATTENTION} alone, pass {number + 1}", done, total
            ),
        )

    def unsettled(self) -> list[str]:
        """Name the probes of which a run's loss was still falling when its passes were over."""
        every: dict[str, Record | Fitted] = {**self.records, **self.fits}
        return [name for name, each in every.items() if not each.settled.all()]

    def _answer(
        self,
        probe: ArcProbe,
        maps: WordMaps | None,
        *,
        labels: LabelProbe | None = None,
        trees: Sequence[int] = (),
    ) -> ArcAnswers:
        return answer(
            probe,
            self.bench.data(self.bench.dev, maps),
            labels=labels,
            trees=trees,
            weights=self.how.weights,
            device=self.device,
        )

    def _add(self, name: str, model: str, answers: ArcAnswers) -> None:
        """Compare answers with the gold trees and, where a run had the control task, with that."""
        runs = len(self.seeds)
        found: dict[str, NDArray[np.bool_]] = {"UAS": answers.heads[:runs] == self.gold.heads}
        if len(answers.trees):
            found["UAS tree"] = answers.trees == self.gold.heads
        if len(answers.labels):
            found["LAS"] = found["UAS"] & (self._labels(answers) == self._gold_labels())
        right = {measure: value.astype(np.float64) for measure, value in found.items()}
        if len(answers.heads) > runs:
            right["control accuracy"] = (answers.heads[runs:] == answers.targets[runs:]).astype(np.float64)
            right["selectivity"] = right["UAS"][:1] - right["control accuracy"]
        vectors = None if name == ATTENTION else self.bench.vectors.name
        self.found.append(ProbeAnswers(name, model, vectors, right))

    def _labels(self, answers: ArcAnswers) -> NDArray[np.int64]:
        """The label of each chosen arc; those from the root bear the one that most such arcs of train do."""
        usual = root_label(
            (name for s in self.bench.train.read for name in s.relations),
            (int(head) for s in self.bench.train.read for head in s.heads),
        )
        root = answers.heads[: len(answers.labels)] == 0
        return np.where(root, self.bench.labels.index(usual), answers.labels)

    def _gold_labels(self) -> NDArray[np.int64]:
        data = self.bench.data(self.bench.dev, None)
        return np.concatenate(list(_chosen(data.labels, data)))


def _chosen(rows: Sequence[NDArray[np.int64]], data: ProbeData) -> Iterable[NDArray[np.int64]]:
    return [rows[number] for number in data.numbers.tolist()]
