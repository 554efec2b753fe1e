"""The parser without attention: two words' vectors and the distance between them (section 5, footnote 5)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from headscope.analyses.probes.data.probe_batches import ProbeBatch
from headscope.analyses.probes.parsers.attention_probe import glorot
from headscope.analyses.probes.parsers.learner import ArcProbe, ProbeInputs, System
from headscope.analyses.probes.parsers.pair_layer import pair_scores

HIDDEN = 256
NEAR = 5  # distances up to this have an indicator each, ahead and behind
FEATURES = 2 * NEAR + 3
_FAR = 10.0  # words; the unit of the continuous distances


class DistanceWordsProbe(ArcProbe):
    """Words and distances: one hidden layer of tanh units on the candidate's vector, the dependent's and features.

    Features of a pair: an indicator for each distance from 1 to 5 and the distance itself in tens of words, separately
    for ahead and behind, and an indicator of the word itself (a candidate in control tasks only). The root has its own
    learned vector of hidden inputs in place of a candidate's vector and features.

    The hidden layer's input is the sum of a term of the candidate, a term of the dependent and a term of the distance,
    so no pair of vectors is ever materialized.

    Args:
        tasks: task of each run.
        vectors: vectors of all word types, `[type, width]`; they are not trained.
        seeds: seeds of the initial weights, one a run.
        hidden: number of hidden units.
    """

    name = "distances and words"
    system = System(name="Distances and words", role="next", paper="distances + GloVe")
    reads_attention = False
    reads_words = True
    rate = 0.003
    vectors: Tensor

    def __init__(self, tasks: Sequence[int], vectors: Tensor, *, seeds: Sequence[int], hidden: int = HIDDEN) -> None:
        super().__init__(tasks)
        self.register_buffer("vectors", vectors, persistent=False)
        width = vectors.shape[1]
        fan_in = 2 * width + FEATURES
        # [run, role of the word (candidate, dependent), width, hidden]
        self.words = nn.Parameter(glorot((2, width, hidden), fan_in, hidden, seeds))
        self.features = nn.Parameter(glorot((FEATURES, hidden), fan_in, hidden, seeds))
        self.bias = nn.Parameter(torch.zeros(self.runs, hidden))
        self.root = nn.Parameter(torch.zeros(self.runs, hidden))
        self.out = nn.Parameter(glorot((hidden,), hidden, 1, seeds))

    @classmethod
    def of(cls, inputs: ProbeInputs, tasks: Sequence[int], *, seeds: Sequence[int]) -> "DistanceWordsProbe":
        """See `ArcProbe.of`."""
        return cls(tasks, inputs.vectors, seeds=seeds)

    def raw(self, batch: ProbeBatch) -> Tensor:
        """See `ArcProbe.raw`."""
        vectors = self.vectors[batch.words]
        at = torch.arange(batch.words.shape[1], device=batch.words.device)
        # The terms of every distance that a batch can have; each pair takes the term of its distance.
        size = len(at)
        steps = torch.arange(1 - size, size, device=at.device)
        picked = at[None, :] - at[:, None] + size - 1
        scores = []
        for run in range(self.runs):
            candidate = vectors @ self.words[run, 0]
            dependent = vectors @ self.words[run, 1] + self.bias[run]
            apart = (distance_features(steps) @ self.features[run])[picked]
            words = pair_scores(candidate, dependent, apart, self.out[run])
            root = (dependent + self.root[run]).tanh() @ self.out[run]
            scores.append(torch.cat([root[..., None], words], dim=2))
        return torch.stack(scores)


def distance_features(steps: Tensor) -> Tensor:
    """Return the features of distances, candidate minus dependent in words, `[step, FEATURES]` float32."""
    near = torch.arange(1, NEAR + 1, device=steps.device)
    indicators = torch.cat([steps[:, None] == near, steps[:, None] == -near, steps[:, None] == 0], dim=1)
    far = torch.stack([steps.clamp(min=0), (-steps).clamp(min=0)], dim=1) / _FAR
    return torch.cat([indicators.float(), far], dim=1)
