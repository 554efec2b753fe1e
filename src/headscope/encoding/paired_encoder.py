"""An encoder for two models with different tokenizers: each input also has the tokens of the second model."""

from dataclasses import replace
from typing import Any

import numpy as np

from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.tokenizer.alignment import Alignment
from headscope.encoding.tokenizer.pieces import Pieces
from headscope.errors import InputError


class PairedEncoder(Encoder):
    """Make the inputs of the first model, each with the same text as the second model reads it (`Segment.partner`).

    Texts must be read one by one (`--packing single`), because pairs and joined lines are cut by the number of tokens.

    Args:
        first: encoder of the first model.
        second: encoder of the second model.
        max_length: maximum number of tokens in the second model's input.
    """

    def __init__(self, first: Encoder, second: Encoder, *, max_length: int) -> None:
        super().__init__(first.tokenizer, token_types=first.token_types)
        self.second, self._max_length = second, max_length

    def segment(
        self, first: Pieces, second: Pieces | None = None, *, alignment: Alignment | None = None, **how: Any
    ) -> Segment:
        """Make a segment with its partner, whose word ids are those of the same words in the segment.

        Raises:
            InputError: it is unknown which characters the tokens cover.
        """
        segment = super().segment(first, second, alignment=alignment, **how)
        if alignment is not None:
            pieces, alignment = self.second.piece_words(how["words"])
        elif first.words.text:
            (pieces,) = self.second.pieces([first.words.text])
            self.second.without_first(pieces)
        else:
            raise InputError(
                f"{type(self.tokenizer).__name__} does not say which characters each token covers; two models with "
                "different tokenizers are compared by words, which need a fast tokenizer (a tokenizer.json)"
            )
        room = self._max_length - self.second.special_tokens_single
        shortened = len(pieces) > room
        pieces.truncate(room)
        partner = self.second.segment(pieces, alignment=alignment, **how)
        if alignment is None:
            numbers = {tuple(span): number for number, span in enumerate(first.words.spans.tolist())}
            same = [numbers.get(tuple(span), NO_WORD) for span in pieces.words.spans.tolist()]
            # The last number is for pieces outside words, whose word is -1.
            partner = replace(partner, word_ids=np.array([*same, NO_WORD], dtype=np.int64)[partner.word_ids])
        # A word that may be cut in two is not compared.
        for each, is_cut in ((segment, how.get("shortened")), (partner, shortened)):
            if is_cut:
                uncut = np.where(partner.word_ids == each.word_ids.max(initial=NO_WORD), NO_WORD, partner.word_ids)
                partner = replace(partner, word_ids=uncut)
        return replace(segment, partner=partner)

    def segment_of_tokens(self, tokens: Any, *, origin: str, **how: Any) -> Segment:
        """Refuse an input that is given as tokens.

        Raises:
            InputError: always; only one of the models has these tokens.
        """
        raise InputError(
            f"{origin}: the text is given as tokens, and the models have different tokenizers; give text or words"
        )
