"""A new tokenizer: the same in every process, with BERT's behavior."""

import json
import subprocess
import sys

import pytest

from headscope.errors import InputError, OptionError
from headscope_train.tokenizer import train_tokenizer
from support.demo_treebank import demo_documents

TRAIN = (
    "import json, sys\n"
    "from headscope_train.tokenizer import train_tokenizer\n"
    "lines = json.load(sys.stdin)\n"
    "print(json.dumps(train_tokenizer(lambda: lines, vocabulary=300).get_vocab(), sort_keys=True))\n"
)


@pytest.fixture(scope="module")
def lines():
    return [s.text for document in demo_documents(101, 140) for s in document.sentences]


@pytest.mark.slow
def test_the_same_pieces_and_numbers_in_another_process(lines):
    own = train_tokenizer(lambda: lines, vocabulary=300).get_vocab()
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], input=json.dumps(lines), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == own
    assert sorted(own.values()) == list(range(300))


def test_it_cuts_as_bert_does(lines):
    tokenizer = train_tokenizer(lambda: lines, vocabulary=300, max_length=64)
    assert [tokenizer.convert_ids_to_tokens(id_) for id_ in range(5)] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert set(tokenizer.all_special_ids) == {0, 1, 2, 3, 4}
    assert tokenizer.model_max_length == 64
    pair = tokenizer("The cat", "it slept")
    assert pair["input_ids"].count(3) == 2
    assert pair["input_ids"][0] == 2
    assert pair["token_type_ids"][-1] == 1
    # Compare with greedy longest match, computed from the vocabulary alone.
    known = tokenizer.get_vocab()
    for word in ("the", "committee", "sleeping", "unbelievable"):
        rest, pieces = word, []
        while rest:
            marked = "##" if pieces else ""
            end = next((n for n in range(len(rest), 0, -1) if marked + rest[:n] in known), 0)
            if not end:
                pieces = ["[UNK]"]
                break
            pieces.append(marked + rest[:end])
            rest = rest[end:]
        assert tokenizer.tokenize(word.upper()) == pieces
    common = max({w for line in lines for w in line.lower().split() if w.isalpha()}, key=" ".join(lines).count)
    assert tokenizer.tokenize(common) == [common]


def test_case_is_kept_where_asked(lines):
    tokenizer = train_tokenizer(lambda: lines, vocabulary=300, cased=True)
    assert any(token[:1].isupper() for token in tokenizer.get_vocab() if not token.startswith("["))
    assert tokenizer.tokenize("The") != tokenizer.tokenize("the")
    uncased = train_tokenizer(lambda: lines, vocabulary=300)
    assert uncased.tokenize("The") == uncased.tokenize("the")


def test_it_is_saved_and_loaded_as_a_models(lines, tmp_path):
    from transformers import AutoTokenizer

    tokenizer = train_tokenizer(lambda: lines, vocabulary=300)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again(lines[:20])["input_ids"] == tokenizer(lines[:20])["input_ids"]


def test_what_is_refused(lines):
    with pytest.raises(InputError) as refused:
        train_tokenizer(lambda: [" ", ""], vocabulary=300)
    assert str(refused.value) == "the corpus has no word to train a tokenizer on; expected text"
    with pytest.raises(OptionError) as small:
        train_tokenizer(lambda: ["ab ba cb"], vocabulary=8)
    # a, b and c begin a word, a and b continue one: five special tokens and five others
    assert str(small.value) == ("--vocabulary 8 is too small: the corpus has 3 characters; expected at least 10 pieces")
    assert len(train_tokenizer(lambda: ["ab ba cb"], vocabulary=10)) == 10
