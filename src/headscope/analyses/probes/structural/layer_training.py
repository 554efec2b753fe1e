"""Training the structural probe: a linear map under which squared distances between words are those in the tree.

After Hewitt and Manning 2019, "A Structural Probe for Finding Syntax in Word Representations", section 2: squared
distance of B h, the L1 loss over the square of the sentence's length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.parsers.probe_training import Falling, Plateau
from headscope.analyses.probes.structural.state_store import StateStore, StoredSentence
from headscope.analyses.probes.structural.tree_scores import tree_distances

MOST_RANK = 128
_WINDOW = 32  # batches' worth of sentences that are sorted by length together
_TYPICAL = 5.0  # arcs between two words of a sentence; the first predictions are about this large


@dataclass(frozen=True, kw_only=True)
class StructuralOptions:
    """Options for the training of the probe.

    Attributes:
        rank: largest rank of the map; never more than the vectors' width.
        batch_size: sentences in a step.
        rate: initial learning rate of Adam.
        falling: schedule by which the rate falls, from the loss on the held-out sentences after each round.
        rounds: largest number of rounds; a round goes through all sentences once, and through few sentences more often.
        least_steps: smallest number of steps in a round.
    """

    rank: int = MOST_RANK
    batch_size: int = 64
    rate: float = 0.001
    falling: Falling = field(default_factory=Falling)
    rounds: int = 60
    least_steps: int = 100


@dataclass(frozen=True, eq=False)
class StructuralProbe:
    """A trained probe.

    Attributes:
        projection: B, `[width, rank]`.
        loss: loss on the held-out sentences.
        rounds: number of rounds of training, including those without progress.
        settled: True if the loss had stopped falling by then.
    """

    projection: Tensor
    loss: float
    rounds: int
    settled: bool

    def distances(self, vectors: NDArray[np.float16]) -> NDArray[np.float32]:
        """Return the squared distances between the words of sentences of one length, `[sentence, word, word]`.

        Args:
            vectors: vectors as the store returns them, `[sentence, word, width]`.
        """
        batch = torch.from_numpy(vectors.astype(np.float32)).to(self.projection.device)
        distances: NDArray[np.float32] = squared_distances(batch, self.projection).cpu().numpy()
        return distances


def squared_distances(vectors: Tensor, projection: Tensor) -> Tensor:
    """Return |B h_i - B h_j|^2, `[batch, word, word]`.

    Args:
        vectors: `[batch, word, width]`.
        projection: B, `[width, rank]`.
    """
    mapped = vectors @ projection
    square = (mapped * mapped).sum(-1)
    # Without the differences of all pairs in memory; rounding may fall below zero.
    return (square[:, :, None] + square[:, None] - 2 * mapped @ mapped.transpose(1, 2)).clamp(min=0)


def structural_loss(predicted: Tensor, gold: Tensor, known: Tensor) -> Tensor:
    """Return the loss: |predicted - gold| summed over pairs, over the sentence's length squared, mean of sentences.

    Args:
        predicted: `[batch, word, word]`.
        gold: arcs between words, `[batch, word, word]`.
        known: False for padding and for words without a vector, `[batch, word]`.
    """
    pairs = known[:, :, None] & known[:, None]
    off = ((predicted - gold).abs() * pairs).sum((1, 2))
    return (off / known.sum(1).clamp(min=1).square()).mean()


class SentenceBatches:
    """Padded batches of stored sentences of similar length, with the distances in their trees.

    Args:
        sentences: sentences to iterate over; gold distances are kept in memory, 2 bytes a pair of words.
        batch_size: sentences in a batch.
    """

    def __init__(self, sentences: Sequence[StoredSentence], *, batch_size: int) -> None:
        self.sentences = list(sentences)
        self.batch_size = batch_size
        self._gold = [tree_distances(sentence.heads).astype(np.int16) for sentence in self.sentences]

    def of(
        self, vectors: NDArray[np.float16], *, shuffle: np.random.Generator | None = None
    ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield (vectors `[batch, word, width]`, gold `[batch, word, word]`, known `[batch, word]`).

        Args:
            vectors: vectors of one layer, as the store maps them.
            shuffle: generator that draws the order; the order of the corpus when None.
        """
        for group in self._groups(shuffle):
            sentences = [self.sentences[index] for index in group]
            longest = max(map(len, sentences))
            rows = np.zeros((len(sentences), longest), dtype=np.int64)
            known = np.zeros((len(sentences), longest), dtype=bool)
            gold = np.zeros((len(sentences), longest, longest), dtype=np.float32)
            for item, (index, sentence) in enumerate(zip(group, sentences)):
                rows[item, : len(sentence)] = np.arange(sentence.start, sentence.start + len(sentence))
                rows[item, len(sentence) :] = sentence.start  # any row: padding is not known
                known[item, : len(sentence)] = sentence.known
                gold[item, : len(sentence), : len(sentence)] = self._gold[index]
            yield torch.from_numpy(vectors[rows]).float(), torch.from_numpy(gold), torch.from_numpy(known)

    def _groups(self, shuffle: np.random.Generator | None) -> list[list[int]]:
        number = len(self.sentences)
        order = np.arange(number) if shuffle is None else shuffle.permutation(number)
        window = _WINDOW * self.batch_size
        groups = []
        for start in range(0, number, window):
            near = sorted(order[start : start + window].tolist(), key=lambda index: len(self.sentences[index]))
            groups += [near[at : at + self.batch_size] for at in range(0, len(near), self.batch_size)]
        if shuffle is not None:
            groups = [groups[index] for index in shuffle.permutation(len(groups))]
        return groups


