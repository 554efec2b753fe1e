"""Causal language modeling: each token is predicted from those before it."""

from collections.abc import Mapping
from typing import Any

from headscope.encoding.encoder import Encoder
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope_train.byte_tokenizer import train_byte_tokenizer
from headscope_train.new_decoder import drop_residuals, new_decoder
from headscope_train.next_tokens import NextTokens
from headscope_train.packed_corpus import PackedInputs, pack_passages
from headscope_train.running_text import RunningText
from headscope_train.start import Start, go_on_with_decoder
from headscope_train.text import TrainingText
from headscope_train.training_options import VOCABULARY, TrainOptions


class NextWord:
    """A decoder's objective, on running text."""

    tokenizer_words = "a byte-level BPE tokenizer"
    head_words = "language-model head"

    def new_tokenizer(self, corpus: TrainingText, options: TrainOptions) -> Any:
        """Train a byte-level BPE tokenizer."""
        return train_byte_tokenizer(
            corpus.lines, vocabulary=options.vocabulary or VOCABULARY, max_length=options.max_length
        )

    def new_model(self, tokenizer: Any, options: TrainOptions) -> Start:
        """Build a Llama."""
        assert options.size is not None
        start = new_decoder(
            options.size, tokenizer, groups=options.groups, max_length=options.max_length, seed=options.seed
        )
        drop_residuals(start.model, options.dropout)
        return start

    def go_on_with(self, options: TrainOptions) -> Start:
        """Load a checkpoint with its language-model head."""
        return go_on_with_decoder(options.model, revision=options.revision, seed=options.seed)

    def inputs(
        self, corpus: TrainingText, encoder: Encoder, options: TrainOptions, *, known: KnownPieces
    ) -> PackedInputs:
        """Concatenate the lines of a document, and cut when an input is full."""
        text = RunningText(encoder, max_length=options.max_length)
        return pack_passages(corpus.read(), text, max_inputs=options.max_inputs, seed=options.seed, known=known)

    def question(self, tokenizer: Any, options: TrainOptions) -> NextTokens:
        """Choose every token but the first as a target."""
        return NextTokens.of(tokenizer, repeated=options.repeated)

    def asked_words(self, options: Mapping[str, Any]) -> str:
        """Describe the targets, and the share of inputs with repetitions."""
        words = (
            "Every token is predicted from the tokens before it in its input; inputs follow one another in a document."
        )
        if options["repeated"]:
            words += (
                f" In {options['repeated']:.0%} of the inputs, drawn anew in each epoch, something is repeated: a "
                "passage of 1/8 to 1/2 of the input appears a second time later, or, in half of them, the input "
                "consists of phrases of random pieces that recur, and only their repetitions count in the loss. "
                "Held-out inputs are unchanged."
            )
        if options.get("guided"):
            words += (
                f" In the first {options['guided']:.0%} of the steps two heads were shown where to look, less and "
                "less: the first of the first layer at the token before, the last of the second at what came after "
                "the same token earlier, where that is right. Afterwards they were left alone like all others."
            )
        return words

    def limits(self) -> str:
        """Describe the uses that the model is not meant for."""
        return "Made to look at attention: it is far too small to write, answer or rank text."


OBJECTIVE = NextWord()
