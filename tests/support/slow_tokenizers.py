"""Tokenizers in Python, which return no offsets: letters, bytes, SentencePiece and WordPiece."""

from collections.abc import Sequence
from pathlib import Path

import pytest

ESM = ["<cls>", "<pad>", "<eos>", "<unk>", "L", "A", "G", "V", "S", "E", "R", "T", "I", "D", ".", ",", "-", "<mask>"]
TEXTS = ("The cat sat on the mat, and it slept there.", "A dog ran away from the house!", "Where did the big dog go?")


def byt5():
    """Return a tokenizer of bytes, which needs no file."""
    from transformers import ByT5Tokenizer

    return ByT5Tokenizer()


def esm(folder: Path):
    """Return a tokenizer of amino acids, one token per letter."""
    from transformers import EsmTokenizer

    (folder / "vocab.txt").write_text("\n".join(ESM), encoding="utf-8")
    return EsmTokenizer(str(folder / "vocab.txt"))


def sentence_piece_model(folder: Path, texts: Sequence[str] = TEXTS, *, size: int = 40) -> Path:
    """Train a SentencePiece model; return its file."""
    spm = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    (folder / "lines.txt").write_text("\n".join([*texts] * 30), encoding="utf-8")
    spm.SentencePieceTrainer.train(
        input=str(folder / "lines.txt"),
        model_prefix=str(folder / "trained"),
        vocab_size=size,
        minloglevel=2,
        hard_vocab_limit=False,
    )
    (folder / "lines.txt").unlink()
    return folder / "trained.model"


def sentence_piece(folder: Path, texts: Sequence[str] = TEXTS):
    """Return transformers' Python tokenizer of a trained SentencePiece model."""
    from transformers import BertGenerationTokenizer

    return BertGenerationTokenizer(str(sentence_piece_model(folder, texts)))


def word_piece(folder: Path, vocabulary: Sequence[str]):
    """Return a WordPiece tokenizer in Python, for a vocabulary in the order of its ids."""
    from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    return BertTokenizerLegacy(str(folder / "vocab.txt"), do_lower_case=True)
