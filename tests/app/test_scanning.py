"""`hs.scan`: an accumulator of the user's own over texts, against a plain loop over transformers' own weights."""

from pathlib import Path

import numpy as np
import pytest
import torch

import headscope as hs
from support.docs import accumulator_of_the_docs

TEXTS = ["The cat sat on the mat, and slept.", "A dog came by.\nIt looked at the cat and left again."]
LINES = [line for text in TEXTS for line in text.splitlines()]


@pytest.fixture(scope="module")
def loaded():
    return hs.load_model()


def plain_local(loaded, lines):
    """The weight within 3 tokens, in a loop over every head, row and key of `output_attentions`."""
    loaded.model.set_attn_implementation("eager")
    means = []
    for line in lines:
        inputs = loaded.tokenizer(line, return_tensors="pt")
        with torch.no_grad():
            layers = loaded.model(**inputs, output_attentions=True).attentions
        table = np.zeros((len(layers), layers[0].shape[1]))
        for layer, maps in enumerate(layers):
            for head, rows in enumerate(maps[0].double().tolist()):
                near = [sum(w for key, w in enumerate(row) if abs(key - query) <= 3) for query, row in enumerate(rows)]
                table[layer, head] = sum(near) / len(near)
        means.append(table)
    return np.mean(means, axis=0)


def local(model, text, **options):
    mine = accumulator_of_the_docs()()
    (found,) = hs.scan(text, [mine], model=model, **options)
    return found["encoder"], mine


@pytest.mark.parametrize("options", [{}, {"batch_size": 1}], ids=["together", "one by one"])
def test_the_accumulator_of_the_docs_is_the_plain_loop(loaded, options):
    found, mine = local(loaded, TEXTS, **options)
    expected = plain_local(loaded, LINES)
    np.testing.assert_allclose(found.value, expected, atol=1e-6, rtol=0)
    assert 0.1 < expected.min() < expected.max() < 1.0001
    assert mine.sums.stacked()["segments.encoder"].tolist() in ([[1] * 6, [2] * 6], [[2] * 6, [1] * 6])


def test_a_text_texts_a_file_and_documents_are_the_same(loaded, tmp_path):
    path = tmp_path / "two.txt"
    path.write_text("\n\n".join(TEXTS))
    expected, _ = local(loaded, TEXTS)
    for texts in ("\n\n".join(TEXTS), path, [path], hs.read_corpus(path), list(hs.read_corpus(path))):
        found, mine = local(loaded, texts)
        np.testing.assert_array_equal(found.value, expected.value)
        assert len(mine.sums) == 2


def test_options_shape_the_inputs(loaded):
    found, mine = local(loaded, TEXTS, max_inputs=1)
    assert [np.allclose(found.value, plain_local(loaded, [line]), atol=1e-6) for line in LINES].count(True) == 1
    pairs, _ = local(loaded, TEXTS[1], packing="paragraphs")
    assert not np.allclose(pairs.value, local(loaded, TEXTS[1])[0].value)
    done = []
    hs.scan(TEXTS, [mine], model=loaded, batch_size=1, progress=done.append)
    assert [each.segments for each in done] == [1, 2, 3]


def test_a_transformers_model_comes_with_its_tokenizer(loaded):
    found, _ = local(loaded.model, TEXTS, tokenizer=loaded.tokenizer)
    np.testing.assert_array_equal(found.value, local(loaded, TEXTS)[0].value)
    with pytest.raises(hs.HeadscopeError, match="together with its tokenizer"):
        local(loaded.model, TEXTS)


def test_shares_of_a_corpus_are_merged(loaded):
    whole, _ = local(loaded, TEXTS)
    _, first = local(loaded, TEXTS[0])
    _, second = local(loaded, TEXTS[1])
    first.merge(type(second).from_state(second.state()))
    np.testing.assert_allclose(first.compute()["encoder"].value, whole.value, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (3, {}, r"^text is 3; expected a text, a list of texts, the Path of"),
        ([], {}, r"^text is \[\]; expected a text"),
        (["a text", Path("my.txt")], {}, r"^text holds a str; expected a text"),
        ("named.txt", {}, r"^text holds 'named.txt', the name of a file; give Path\(\"named.txt\"\)"),
        ([" ", "\n"], {}, r"^text 1 has only blank lines"),
        ("a text", {"packing": "triples"}, r"^packing 'triples' is not known; choose one of pretraining"),
        ("a text", {"batch_size": 0}, r"^batch_size is 0; expected a whole number from 1$"),
        ("a text", {"max_length": 2000}, r"^--max-length 2000 is more than .* can read; expected at most"),
        (
            "one line",
            {"packing": "paragraphs"},
            r"^no input could be built from 1 document with packing paragraphs \(.*\); use --packing single",
        ),
    ],
)
def test_what_cannot_be_scanned_is_refused_in_words(loaded, tmp_path, monkeypatch, texts, options, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "named.txt").write_text("A text.")
    with pytest.raises(hs.HeadscopeError, match=words):
        local(loaded, texts, **options)


def test_without_an_accumulator_there_is_nothing_to_do(loaded):
    with pytest.raises(hs.HeadscopeError, match=r"^accumulators is \[\]; expected a list of one accumulator or more$"):
        hs.scan("a text", [], model=loaded)
