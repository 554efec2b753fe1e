"""The special tokens around a text, and inputs with them, compared with the tokenizer's own output."""

import numpy as np
import pytest

from headscope.encoding.encoder import Encoder, Frame
from headscope.encoding.segment import NO_WORD
from headscope.encoding.tokenizer.pieces import text_places
from support.inputs import CLS, SEP
from support.slow_tokenizers import byt5
from support.tiny_tokenizers import tiny_tokenizer

TOKENIZERS = {
    "around": (lambda: tiny_tokenizer("bert"), (CLS,), (SEP,)),
    "behind": (lambda: tiny_tokenizer("t5"), (), (SEP,)),
    "none": (lambda: tiny_tokenizer("gpt2"), (), ()),
    "in Python": (byt5, (), (1,)),
}


@pytest.mark.parametrize("which", TOKENIZERS)
def test_what_stands_around_a_text_is_what_the_tokenizer_writes(which):
    make, before, after = TOKENIZERS[which]
    tokenizer = make()
    frame = Frame.of(Encoder(tokenizer))
    assert frame == Frame(before, after)
    assert len(frame) == len(before) + len(after)
    ids = tokenizer("the cat sat", add_special_tokens=False)["input_ids"]
    made = frame.segment(np.array(ids), document="d", index=3, fields={"copy": (1, 2)})
    assert made.ids.tolist() == tokenizer("the cat sat")["input_ids"]
    assert (made.document, made.index, made.fields) == ("d", 3, {"copy": (1, 2)})
    assert set(made.token_types.tolist()) == {0}
    assert set(made.word_ids.tolist()) == {NO_WORD}


def test_the_places_of_a_pair_hold_its_pieces_in_their_order():
    encoder = Encoder(tiny_tokenizer("bert"))
    first, second = encoder.pieces(["the cat", "sat on"])
    whole = encoder.whole(first, second)
    assert text_places(whole).tolist() == [1, 2, 4, 5]
    assert [whole.ids[place] for place in text_places(whole)] == [*first.ids, *second.ids]
