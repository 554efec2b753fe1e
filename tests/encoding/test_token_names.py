"""Tokens known by their names alone: marks of words, special tokens, bytes."""

import pytest

from headscope.encoding.tokenizer.token_names import joined_tokens, named_tokens


@pytest.mark.parametrize(
    ("tokens", "shown", "words", "text"),
    [
        (["[CLS]", "play", "##ing"], ("[CLS]", "play", "##ing"), (None, 0, 0), ("playing",)),
        (["The", "Ġcat", "s", "Ġran", "."], ("The", "cat", "s", "ran", "."), (0, 1, 1, 2, 2), ("The", "cats", "ran.")),
        (["Ġ", "ĠcafÃ©", "<s>", "Ċ"], (" ", "café", "<s>", "\n"), (0, 1, None, 2), (" ", "café", "\n")),
        (["▁the", "▁cat", "s", "</s>"], ("the", "cat", "s", "</s>"), (0, 1, 1, None), ("the", "cats")),
        (["low", "er</w>", "new</w>"], ("low", "er", "new"), (0, 0, 1), ("lower", "new")),
        (["a", "b"], ("a", "b"), (), ()),
        (["ĠðŁ", "ĺĢ"], ("ĠðŁ", "ĺĢ"), (0, 0), ("ĠðŁĺĢ",)),
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
