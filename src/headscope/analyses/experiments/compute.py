"""The inputs of the experiments, and their stage: behaviors of every head in each, also with random weights."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from heapq import nsmallest
from random import Random
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import delimiters_of_run
from headscope.analyses.behaviors.compute import model_tables, norm_notes
from headscope.analyses.behaviors.sums import NormBehaviorAccumulator
from headscope.analyses.experiments.sums import CopyAccumulator, RetrievalAccumulator
from headscope.analyses.experiments.tables import EXPERIMENTS, TABLES
from headscope.analyses.measurement import Measurement, StageResult, notes_on
from headscope.corpora.document import Document
from headscope.encoding.encoder import Frame
from headscope.encoding.segment import Segment
from headscope.models.load_model import longest_input
from headscope.scans.prepare.drawn_inputs import DrawnInputs
from headscope.scans.prepare.prepared_run import ModelRun
from headscope.scans.scan_declaration import Scan, ScanSums
from headscope.statistics.sums.groups import group_of

STRETCH = 64
FEWEST_SEQUENCES, SEQUENCES = 16, 32
"""Bounds on the number of sequences, which follows the number of the text's inputs: no experiment should be longer than
the text."""
NEEDLE = 16
NEEDLES = 16
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
LONGEST = 512
"""Tokens of the longest haystack with its needles; the other haystacks have a half and a quarter of this length."""
_FEWEST = 8  # tokens of the shortest stretch that is repeated
_UNUSED = re.compile(r"unused|extra_id|reserved|placeholder", re.IGNORECASE)


def ordinary_ids(tokenizer: Any) -> NDArray[np.int64]:
    """Return the ids of a tokenizer's text tokens, ascending: no special, added or reserved tokens."""
    left_out = {int(token_id) for token_id in tokenizer.all_special_ids}
    left_out |= {int(token_id) for token_id in tokenizer.get_added_vocab().values()}
    named = tokenizer.get_vocab().items()
    ids = {int(number) for token, number in named if not _UNUSED.search(str(token))}
    return np.array(sorted(ids - left_out), dtype=np.int64)


def _segment_with_stretches(
    frame: Frame, ids: NDArray[np.int64], *, document: str, index: int, **stretches: tuple[int, int]
) -> Segment:
    """Make an input of these tokens, and store stretches of them, `(first, stop)`, as positions in the input."""
    offset = len(frame.before)
    fields = {name: (first + offset, stop + offset) for name, (first, stop) in stretches.items()}
    return frame.segment(ids, document=document, index=index, fields=fields)


