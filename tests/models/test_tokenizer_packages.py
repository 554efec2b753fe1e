"""Folders whose tokenizer is a SentencePiece model, bytes or letters alone; and packages that are missing, in words."""

import subprocess
import sys

import pytest
import transformers as tf

from headscope.encoding.encoder import Encoder
from headscope.errors import ModelError
from headscope.models import refusals
from headscope.models.load_model import load_model
from support.slow_tokenizers import byt5, esm, sentence_piece_model

SIZE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "vocab_size": 90}
MODELS = {
    "spm.model": lambda: tf.DebertaV2Model(tf.DebertaV2Config(**SIZE)),
    "sentencepiece.bpe.model": lambda: tf.XLMRobertaModel(tf.XLMRobertaConfig(**SIZE)),
    "spiece.model": lambda: tf.BertGenerationEncoder(tf.BertGenerationConfig(**SIZE)),
    "tokenizer.model": lambda: tf.LlamaModel(tf.LlamaConfig(**SIZE)),
}


def save(folder, file):
    """A model whose tokenizer is one file of SentencePiece."""
    MODELS[file]().save_pretrained(folder)
    sentence_piece_model(folder).rename(folder / file)
    (folder / "trained.vocab").unlink()
    return folder


@pytest.mark.parametrize("file", MODELS)
def test_a_folder_with_a_sentencepiece_model_alone_loads(file, tmp_path):
    loaded = load_model(save(tmp_path, file))
    encoder = Encoder(loaded.tokenizer)
    (pieces,) = encoder.pieces(["The cat sat"])
    names = "".join(loaded.tokenizer.convert_ids_to_tokens(pieces.ids))
    assert names.replace("\u2581", " ").strip() == "The cat sat"


def test_bytes_need_no_file(tmp_path):
    config = tf.T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=384)
    tf.T5Model(config).save_pretrained(tmp_path)
    byt5().save_pretrained(tmp_path)
    assert type(load_model(tmp_path).tokenizer).__name__ == "ByT5Tokenizer"
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"has no tokenizer: expected tokenizer\.json"):
        load_model(tmp_path)


def test_letters_in_a_vocabulary(tmp_path):
    tf.EsmModel(tf.EsmConfig(**SIZE, pad_token_id=1, max_position_embeddings=40)).save_pretrained(tmp_path)
    esm(tmp_path).save_pretrained(tmp_path)
    assert type(load_model(tmp_path).tokenizer).__name__ == "EsmTokenizer"


def without(monkeypatch, *modules, raised):
    """As where packages are not installed: transformers then raises what it raises."""
    found = refusals.find_spec

    def find(name):
        return None if name in modules else found(name)

    def fail(*_, **__):
        raise raised

    monkeypatch.setattr(refusals, "find_spec", find)
    monkeypatch.setattr(tf.AutoTokenizer, "from_pretrained", fail)


MISLEADING = ValueError("`tiktoken` is required to read a `tiktoken` file. Install it with `pip install tiktoken`.")


@pytest.mark.parametrize(
    ("modules", "words"),
    [
        (("sentencepiece",), "sentencepiece, which is not installed; pip install sentencepiece"),
        (("google.protobuf",), "protobuf, which is not installed; pip install protobuf"),
        (
            ("sentencepiece", "google.protobuf"),
            "sentencepiece and protobuf, which are not installed; pip install sentencepiece protobuf",
        ),
    ],
)
def test_what_a_sentencepiece_model_needs_is_named(modules, words, tmp_path, monkeypatch):
    """Whatever transformers says, which takes the file for tiktoken's where sentencepiece is missing."""
    save(tmp_path, "spm.model")
    without(monkeypatch, *modules, raised=MISLEADING)
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: its tokenizer (spm.model) is read with {words}, or headscope's extra `tokenizers`"
    )


def test_what_tiktoken_reads_needs_tiktoken(tmp_path, monkeypatch):
    save(tmp_path, "tokenizer.model")
    (tmp_path / "tokenizer.model").write_bytes(b"IQ== 0\nIg== 1\n")
    without(monkeypatch, "tiktoken", raised=MISLEADING)
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: its tokenizer (tokenizer.model) is read with tiktoken, which is not installed; pip install "
        "tiktoken, or headscope's extra `tokenizers`"
    )


def test_what_a_single_tokenizer_needs_is_named(tmp_path, monkeypatch):
    tf.BertModel(tf.BertConfig(**SIZE)).save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("[PAD]\n")
    raised = ModuleNotFoundError(
        "You need to install fugashi to use MecabTokenizer. See https://pypi.org/project/fugashi/ for installation."
    )
    without(monkeypatch, "fugashi", raised=raised)
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert str(refused.value) == f"{tmp_path}: its tokenizer needs fugashi, which is not installed; pip install fugashi"


HIDES = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.split(".")[0] == "sentencepiece" else found(name, *rest)
sys.modules["sentencepiece"] = None
from headscope.errors import ModelError
from headscope.models.load_model import load_model
try:
    load_model(sys.argv[1])
except ModelError as error:
    print(error)
"""


@pytest.mark.slow
def test_what_transformers_does_without_sentencepiece_is_said_right(tmp_path):
    """In a process of its own, in which transformers finds no such package."""
    save(tmp_path, "sentencepiece.bpe.model")
    run = subprocess.run([sys.executable, "-c", HIDES, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout == (
        f"{tmp_path}: its tokenizer (sentencepiece.bpe.model) is read with sentencepiece, which is not installed; pip "
        "install sentencepiece, or headscope's extra `tokenizers`\n"
    )