def train_structural(
    store: StateStore,
    layer: int,
    *,
    batches: SentenceBatches,
    held_out: SentenceBatches,
    seed: int = 0,
    options: StructuralOptions | None = None,
    device: torch.device | str = "cpu",
) -> StructuralProbe:
    """Train the probe on one layer until its loss on the held-out sentences has stopped falling at the lowest rate.

    The round whose mean projection was best on them is kept.

    Args:
        store: the vectors.
        layer: index of the layer; 0 is the embeddings.
        batches: sentences to train on.
        held_out: sentences that decide when to stop.
        seed: seed of the initial projection and of the order of batches.
        options: see `StructuralOptions`.
        device: device to compute on.
    """
    settings = options or StructuralOptions()
    vectors, rank = store.layer(layer), min(settings.rank, store.width)
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(store.width, rank, generator=generator) * (_TYPICAL / (2 * store.width * rank)) ** 0.5
    projection = first.to(device).requires_grad_()
    best, plateau, done = first.to(device), Plateau(settings.falling), 0
    steps = max(-(-len(batches.sentences) // batches.batch_size), settings.least_steps)
    optimizer = torch.optim.Adam([projection], lr=settings.rate)
    coming = _endless(batches, vectors, np.random.default_rng([seed, layer]))
    while done < settings.rounds and not plateau.done:
        total = torch.zeros_like(best)
        for batch, gold, known in islice(coming, steps):
            predicted = squared_distances(batch.to(device), projection)
            loss = structural_loss(predicted, gold.to(device), known.to(device))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += projection.detach()
        done += 1
        # Progress is judged by the mean over steps, because the projection of a single step is too noisy.
        mean = total / steps
        better, back = plateau.tell(mean_loss(vectors, mean, held_out, device=device))
        if better:
            best = mean
        elif back:
            with torch.no_grad():
                projection.copy_(best)
            optimizer = torch.optim.Adam([projection])
        for group in optimizer.param_groups:
            group["lr"] = settings.rate * plateau.share
    return StructuralProbe(projection=best, loss=plateau.lowest, rounds=done, settled=plateau.done)


def _endless(
    batches: SentenceBatches, vectors: NDArray[np.float16], order: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    while True:
        yield from batches.of(vectors, shuffle=order)


def mean_loss(
    vectors: NDArray[np.float16], projection: Tensor, batches: SentenceBatches, *, device: torch.device | str = "cpu"
) -> float:
    """Return the mean loss over sentences, each counted once."""
    total, number = 0.0, 0
    with torch.no_grad():
        for batch, gold, known in batches.of(vectors):
            predicted = squared_distances(batch.to(device), projection)
            loss = structural_loss(predicted, gold.to(device), known.to(device))
            total, number = total + float(loss) * len(batch), number + len(batch)
    return total / max(number, 1)
