"""What an objective of training decides, and the list of them."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.encoder import Encoder
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.entry_points import load
from headscope_train.batches import TargetBatch
from headscope_train.packed_corpus import PackedInputs
from headscope_train.start import Start
from headscope_train.text import TrainingText
from headscope_train.training_options import OBJECTIVES, TrainOptions


@runtime_checkable
class Question(Protocol):
    """Which tokens are asked for."""

    def batch(self, inputs: PackedInputs, places: NDArray[np.int64], *, epoch: int | None) -> TargetBatch:
        """Lay out inputs and what is asked of them, drawn from each input's key and the epoch alone.

        Args:
            inputs: the corpus.
            places: which of them.
            epoch: whose draws; None for measuring, which is always the same.
        """


@runtime_checkable
class Objective(Protocol):
    """A way to train a language model.

    Attributes:
        tokenizer_words: what the card calls a tokenizer that it trains.
        head_words: what a model must have that is gone on with, as `masked-LM head`.
    """

    tokenizer_words: str
    head_words: str

    def new_tokenizer(self, corpus: TrainingText, options: TrainOptions) -> Any:
        """Train a tokenizer on the corpus."""

    def new_model(self, tokenizer: Any, options: TrainOptions) -> Start:
        """Make a model of `options.size` with weights from its initializer."""

    def go_on_with(self, options: TrainOptions) -> Start:
        """Load `options.model` with its head."""

    def inputs(
        self, corpus: TrainingText, encoder: Encoder, options: TrainOptions, *, known: KnownPieces
    ) -> PackedInputs:
        """Read the corpus into inputs."""

    def question(self, tokenizer: Any, options: TrainOptions) -> Question:
        """Return what is asked of the inputs."""

    def asked_words(self, options: Mapping[str, Any]) -> str:
        """Say for the card what is asked of a text; `options` are those of `training.json`."""

    def limits(self) -> str:
        """Say for the card what the model is not for."""


def objective_of(name: str) -> Objective:
    """Return the objective of that name."""
    objective: Objective = load(f"objectives.{OBJECTIVES[name]}", package="headscope_train")
    return objective
