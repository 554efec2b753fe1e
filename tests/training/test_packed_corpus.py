"""The corpus in memory: packing and the held-out part."""

import numpy as np
import pytest

from headscope.corpora.document import Document
from headscope.corpora.trees.treebank import read_treebank
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.errors import InputError
from headscope_train.packed_corpus import PackedInputs, hold_out, pack_inputs
from headscope_train.text import TrainingText


@pytest.fixture(scope="module")
def encoder():
    minilm = pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    from transformers import AutoTokenizer

    return Encoder(AutoTokenizer.from_pretrained(minilm.folder()))


def made_up(sizes, *, seed=0):
    """Return documents with these numbers of inputs of three tokens each."""
    number = sum(sizes)
    rng = np.random.default_rng(seed)
    return PackedInputs(
        ids=np.zeros(3 * number, np.int32),
        types=np.zeros(3 * number, np.uint8),
        starts=np.arange(0, 3 * number + 1, 3),
        documents=np.repeat(np.arange(len(sizes)), sizes),
        keys=rng.integers(0, 2**63, number).astype(np.uint64),
        hash="",
        read=len(sizes),
        left_out={},
    )


def test_packed_inputs_are_the_packers_segments(encoder):
    documents = [
        Document(id="a", lines=("The cat sat.", "It slept, and dreamt of fish.")),
        Document(id="b", lines=("One line.",)),
        Document(id="c", lines=("A dog came by, and by.", "It looked at it for long.") * 3),
    ]
    inputs = pack_inputs(documents, Packer(encoder, max_length=16), seed=4)
    segments = list(Packer(encoder, max_length=16).pack(documents))
    assert len(inputs) == len(segments) > 2
    for place, segment in enumerate(segments):
        ids, types = inputs.of(place)
        assert ids.tolist() == segment.ids.tolist()
        assert types.tolist() == segment.token_types.tolist()
        assert set(types.tolist()) == {0, 1}
    assert inputs.lengths.tolist() == [len(segment) for segment in segments]
    whose = {"a": 0, "c": 1}
    assert inputs.documents.tolist() == [whose[segment.document] for segment in segments]
    assert (inputs.read, inputs.left_out) == (3, {"no second line to pair with": 1})
    assert len(set(inputs.keys.tolist())) == len(inputs)
    other = pack_inputs(documents, Packer(encoder, max_length=16), seed=5)
    assert not set(other.keys.tolist()) & set(inputs.keys.tolist())
    assert len(pack_inputs(documents, Packer(encoder, max_length=16), max_inputs=1)) == 1


def test_nothing_to_train_on(encoder):
    documents = [Document(id="a", lines=("one",)), Document(id="b", lines=("two",))]
    with pytest.raises(InputError) as refused:
        pack_inputs(documents, Packer(encoder))
    assert str(refused.value) == (
        "no input could be built from 2 documents (no second line to pair with: 2); a document of one line needs "
        "--packing single"
    )


def test_a_treebanks_sentences_are_inputs(encoder, treebank):
    text = TrainingText(treebank=(str(treebank),))
    sentences = [s for document in read_treebank(treebank) for s in document.sentences]
    assert text.name == "small.conllu"
    assert list(text.lines()) == [sentence.text for sentence in sentences]
    inputs = pack_inputs(text.read(), Packer(encoder, packing="pretraining", max_length=128))
    assert len(inputs) == len(sentences)
    assert not inputs.types.any()
    said = encoder.tokenizer.decode(inputs.of(5)[0], skip_special_tokens=True)
    assert said.replace(" ", "") == sentences[5].text.lower().replace(" ", "")


def test_text_comes_before_treebanks_and_standard_input_is_kept(treebank, tmp_path, monkeypatch):
    import io
    import sys

    path = tmp_path / "my.txt"
    path.write_text("first line\n\nsecond document\n")
    both = list(TrainingText(text=(str(path),), treebank=(str(treebank),)).read())
    assert [document.lines for document in both[:2]] == [("first line",), ("second document",)]
    assert [document.whole for document in both[:3]] == [False, False, True]
    assert len({document.id for document in both}) == len(both) == 14
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    piped = TrainingText(text=("-",))
    assert piped.name == "standard input"
    assert list(piped.lines()) == list(piped.lines()) == ["first line", "second document"]


def test_pieces_of_another_tokenizer_train_none(tmp_path):
    path = tmp_path / "cut.json"
    path.write_text('[{"tokens": ["[CLS]", "a", "[SEP]"]}]')
    with pytest.raises(InputError) as refused:
        list(TrainingText(text=(str(path),)).lines())
    assert str(refused.value) == (
        f"{path}, entry 1: expected text or words to train a tokenizer on, found tokens; give --tokenizer the one "
        "that they were cut by"
    )


@pytest.mark.parametrize(
    ("sizes", "share", "documents"),
    [
        ([2] * 1000, 0.05, 50),
        ([2] * 100, 0.05, 10),  # intervals need 10
        ([2] * 30, 0.05, 6),  # but no more than a fifth
        ([2] * 3, 0.05, 1),
        ([2] * 3, 0.9, 2),  # some inputs remain for training
        ([30] * 1000, 0.5, 33),  # 1,000 inputs are enough
        ([2000] * 4, 0.05, 1),  # whole documents are held out
    ],
)
def test_whole_documents_are_held_out(sizes, share, documents):
    inputs = made_up(sizes)
    train, held = hold_out(inputs, share=share)
    assert sorted([*train, *held]) == list(range(len(inputs)))
    whose = set(inputs.documents[held])
    assert len(whose) == documents
    assert not whose & set(inputs.documents[train])
    # The held-out documents are chosen by hash: not the first ones, and others under another seed.
    if documents > 5:
        assert whose != set(range(documents))
        assert set(made_up(sizes, seed=1).documents[hold_out(made_up(sizes, seed=1), share=share)[1]]) != whose


def test_inputs_of_a_single_document_are_held_out():
    train, held = hold_out(made_up([40]), share=0.05)
    assert (len(train), len(held)) == (38, 2)
    train, held = hold_out(made_up([2]), share=0.05)
    assert (len(train), len(held)) == (1, 1)


def test_nothing_is_held_out_where_nothing_is_asked():
    train, held = hold_out(made_up([1]), share=0.0)
    assert (train.tolist(), held.tolist()) == ([0], [])


def test_one_input_is_too_few():
    with pytest.raises(InputError) as refused:
        hold_out(made_up([1]), share=0.05)
    assert str(refused.value) == (
        "the corpus makes one input, and one is needed to train on and one to measure on; give more text, or "
        "--held-out 0"
    )
