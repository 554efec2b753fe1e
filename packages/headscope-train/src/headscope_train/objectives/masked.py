"""Masked language modeling: words that are masked, or replaced by others, are predicted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope_train.batches import TargetBatch, masked_batch
from headscope_train.packed_corpus import PackedInputs, pack_inputs
from headscope_train.start import Start, go_on_with, new_bert
from headscope_train.text import TrainingText
from headscope_train.tokenizer import train_tokenizer
from headscope_train.training_masks import Masker
from headscope_train.training_options import VOCABULARY, TrainOptions


@dataclass(frozen=True)
class MaskedTokens:
    """Choose masked tokens as targets.

    Attributes:
        masker: draws the masks.
        pad: id of the padding token.
    """

    masker: Masker
    pad: int

    def batch(self, inputs: PackedInputs, places: NDArray[np.int64], *, epoch: int | None) -> TargetBatch:
        """Mask and pad inputs."""
        return masked_batch(inputs, places, self.masker, epoch=epoch, pad=self.pad)


class MaskedWords:
    """BERT's objective, on pairs of texts."""

    tokenizer_words = "a WordPiece tokenizer"
    head_words = "masked-LM head"

    def new_tokenizer(self, corpus: TrainingText, options: TrainOptions) -> Any:
        """Train a WordPiece tokenizer."""
        return train_tokenizer(
            corpus.lines,
            vocabulary=options.vocabulary or VOCABULARY,
            cased=options.cased,
            max_length=options.max_length,
        )

    def new_model(self, tokenizer: Any, options: TrainOptions) -> Start:
        """Build a BERT."""
        assert options.size is not None
        return new_bert(options.size, tokenizer, max_length=options.max_length, seed=options.seed)

    def go_on_with(self, options: TrainOptions) -> Start:
        """Load a checkpoint with its masked-LM head."""
        return go_on_with(options.model, revision=options.revision, seed=options.seed)

    def inputs(
        self, corpus: TrainingText, encoder: Encoder, options: TrainOptions, *, known: KnownPieces
    ) -> PackedInputs:
        """Pack lines as a report does."""
        packer = Packer(encoder, packing=options.packing, max_length=options.max_length, seed=options.seed)
        return pack_inputs(corpus.read(), packer, max_inputs=options.max_inputs, seed=options.seed, known=known)

    def question(self, tokenizer: Any, options: TrainOptions) -> MaskedTokens:
        """Choose 15% of the tokens as targets."""
        return MaskedTokens(Masker.of(tokenizer), int(tokenizer.pad_token_id or 0))

    def asked_words(self, options: Mapping[str, Any]) -> str:
        """Describe how masks are drawn."""
        return (
            "15% of the ordinary tokens are predicted, drawn anew in each epoch: 80% masked, 10% another piece, 10% as "
            f"they are. Packing `{options['packing']}`."
        )

    def limits(self) -> str:
        """Describe the parts that were not trained."""
        return (
            "Made to look at attention, not to generate, rank or classify text; it was not trained on "
            "next sentences, nor was its pooler."
        )


OBJECTIVE = MaskedWords()
