"""A new byte-level tokenizer: the same in every process, without unknown tokens."""

import json
import subprocess
import sys

import pytest

from headscope.encoding.encoder import Encoder
from headscope.errors import InputError, OptionError
from headscope_train.byte_tokenizer import train_byte_tokenizer
from support.demo_treebank import demo_documents

TRAIN = (
    "import json, sys\n"
    "from headscope_train.byte_tokenizer import train_byte_tokenizer\n"
    "lines = json.load(sys.stdin)\n"
    "print(json.dumps(train_byte_tokenizer(lambda: lines, vocabulary=400).get_vocab(), sort_keys=True))\n"
)


@pytest.fixture(scope="module")
def lines():
    return [s.text for document in demo_documents(101, 140) for s in document.sentences]


@pytest.mark.slow
def test_the_same_pieces_and_numbers_in_another_process(lines):
    own = train_byte_tokenizer(lambda: lines, vocabulary=400).get_vocab()
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], input=json.dumps(lines), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == own
    assert sorted(own.values()) == list(range(400))


def test_special_tokens_and_words(lines):
    tokenizer = train_byte_tokenizer(lambda: lines, vocabulary=400, max_length=64)
    assert tokenizer.convert_ids_to_tokens([0, 1, 2]) == ["<s>", "</s>", "<pad>"]
    assert set(tokenizer.all_special_ids) == {0, 1, 2}
    assert tokenizer.model_max_length == 64
    # A text starts with one `<s>`, a pair has none in between, and a word has the same token everywhere.
    single, pair = tokenizer("the cat")["input_ids"], tokenizer("the cat", "the cat")["input_ids"]
    assert single[0] == 0
    assert pair == [0, *single[1:], *single[1:]]
    encoder = Encoder(tokenizer)
    assert encoder.vocabulary.cls_name == "<s>"
    assert encoder.vocabulary.sep_name is None  # `</s>` is not added to a text
    assert encoder.unknown_id is None


@pytest.mark.parametrize("text", ["Zürich 東京 \U0001f600", "a\nb\tc", "l'été n'est pas fini"])
def test_any_text_comes_back(lines, text):
    tokenizer = train_byte_tokenizer(lambda: lines, vocabulary=300)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == f" {text}"


def test_what_is_refused(lines):
    with pytest.raises(OptionError) as refused:
        train_byte_tokenizer(lambda: lines, vocabulary=258)
    assert str(refused.value) == (
        "--vocabulary 258 is too small: there are 256 bytes and 3 special tokens; expected at least 259 pieces"
    )
    assert len(train_byte_tokenizer(lambda: lines, vocabulary=259).get_vocab()) == 259
    with pytest.raises(InputError) as empty:
        train_byte_tokenizer(lambda: [" ", ""], vocabulary=300)
    assert str(empty.value) == "the corpus has no word to train a tokenizer on; expected text"