def repeated_tokens(
    ids: NDArray[np.int64], frame: Frame, *, longest: int, seed: int, number: int = SEQUENCES
) -> list[Segment]:
    """Make sequences of random tokens, in which a stretch of 64 is repeated once; each is a document of its own.

    The field `copy` has the position of the second stretch. Stretches are shorter where the model reads fewer tokens;
    the list is empty where it reads too few, or if `ids` is empty.

    Args:
        ids: ids to draw from with equal probability.
        frame: special tokens around the text.
        longest: largest number of tokens that the model reads.
        seed: seed of the random draws.
        number: number of sequences.
    """
    stretch = min(STRETCH, (longest - len(frame)) // 2)
    if stretch < _FEWEST or not len(ids):
        return []
    draws = np.random.default_rng([seed, 1])
    return [
        _segment_with_stretches(
            frame, np.tile(draws.choice(ids, size=stretch), 2), document=f"random {turn}", index=0,
            copy=(stretch, 2 * stretch),
        )
        for turn in range(number)
    ]  # fmt: skip


def shuffled_words(document: Document, *, seed: int) -> Document:
    """Shuffle the words of each line of a document; the order depends on the seed and the document's id."""
    draws = Random(f"{seed} {document.id}")

    def shuffled(words: Sequence[str]) -> list[str]:
        return draws.sample(list(words), len(words))

    if document.words is not None:
        return replace(document, words=tuple(shuffled(document.words)))
    if document.tokens is not None:  # cut already, with special tokens among them: first and last stay
        first, *inner, last = document.tokens if len(document.tokens) > 2 else ("", "")
        return replace(document, tokens=(first, *shuffled(inner), last)) if inner else document
    return replace(document, lines=tuple(" ".join(shuffled(line.split())) for line in document.lines))


def text_of(segments: Sequence[Segment], special: Sequence[int]) -> dict[str, NDArray[np.int64]]:
    """Return the tokens of each document without special tokens, by the document's id, in the order of the inputs."""
    by_document: dict[str, list[NDArray[np.int64]]] = {}
    for segment in segments:
        by_document.setdefault(segment.document, []).append(segment.ids[~np.isin(segment.ids, special)])
    return {document: np.concatenate(parts) for document, parts in by_document.items()}


def needles(
    text: Mapping[str, NDArray[np.int64]], frame: Frame, *, longest: int, seed: int, number: int = NEEDLES
) -> list[Segment]:
    """Make haystacks with a needle in each, followed by the needle again.

    A needle is a stretch of 16 tokens of a document; the haystack is text of the other documents, with the needle at
    five depths, each in a haystack of one of three lengths in turn. A needle counts as a part of its document. The
    fields `needle` and `copy` have the positions of the needle and its copy.

    Args:
        text: tokens of each document.
        frame: special tokens around the text; those after it are left out, as the model is writing the copy.
        longest: largest number of tokens that the model reads.
        seed: seed of the random draws.
        number: number of needles, taken from the documents in turn.

    Returns:
        The inputs; an empty list where the text is too short, or the model reads too few tokens.
    """
    draws = np.random.default_rng([seed, 2])
    long_enough = [document for document, ids in text.items() if len(ids) >= NEEDLE]
    most = min(longest, LONGEST) - len(frame.before)
    if not long_enough or most < 4 * NEEDLE:
        return []
    order = [long_enough[index] for index in draws.permutation(len(long_enough))]
    start = Frame(frame.before, ())
    segments = []
    for turn in range(number):
        document = order[turn % len(order)]
        ids_of_document = text[document]
        first = int(draws.integers(len(ids_of_document) - NEEDLE + 1))
        needle = ids_of_document[first : first + NEEDLE]
        hay = np.concatenate([ids_of_document[:0], *(ids for name, ids in text.items() if name != document)])
        for index, depth in enumerate(DEPTHS):
            length = most // (1, 2, 4)[(turn + index) % 3] - 2 * NEEDLE
            if length < 1 or not len(hay):
                continue
            at = int(draws.integers(len(hay)))
            around = np.resize(np.roll(hay, -at), length)
            before = round(depth * length)
            ids = np.concatenate([around[:before], needle, around[before:], needle])
            number_of_hay = turn * len(DEPTHS) + index
            places = {"needle": (before, before + NEEDLE), "copy": (length + NEEDLE, length + 2 * NEEDLE)}
            segments.append(_segment_with_stretches(start, ids, document=document, index=number_of_hay, **places))
    return segments


SHUFFLED_INPUTS = 32
CONTROL_DOCUMENTS = 12
"""Number of documents of each experiment that controls read: random weights are near chance, and need no more."""
_HAYSTACK_INPUTS = 256

_SUMS: Mapping[str, Callable[..., NormBehaviorAccumulator]] = {
    "repeated": CopyAccumulator,
    "needle": RetrievalAccumulator,
    "shuffled": NormBehaviorAccumulator,
}


class ExperimentsMeasurement(Measurement[ModelRun]):
    """Runs each experiment that the model allows, with the model and its controls."""

    @cached_property
    def inputs(self) -> dict[str, list[Segment]]:
        """The inputs of each experiment, generated once for all models."""
        return inputs_of(self.run)

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of each experiment for each model; the scan of an experiment without inputs reads nothing."""
        run, delimiters = self.run, delimiters_of_run(self.run)
        for number in _models(run):
            for name, kind in _SUMS.items():
                corpus = DrawnInputs(run, partial(self._inputs, name, number), control=number, fitted=True)
                label = name if number is None else f"{name}: control {number + 1} of {run.controls}"
                yield Scan(corpus, [kind(run.layout, delimiters)], _scan_name(name, number), label=label)

    def compute(self, sums: ScanSums) -> StageResult:
        """Compute the tables of all heads, and of the best head of each behavior."""
        tables: list[list[pd.DataFrame]] = []
        notes = list(_left_out(self.inputs, self.run))
        for number in _models(self.run):
            for name, segments in self.inputs.items():
                if not segments:
                    continue
                filled = sums.of(NormBehaviorAccumulator, _scan_name(name, number))
                if number is None:
                    notes += norm_notes(filled, where=EXPERIMENTS[name].where)
                behaviors, seed = EXPERIMENTS[name].behaviors, self.run.options.seed
                of_experiment = model_tables(filled.compute(), behaviors, number, seed=seed)
                tables.append([table.assign(experiment=name) for table in of_experiment])
        return StageResult(
            name="experiments",
            tables={
                schema.name: pd.concat(parts, ignore_index=True)[schema.names] if parts else schema.frame([])
                for schema, parts in zip(TABLES, zip(*tables) if tables else ((), ()), strict=True)
            },
            facts={"experiments": {name: facts_of(segments) for name, segments in self.inputs.items()}},
            notes=notes_on("experiments", *dict.fromkeys(notes)),
        )

    def _inputs(self, name: str, number: int | None) -> list[Segment]:
        return self.inputs[name] if number is None else control_inputs(self.inputs[name])


def _models(run: ModelRun) -> list[int | None]:
    """Return None, for the trained model, and the seeds of the controls."""
    return [None, *range(run.controls)]


def _scan_name(name: str, number: int | None) -> str:
    """Return the name of an experiment's scan."""
    return name if number is None else f"{name}-control-{number}"


def inputs_of(run: ModelRun) -> dict[str, list[Segment]]:
    """Make the inputs of each experiment; none where the model or the text do not allow it."""
    seed, tokenizer = run.options.seed, run.loaded.tokenizer
    frame, longest = Frame.of(run.encoder), longest_input(run.loaded, run.anatomy)
    shuffled = run.sample(SHUFFLED_INPUTS, changed=lambda document: shuffled_words(document, seed=seed))
    sequences = min(max(len(shuffled), FEWEST_SEQUENCES), SEQUENCES)
    special = [int(token_id) for token_id in tokenizer.all_special_ids]
    needle_inputs: list[Segment] = []
    if causal(run):
        text = text_of(run.sample(_HAYSTACK_INPUTS), special)
        needle_inputs = needles(text, frame, longest=longest, seed=seed)
    return {
        "repeated": repeated_tokens(ordinary_ids(tokenizer), frame, longest=longest, seed=seed, number=sequences),
        "needle": needle_inputs,
        "shuffled": shuffled,
    }


def control_inputs(segments: list[Segment]) -> list[Segment]:
    """Return the inputs of an experiment that controls read: those of 12 documents, drawn by a hash of their ids."""
    documents = {segment.document for segment in segments}
    drawn = set(nsmallest(CONTROL_DOCUMENTS, documents, key=lambda document: (group_of(document), document)))
    return [segment for segment in segments if segment.document in drawn]


def causal(run: ModelRun) -> bool:
    """Return True if the model is a decoder without an encoder."""
    return [part.kind for part in run.layout] == ["decoder"]


def facts_of(segments: list[Segment]) -> dict[str, Any]:
    """Return the manifest's facts on an experiment's inputs."""
    return {
        "inputs": len(segments),
        "documents": len({segment.document for segment in segments}),
        "tokens": sum(map(len, segments)),
        "longest": max(map(len, segments), default=0),
    }


def _left_out(inputs: Mapping[str, list[Segment]], run: ModelRun) -> Iterator[str]:
    """Yield notes on experiments that could not be done, except needles for a model that is not a decoder."""
    if not inputs["repeated"]:
        yield "no random tokens were repeated, for the model reads too little"
    if not inputs["needle"] and causal(run):
        yield "no needle was hidden, for the text is too short or the model reads too little"
