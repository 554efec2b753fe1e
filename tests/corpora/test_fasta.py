"""FASTA: one document per record, with its header as a field."""

import pytest

import headscope as hs
from headscope.corpora import plain
from headscope.corpora.reading import read_corpus
from headscope.errors import InputError
from support.slow_tokenizers import esm

PROTEINS = ">first of two | made up\nLAGV\nSERT\n\n; a remark\n  GA \n>empty\n>second\r\nTRES*\n"


def read(folder, text, name="my.fasta"):
    (folder / name).write_text(text, newline="")
    return list(read_corpus(folder / name))


@pytest.mark.parametrize("name", ["my.fasta", "my.FA", "my.faa", "my.fna"])
def test_each_record_is_a_document_of_its_own(name, tmp_path):
    first, second = read(tmp_path, PROTEINS, name)
    assert (first.lines, second.lines) == (("LAGVSERTGA",), ("TRES*",))
    assert (first.whole, second.whole) == (True, True)
    assert (first.fields, second.fields) == ({"header": "first of two | made up"}, {"header": "second"})
    assert first.origin.endswith(f"{name}, line 1")
    assert second.origin.endswith(f"{name}, line 8")
    assert first.id != second.id


def said(folder, text):
    with pytest.raises(InputError) as refused:
        read(folder, text)
    return str(refused.value).removeprefix(f"{folder / 'my.fasta'}")


def test_what_is_no_fasta_is_refused_in_words(tmp_path, monkeypatch):
    assert said(tmp_path, "\nThe cat sat.\n>x\nLA\n") == (
        ", line 2: expected a header line, which begins with >, found 'The cat sat.'; put one before each sequence, or "
        "name a file of text FILE.txt"
    )
    assert said(tmp_path, ">x\n>y\n\n") == (
        " has no sequence: expected FASTA: a header line that begins with >, then the sequence on one line or several"
    )
    monkeypatch.setattr(plain, "MAX_DOCUMENT", 7)
    assert said(tmp_path, ">x\nLAGV\n>y\nLAGV\nSERT\n") == (
        ", line 3: a record of more than 64 million characters begins here; cut it in parts"
    )


def test_a_model_of_proteins_reads_residues_and_not_headers(tmp_path):
    import torch
    from transformers import EsmConfig, EsmModel

    torch.manual_seed(0)
    tokenizer = esm(tmp_path)
    config = EsmConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=80,
        pad_token_id=1,
        mask_token_id=len(tokenizer) - 1,
    )
    model = EsmModel(config, add_pooling_layer=False).eval()
    (tmp_path / "my.fasta").write_text(PROTEINS.replace("*", ""))
    study = hs.stats(model=model, tokenizer=tokenizer, text=[tmp_path / "my.fasta"], max_length=40)
    counts = study.manifest["counts"]
    assert (counts["documents"], counts["segments"], counts["tokens"]) == (2, 2, 12 + 6)
    found = hs.attention("LAGVSERT", model=model, tokenizer=tokenizer, level="word")
    assert found.coords["query"].values.tolist() == ["<cls>", *"LAGVSERT", "<eos>"]
