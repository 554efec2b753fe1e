"""Names of tokens: word markers, special tokens, bytes."""

import numpy as np
import pytest

from headscope.encoding.tokenizer.token_names import joined_tokens, named_tokens, readable_tokens
from headscope.models.load_model import load_tokenizer
from support.slow_tokenizers import byt5


@pytest.mark.parametrize(
    ("tokens", "shown", "words", "text"),
    [
        (["[CLS]", "play", "##ing"], ("[CLS]", "play", "##ing"), (None, 0, 0), ("playing",)),
        (["The", "Ġcat", "s", "Ġran", "."], ("The", "cat", "s", "ran", "."), (0, 1, 1, 2, 2), ("The", "cats", "ran.")),
        (["Ġ", "ĠcafÃ©", "<s>", "Ċ"], (" ", "café", "<s>", "\n"), (0, 1, None, 2), (" ", "café", "\n")),
        (["▁the", "▁cat", "s", "</s>"], ("the", "cat", "s", "</s>"), (0, 1, 1, None), ("the", "cats")),
        (["low", "er</w>", "new</w>"], ("low", "er", "new"), (0, 0, 1), ("lower", "new")),
        (["a", "b"], ("a", "b"), (), ()),
        (["ĠðŁ", "ĺĢ"], ("part 1 of 2 of 😀", "part 2 of 2 of 😀"), (0, 0), ("😀",)),
        (
            ["Ġ", "æ", "Ī", "ĳ"],
            (" ", "byte 1 of 3 of 我", "byte 2 of 3 of 我", "byte 3 of 3 of 我"),
            (0, 0, 0, 0),
            (" 我",),
        ),
        (["Ġa", "æ", "Ī", "b"], ("a", "æ", "Ī", "b"), (0, 0, 0, 0), ("aæĪb",)),
        (["", "##x"], ("", "##x"), (0, 0), ("x",)),
    ],
)
def test_tokens_are_read_by_their_marks(tokens, shown, words, text):
    named = named_tokens(tokens)
    assert (named.tokens, named.words, named.text) == (shown, words, text)


def test_special_tokens_are_known_by_name():
    named = named_tokens(["<s>", "a", "[MASK]", "</s>", "<pad>", "<|im_start|>", "[X]", "<b>"])
    assert named.special == (0, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("tokens", "joined"),
    [
        (["ĠThe", "Ġw", "ished", "Ġ(", "qu", "iet", ")", "Ċ", "So"], [2, 4, 5, 6, 8]),
        (["[CLS]", "frac", "##tion", "##s", ".", "##x"], [2, 3, 5]),
        (["▁the", "▁cat", "s", "</s>", "s"], [2]),
        (["low", "er</w>", "new</w>"], [1]),
        (["ished", "Ġthe", "<s>", "The"], []),
        (["a", "b"], []),
        ([], []),
    ],
)
def test_tokens_that_go_on_with_the_word_before_are_told_by_their_marks(tokens, joined):
    assert joined_tokens(tokens) == joined


@pytest.mark.parametrize("make", [lambda: load_tokenizer("headscope-decoder")[0], byt5], ids=["byte-level", "byt5"])
def test_a_byte_is_named_by_its_character(make):
    """Each byte names its character and its number in it; an incomplete character keeps the tokenizer's names."""
    tokenizer = make()
    ids = tokenizer("a我é\n😀", add_special_tokens=False)["input_ids"]
    named = readable_tokens(tokenizer, np.array(ids))
    assert named[named.index("a") + 1 :][:3] == [f"byte {number} of 3 of 我" for number in (1, 2, 3)]
    assert named[-4:] == [f"byte {number} of 4 of 😀" for number in (1, 2, 3, 4)]
    assert "\n" in named
    cut = readable_tokens(tokenizer, np.array(ids[:-1]))
    assert cut[:-3] == named[:-4]
    assert not any("of 😀" in name or "\ufffd" in name for name in cut)
