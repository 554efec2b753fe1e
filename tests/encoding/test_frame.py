"""The special tokens around a text, and inputs with them, against what the tokeniser itself writes."""

import numpy as np
import pytest

from headscope.encoding.encoder import Encoder
from headscope.encoding.frame import Frame
from headscope.encoding.pieces import text_places
from headscope.encoding.segment import NO_WORD
from support.inputs import CLS, SEP
from support.slow_tokenisers import byt5
from support.tiny_tokenisers import tiny_tokeniser

TOKENISERS = {
    "around": (lambda: tiny_tokeniser("bert"), (CLS,), (SEP,)),
    "behind": (lambda: tiny_tokeniser("t5"), (), (SEP,)),
    "none": (lambda: tiny_tokeniser("gpt2"), (), ()),
    "in Python": (byt5, (), (1,)),
}


@pytest.mark.parametrize("which", TOKENISERS)
def test_what_stands_around_a_text_is_what_the_tokeniser_writes(which):
    make, before, after = TOKENISERS[which]
    tokeniser = make()
    frame = Frame.of(Encoder(tokeniser))
    assert frame == Frame(before, after)
    assert len(frame) == len(before) + len(after)
    ids = tokeniser("the cat sat", add_special_tokens=False)["input_ids"]
    made = frame.segment(np.array(ids), document="d", index=3, fields={"copy": (1, 2)})
    assert made.ids.tolist() == tokeniser("the cat sat")["input_ids"]
    assert (made.document, made.index, made.fields) == ("d", 3, {"copy": (1, 2)})
    assert set(made.token_types.tolist()) == {0}
    assert set(made.word_ids.tolist()) == {NO_WORD}


def test_the_places_of_a_pair_hold_its_pieces_in_their_order():
    encoder = Encoder(tiny_tokeniser("bert"))
    first, second = encoder.pieces(["the cat", "sat on"])
    whole = encoder.whole(first, second)
    assert text_places(whole).tolist() == [1, 2, 4, 5]
    assert [whole.ids[place] for place in text_places(whole)] == [*first.ids, *second.ids]
