"""Running text: no token is lost between two inputs, and line breaks are kept."""

import pytest

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError
from headscope_train.byte_tokenizer import train_byte_tokenizer
from headscope_train.packed_corpus import pack_passages
from headscope_train.running_text import RunningText
from support.tiny_tokenizers import tiny_tokenizer

LINES = ("The cat sat on the mat.", "It slept, and dreamt of fish.", "A dog came by.")


@pytest.fixture(scope="module")
def tokenizer():
    return train_byte_tokenizer(lambda: LINES, vocabulary=290)


def story(number=0, **given):
    return Document(id=f"story-{number}", **({"lines": LINES} | given))


def spoken(tokenizer, inputs):
    """Return each input's text; every input begins with `<s>`."""
    inputs = list(inputs)
    assert all(each.ids[0] == 0 for each in inputs)
    return [tokenizer.decode(each.ids[1:]) for each in inputs]


@pytest.mark.parametrize("length", [6, 16, 1000])
def test_inputs_follow_one_another(tokenizer, length):
    inputs = list(RunningText(Encoder(tokenizer), max_length=length).cut([story()]))
    assert [each.index for each in inputs] == list(range(len(inputs)))
    assert {len(each.ids) for each in inputs[:-1]} <= {length}
    assert len(inputs[-1].ids) <= length
    # A line begins like a word, so a space follows the line feed.
    assert "".join(spoken(tokenizer, inputs)) == " " + "\n ".join(LINES) + "</s>"


def test_documents_are_not_mixed(tokenizer):
    inputs = list(RunningText(Encoder(tokenizer), max_length=30).cut([story(0), story(1)]))
    assert [each.document for each in inputs] == sorted(each.document for each in inputs)
    half = len(inputs) // 2
    assert spoken(tokenizer, inputs[:half]) == spoken(tokenizer, inputs[half:])


def test_lines_that_are_whole_words_and_tokens(tokenizer):
    text = RunningText(Encoder(tokenizer), max_length=100)
    assert spoken(tokenizer, text.cut([story(whole=True)])) == [f" {line}</s>" for line in LINES]
    words = story(lines=(), words=("The", "cat", "sat"))
    assert spoken(tokenizer, text.cut([words])) == [" The cat sat</s>"]
    ids = tokenizer("The cat")["input_ids"]
    tokens = story(lines=(), tokens=tuple(tokenizer.convert_ids_to_tokens(ids)))
    (only,) = text.cut([tokens])
    assert only.ids.tolist() == ids


def test_a_last_token_alone_is_left_out_and_counted(tokenizer):
    whole = len(next(iter(RunningText(Encoder(tokenizer), max_length=1000).cut([story()]))))
    text = RunningText(Encoder(tokenizer), max_length=whole - 1)
    assert [len(each) for each in text.cut([story()])] == [whole - 1]
    assert text.skipped == {"one token": 1}
    with pytest.raises(InputError) as refused:
        pack_passages([story(lines=())], RunningText(Encoder(tokenizer), max_length=9))
    assert str(refused.value) == (
        "no input could be built from 1 document (one token: 1); expected documents of two tokens or more"
    )


def test_a_limit_draws_over_the_documents(tokenizer):
    documents = [story(number) for number in range(6)]
    text = RunningText(Encoder(tokenizer), max_length=16)
    every = {(each.document, each.index): each.ids.tolist() for each in text.cut(documents)}
    drawn = list(text.cut(documents, max_inputs=6, seed=1))
    assert sorted(each.document for each in drawn) == [f"story-{number}" for number in range(6)]
    assert all(every[each.document, each.index] == each.ids.tolist() for each in drawn)
    assert [(each.document, each.index) for each in drawn] != [
        (each.document, each.index) for each in text.cut(documents, max_inputs=6, seed=2)
    ]


def test_a_tokenizer_that_takes_line_feeds_for_spaces():
    """A tokenizer that adds special tokens puts them around each input."""
    text = RunningText(Encoder(tiny_tokenizer("bert")), max_length=8)
    assert text.line_feed == []
    inputs = list(text.cut([story(lines=("the cat sat", "on the mat and ran"))]))
    assert [[int(each.ids[0]), int(each.ids[-1])] for each in inputs] == [[0, 2]] * 2
    assert [len(each) for each in inputs] == [8, 4]
