"""The training of all probes: the groups of probes that train together on a model, and their answers on dev."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.probes.map_cache import WordMaps
from headscope.analyses.probes.parsers.attention_fit import FitOptions, Fitted, fit_attention
from headscope.analyses.probes.parsers.attention_probes import AttentionProbe
from headscope.analyses.probes.parsers.decoding import ArcAnswers, LabelProbe, answer, right_branching, root_label
from headscope.analyses.probes.parsers.learner import ArcProbe, Learner, ProbeInputs
from headscope.analyses.probes.parsers.probe_training import Record, TrainingOptions, hold_out, train
from headscope.analyses.probes.score_rows import GoldWords, ProbeAnswers, gold_arcs, weight_rows
from headscope.analyses.probes.tables import PARSERS, RIGHT_BRANCHING
from headscope.analyses.probes.tree_sentences import numbered
from headscope.analyses.probes.treebanks import ProbeBench
from headscope.models.placement import device_of

# Labels of the progress, for probes on the trained model and for probes without a model.
OVER_MODEL, WITHOUT_ATTENTION = "probes", "probes without attention"
_WEIGHTS_AT_ONCE = {"cpu": 1 << 23, "cuda": 1 << 27, "mps": 1 << 25}


class ProbeStage:
    """Trains probes and keeps their answers; the methods may be called in any order.

    Args:
        bench: the treebanks and the model.

    Attributes:
        gold: the words of dev.
        answers: the right answers of each probe.
        weights: rows of `probe_weights`.
        records: training record of each probe.
        fits: the same for the probes over attention alone, which are fitted.
        device: device on which probes are trained: that of the model.
    """

    def __init__(self, bench: ProbeBench) -> None:
        self.bench = bench
        options = bench.run.options
        self.device = device_of(bench.run.loaded.model)
        at_once = _WEIGHTS_AT_ONCE.get(self.device.type, 1 << 23)
        self.training_options = TrainingOptions.of(len(bench.train.numbers), weights=at_once, seed=options.seed)
        self.seeds = [options.seed + number for number in range(options.seeds)]
        self.gold = GoldWords.of(bench.dev.read)
        documents = [sentence.document for sentence in bench.train.sentences]
        self.held_out = np.stack([hold_out(documents, seed=seed) for seed in self.seeds])
        self.answers: list[ProbeAnswers] = []
        self.weights: list[pd.DataFrame] = []
        self.records: dict[str, Record] = {}
        self.fits: dict[str, Fitted] = {}

    def on_trained(self, *, attention: bool) -> None:
        """Train the probes on the trained model: those that read attention, or those that read only its word vectors.

        Parsers, their labels, their control task: every seed is trained on the tree, only the first on the control
        task, because it is expensive.
        """
        maps, dev = self.bench.trained() if attention else (None, None)
        parsers = self._parsers([*(0 for _ in self.seeds), 1], [*self.seeds, self.seeds[0]], attention=attention)
        labels = {each.name: self._labeller(each) for each in parsers if each.labeled}
        what = OVER_MODEL if attention else WITHOUT_ATTENTION
        self._learn(parsers, maps, what, others={f"labels, {name}": each for name, each in labels.items()})
        for each in parsers:
            self._add(type(each), "trained", self._answer(each, dev, labels=labels.get(each.name)))
        dev_words = numbered(self.bench.dev.read, self.bench.vectors.words)
        arcs = gold_arcs(self.bench.dev.read, dev_words)
        for each in parsers:
            if (weights := each.head_weights(range(len(self.seeds)), arcs)) is not None:
                self.weights.append(weight_rows(each.name, weights, self.bench.heads))

    def controls(self) -> None:
        """Train the parsers over attention on models with random weights, another model for every seed."""
        answers: dict[type[ArcProbe], list[ArcAnswers]] = {}
        for number, seed in enumerate(self.seeds):
            with self.bench.control(number) as (maps, dev):
                parsers = [each for each in self._parsers([0], [seed], attention=True) if each.control is not None]
                what, held_out = f"probes on random weights {number + 1}", self.held_out[number : number + 1]
                self._learn(parsers, maps, what, held_out=held_out)
                for each in parsers:
                    answers.setdefault(type(each), []).append(self._answer(each, dev, trees=False))
        for probe, several in answers.items():
            lines = {key: np.concatenate([getattr(each, key) for each in several]) for key in vars(several[0])}
            self._add(probe, "control", ArcAnswers(**lines))

    def right_branching(self) -> None:
        """Score the tree in which the head of every word is the next word, and the last word is the root."""
        heads = np.concatenate([right_branching(len(sentence)) for sentence in self.bench.dev.read])
        right = (heads == self.gold.heads)[None].astype(np.float64)
        self.answers.append(ProbeAnswers(RIGHT_BRANCHING, "trained", None, {"UAS": right}, seeded=False))

    def _parsers(self, tasks: Sequence[int], seeds: Sequence[int], *, attention: bool) -> list[ArcProbe]:
        inputs = ProbeInputs(
            heads=len(self.bench.heads),
            vectors=self.bench.vectors.vectors,
            special=self.bench.run.encoder.special_tokens_single > 0,
        )
        wanted = [probe for probe in PARSERS if probe.reads_attention == attention]
        return [probe.of(inputs, tasks, seeds=seeds) for probe in wanted]

    def _labeller(self, probe: ArcProbe) -> LabelProbe:
        """Return a probe that labels arcs and sees the same inputs as a parser."""
        vectors = self.bench.vectors.vectors if probe.reads_words else None
        width, labels = len(self.bench.heads), len(self.bench.labels)
        return LabelProbe(len(self.seeds), width, labels, vectors, seeds=self.seeds)

    def _learn(
        self,
        parsers: Sequence[ArcProbe],
        maps: WordMaps | None,
        what: str,
        *,
        others: Mapping[str, Learner] | None = None,
        held_out: NDArray[np.bool_] | None = None,
    ) -> None:
        """Train parsers and other probes side by side; the probe over attention alone is fitted to its optimum."""
        data, options = self.bench.data(self.bench.train, maps), self.training_options
        held_out = self.held_out if held_out is None else held_out
        fitted = [each for each in parsers if isinstance(each, AttentionProbe)]
        learners = {each.name: each for each in parsers if each not in fitted} | dict(others or {})
        if learners:
            tell = partial(self._tell, f"{what}, epoch")
            records = train(learners, data, held_out, options=options, device=self.device, progress=tell)
            self.records |= {f"{what}: {name}": record for name, record in records.items()}
        fit_options = FitOptions(weights=options.weights, seed=options.seed)
        for probe in fitted:
            tell = partial(self._tell, f"{what}, {probe.name} alone, pass")
            fit = fit_attention(probe, data, held_out, options=fit_options, device=self.device, progress=tell)
            self.fits[f"{what}: {probe.name}"] = fit

    def _tell(self, what: str, number: int, done: int) -> None:
        self.bench.tell(f"{what} {number + 1}", done, len(self.bench.train.numbers))

    def _answer(
        self, probe: ArcProbe, maps: WordMaps | None, *, labels: LabelProbe | None = None, trees: bool = True
    ) -> ArcAnswers:
        return answer(
            probe,
            self.bench.data(self.bench.dev, maps),
            labels=labels,
            trees=probe.tree_seeds if trees else (),
            weights=self.training_options.weights,
            device=self.device,
        )

    def _add(self, probe: type[ArcProbe], model: str, answers: ArcAnswers) -> None:
        """Compare answers with the gold trees and, for runs on the control task, with its targets."""
        runs = len(self.seeds)
        right_words: dict[str, NDArray[np.bool_]] = {"UAS": answers.heads[:runs] == self.gold.heads}
        if len(answers.trees):
            right_words["UAS tree"] = answers.trees == self.gold.heads
        if len(answers.labels):
            gold_labels = np.concatenate(numbered(self.bench.dev.read, self.bench.labels, relations=True))
            right_words["LAS"] = right_words["UAS"] & (self._labels(answers) == gold_labels)
        right = {measure: value.astype(np.float64) for measure, value in right_words.items()}
        if len(answers.heads) > runs:
            right["control accuracy"] = (answers.heads[runs:] == answers.targets[runs:]).astype(np.float64)
            right["selectivity"] = right["UAS"][:1] - right["control accuracy"]
        vectors = self.bench.vectors.name if probe.reads_words else None
        self.answers.append(ProbeAnswers(probe.name, model, vectors, right))

    def _labels(self, answers: ArcAnswers) -> NDArray[np.int64]:
        """Return the label of each chosen arc; arcs from the root get the most frequent label of such arcs in train."""
        usual = root_label(
            (name for s in self.bench.train.read for name in s.relations),
            (int(head) for s in self.bench.train.read for head in s.heads),
        )
        root = answers.heads[: len(answers.labels)] == 0
        return np.where(root, self.bench.labels.index(usual), answers.labels)
