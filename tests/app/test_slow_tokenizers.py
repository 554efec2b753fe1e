"""Models whose tokenizer does not say what its pieces cover: all that commands measure, at tokens and at words."""

import numpy as np
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope.encoding.encoder import Encoder
from headscope.encoding.tokenizer.slow_backend import SlowBackend
from headscope.errors import InputError
from headscope.running.extraction import MapOptions, extract
from headscope.scans.declarations.run_options import RunOptions
from headscope.views.text_input import text_input
from support.slow_tokenizers import byt5, esm

TEXTS = ["LAG VS, E.", "GAL.\nSV EE, L.", "VAS L."]


@pytest.fixture(scope="module")
def proteins(tmp_path_factory):
    """A model of letters, and its tokenizer."""
    torch.manual_seed(0)
    config = tf.EsmConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=20,
        pad_token_id=1,
        mask_token_id=19,
        max_position_embeddings=140,
        position_embedding_type="absolute",
        token_dropout=False,
    )
    return tf.EsmForMaskedLM(config).eval(), esm(tmp_path_factory.mktemp("esm"))


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    rows = ["LAG\t2\tnsubj", "VS\t0\troot", ",\t2\tpunct", "E\t2\tobj"]
    lines = [
        f"{number}\t{word}\t_\tNOUN\t_\t_\t{head}\t{relation}\t_\t_"
        for number, row in enumerate(rows, 1)
        for word, head, relation in [row.split("\t")]
    ]
    path = tmp_path_factory.mktemp("trees") / "trees.conllu"
    path.write_text(("\n".join(lines) + "\n\n") * 12)
    return path


def test_statistics_are_those_of_the_models_own_attention(proteins):
    model, tokenizer = proteins
    study = hs.stats(model, tokenizer=tokenizer, text=TEXTS, packing="single")
    rows = [line for text in TEXTS for line in text.splitlines()]
    values = []
    for line in rows:
        given = tokenizer(line, return_tensors="pt")
        eager = tf.AutoModel.from_config(model.config, attn_implementation="eager").eval()
        eager.load_state_dict(model.esm.state_dict(), strict=False)
        with torch.no_grad():
            weights = eager(**given, output_attentions=True).attentions
        own = torch.stack(weights)[:, 0].double()
        values.append(own.diagonal(offset=-1, dim1=-2, dim2=-1).sum(-1) / own.shape[-1])
    expected = torch.stack(values).mean(0).numpy()
    np.testing.assert_allclose(study["previous"].values, expected, atol=1e-6)


def test_every_command_at_tokens_and_words(proteins, treebank):
    model, tokenizer = proteins
    assert hs.distances(model, tokenizer=tokenizer, text=TEXTS, packing="single") is not None
    assert hs.importance(model, tokenizer=tokenizer, text=TEXTS, packing="single", loss="mlm") is not None
    found = hs.syntax(model, tokenizer=tokenizer, treebank=str(treebank))
    assert "trees of 12 sentences" in repr(found)
    assert hs.head_view("LAG VS, E.", model=model, tokenizer=tokenizer) is not None


def test_each_residue_is_a_word_of_its_own(proteins):
    _, tokenizer = proteins
    axis = text_input(Encoder(tokenizer), "LAG V, QE", most=40).axis
    assert axis.tokens == ("<cls>", "L", "A", "G", "V", ",", "Q", "E", "<eos>")
    assert axis.words == (None, 0, 1, 2, 3, 4, 5, 6, None)
    assert axis.unknown == (6,)


def test_maps_by_word_of_text_whose_words_are_not_known_are_refused(tmp_path, monkeypatch):
    config = tf.T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=384)
    config.decoder_start_token_id = config.pad_token_id
    tf.T5Model(config).save_pretrained(tmp_path / "model")
    byt5().save_pretrained(tmp_path / "model")
    (tmp_path / "my.txt").write_text("one two\n")
    options = RunOptions(
        model=str(tmp_path / "model"), text=(str(tmp_path / "my.txt"),), packing="single", max_length=20
    )
    assert extract(options, tmp_path / "maps", MapOptions(word_level="mean")).counts.segments == 1
    # Pieces that spell nothing of the text, and are others where a word is cut by itself.
    monkeypatch.setattr(SlowBackend, "_traced", lambda *_: [])
    assert extract(options, tmp_path / "by-token", MapOptions()).counts.segments == 1
    with pytest.raises(InputError) as refused:
        extract(options, tmp_path / "others", MapOptions(word_level="mean"))
    assert str(refused.value) == (
        "ByT5Tokenizer does not say which characters each token covers, and its tokens of input 1 do not spell the "
        "text out; extract attention between tokens (without --word-level), or give a model with a tokenizer.json"
    )


def test_the_signature_tells_tokenizers_apart(proteins, tmp_path):
    from headscope.scans.prepare.reading_model import tokenizer_hash

    _, tokenizer = proteins
    again = tmp_path / "again"
    again.mkdir()
    assert tokenizer_hash(tokenizer) == tokenizer_hash(esm(again))
    (again / "vocab.txt").write_text((again / "vocab.txt").read_text().replace("L\nA", "A\nL"))
    other = type(tokenizer)(str(again / "vocab.txt"))
    assert tokenizer_hash(tokenizer) != tokenizer_hash(other)
    assert tokenizer_hash(byt5()) != tokenizer_hash(tokenizer)
