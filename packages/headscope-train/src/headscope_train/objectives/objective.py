"""The interface of a training objective, and the list of objectives."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.encoder import Encoder
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.installing import load
from headscope_train.batches import TargetBatch
from headscope_train.packed_corpus import PackedInputs
from headscope_train.start import Start
from headscope_train.text import TrainingText
from headscope_train.training_options import OBJECTIVES, TrainOptions


@runtime_checkable
class Question(Protocol):
    """The choice of the tokens to predict."""

    def batch(self, inputs: PackedInputs, places: NDArray[np.int64], *, epoch: int | None) -> TargetBatch:
        """Return a batch of inputs with their targets, drawn only from each input's key and the epoch.

        Args:
            inputs: the corpus.
            places: indices of the inputs.
            epoch: epoch of the draws; None for evaluation, which always draws the same.
        """


@runtime_checkable
class Objective(Protocol):
    """A way to train a language model.

    Attributes:
        tokenizer_words: the card's name for a tokenizer that it trains.
        head_words: the model part that continued training needs, such as `masked-LM head`.
    """

    tokenizer_words: str
    head_words: str

    def new_tokenizer(self, corpus: TrainingText, options: TrainOptions) -> Any:
        """Train a tokenizer on the corpus."""

    def new_model(self, tokenizer: Any, options: TrainOptions) -> Start:
        """Build a model of `options.size` with weights from its initializer."""

    def go_on_with(self, options: TrainOptions) -> Start:
        """Load `options.model` with its head."""

    def inputs(
        self, corpus: TrainingText, encoder: Encoder, options: TrainOptions, *, known: KnownPieces
    ) -> PackedInputs:
        """Read the corpus and pack it into inputs."""

    def question(self, tokenizer: Any, options: TrainOptions) -> Question:
        """Return the choice of the tokens to predict."""

    def asked_words(self, options: Mapping[str, Any]) -> str:
        """Describe the prediction task for the card; `options` are those of `training.json`."""

    def limits(self) -> str:
        """Describe for the card the uses that the model is not meant for."""


def objective_of(name: str) -> Objective:
    """Return the objective with this name."""
    objective: Objective = load(f"objectives.{OBJECTIVES[name]}", package="headscope_train")
    return objective
