"""Word vectors: GloVe's and word2vec's text, what is wrong with a file in plain words, a model's own embeddings."""

import gzip

import numpy as np
import pytest
import torch

from headscope.analyses.probes.word_vectors import WordVectors, input_embeddings, read_vectors
from headscope.encoding.encoder import Encoder
from headscope.errors import InputError
from headscope.models.load_model import load_model
from support.model_folders import save_tiny_bert, save_tiny_gpt2

GLOVE = "the 0.5 -1 2e-1\n. . . 1 2 3\nat name@domain.com 4 5 6\n\xa0x 7 8 9\nThe 0 0 1\n1 -1 -2 -3\n"


@pytest.fixture
def write(tmp_path):
    def made(text, name="vectors.txt"):
        path = tmp_path / name
        data = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return made


def test_glove_with_words_that_hold_spaces(write):
    vectors = read_vectors(write(GLOVE))
    assert isinstance(vectors, WordVectors)
    assert (vectors.name, vectors.width) == ("vectors.txt", 3)
    words = ["at name@domain.com", ". . .", "1", "the"]
    expected = np.array([[4, 5, 6], [1, 2, 3], [-1, -2, -3], [0.5, -1, 0.2]], dtype=np.float32)
    np.testing.assert_array_equal(vectors.of(words), expected)
    assert vectors.of([]).shape == (0, 3)


def test_an_unknown_word_is_lower_cased_and_else_zero(write):
    vectors = read_vectors(write(GLOVE))
    found = vectors.of(["THE", "The", "cat"])
    np.testing.assert_array_equal(found, np.array([[0.5, -1, 0.2], [0, 0, 1], [0, 0, 0]], dtype=np.float32))


@pytest.mark.parametrize("name", ["w2v.txt", "w2v.txt.gz"])
def test_word2vec_has_a_first_line_and_a_space_after_the_last_number(write, name):
    path = write("3 2\nthe 0.1 0.2 \ncat\t1\t2\n12  3   4\n", name)
    vectors = read_vectors(path)
    assert vectors.name == name
    np.testing.assert_array_equal(
        vectors.of(["12", "cat", "the"]), np.array([[3, 4], [1, 2], [0.1, 0.2]], dtype=np.float32)
    )


def test_only_wanted_words_are_kept_in_either_case(write):
    vectors = read_vectors(write(GLOVE), ["THE", "1", "unseen"])
    assert [word for word in ("the", ". . .", "The", "THE", "1", "unseen") if vectors.vector(word) is not None] == [
        *("the", "The", "THE", "1")
    ]
    np.testing.assert_array_equal(*vectors.of(["The", "the"]))


def test_of_a_word_that_comes_twice_the_first_counts(write):
    vectors = read_vectors(write("a 1 2\nb 3 4\na 5 6\n"))
    np.testing.assert_array_equal(vectors.of(["a"]), np.array([[1, 2]], dtype=np.float32))


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a 1 2\nb 3\n", 2, "expected a word and 2 numbers, found 1 number; make or fetch the file again"),
        ("a 1 2\nb 3 4 5\n", 2, "expected a word and 2 numbers, found 3 numbers; make or fetch the file again"),
        ("2 3\na 1 2 3\n\n", 3, "expected a word and 3 numbers, found 0 numbers; make or fetch the file again"),
        ("a 1 2\nb 3 x\n", 2, "expected 2 numbers after 'b', found 'x' among them; make or fetch the file again"),
        (
            "a 1 2\nb nan 1\n",
            2,
            "the vector of 'b' holds a number that is NaN or infinite; expected finite numbers, make or fetch the file "
            "again",
        ),
        (
            "no numbers here\n",
            1,
            "expected a word and its numbers on each line (the 0.418 0.24968 ...), as GloVe and word2vec write text; "
            "found 'no numbers here'",
        ),
    ],
)
def test_a_bad_line_is_named(write, text, line, told):
    path = write(text)
    with pytest.raises(InputError) as refused:
        read_vectors(path)
    assert str(refused.value) == f"{path}, line {line}: {told}"


def test_a_file_that_breaks_off_is_refused(write):
    path = write("3 2\na 1 2\nb 3 4\n")
    with pytest.raises(InputError) as refused:
        read_vectors(path)
    assert str(refused.value) == (
        f"{path} ends too early: its first line promises 3 vectors, and 2 came; make or fetch it again"
    )


def test_vectors_of_another_language_are_refused(write):
    path = write(GLOVE)
    with pytest.raises(InputError) as refused:
        read_vectors(path, ["le", "chat"])
    assert str(refused.value) == (
        f"{path} has a vector for none of the corpus's 2 words; expected word vectors of its language"
    )


def test_word2vecs_binary_is_refused(write):
    path = write(b"2 2\nthe \x00\x00\x80?\n")
    with pytest.raises(InputError, match=r"is not text: NUL byte at offset 8; give UTF-8 text"):
        read_vectors(path)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return load_model(save_tiny_bert(tmp_path_factory.mktemp("bert") / "tiny"))


def test_input_embeddings_are_the_mean_of_a_words_pieces(bert):
    vectors = input_embeddings(bert, Encoder(bert.tokenizer))
    assert isinstance(vectors, WordVectors)
    assert (vectors.name, vectors.width) == ("input embeddings of tiny", 16)
    table = bert.model.get_input_embeddings().weight.detach()
    words = ["unbelievableness", "cat", "cat", "\x00"]
    for word, found in zip(words, vectors.of(words)):
        ids = bert.tokenizer(word, add_special_tokens=False)["input_ids"]
        expected = torch.stack([table[i] for i in ids]).mean(0).numpy() if ids else np.zeros(16)
        np.testing.assert_allclose(found, expected, atol=1e-7)
    assert len(bert.tokenizer("unbelievableness", add_special_tokens=False)["input_ids"]) > 1
    assert not vectors.of(["\x00"]).any()


def test_a_word_is_cut_as_inside_a_sentence(tmp_path):
    """A byte-level tokenizer has another piece for a word after a space than for one that begins a text."""
    loaded = load_model(save_tiny_gpt2(tmp_path / "gpt", ["the cat sat on the cat and the cat"] * 20))
    inside = loaded.tokenizer("the cat")["input_ids"][-1]
    assert inside != loaded.tokenizer("cat")["input_ids"][-1]
    found = input_embeddings(loaded, Encoder(loaded.tokenizer)).of(["cat"])
    expected = loaded.model.get_input_embeddings().weight.detach()[inside].numpy()
    np.testing.assert_array_equal(found[0], expected)
