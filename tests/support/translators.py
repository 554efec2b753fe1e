"""Tiny random translation models, in memory, whose tokenizers split source and target differently."""

import json
from pathlib import Path

import pytest
import torch
import transformers as tf

from support.tiny_models import BART_SIZES

SOURCE, TARGET = "She sees the small elephant.", "Sie sieht den kleinen Elefanten."
_TEXTS = {
    "source": (SOURCE, "The cat sat on the mat.", "The dog ran home and slept there."),
    "target": (TARGET, "Die Katze lag auf der Matte.", "Der Hund lief nach Hause und schlief dort."),
}
_SIZES = {**BART_SIZES, "max_position_embeddings": 100}
FAMILIES = ("marian", "m2m_100", "nllb", "mbart", "plbart")


def translator(family: str, folder: Path, *, target: str | None = "de"):
    """Return a model with its head and its tokenizer, which marks the target as German, or as `target`."""
    tokenizer, config, cls = _MAKERS[family](folder, target)
    torch.manual_seed(0)
    model = cls(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed_positions" not in name:
                parameter.copy_(torch.randn_like(parameter) * 0.4)
    return model, tokenizer


def _pieces(folder: Path, name: str, texts) -> tuple[Path, list[str]]:
    """Train a SentencePiece model; return its file and its pieces."""
    spm = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts] * 30),
        model_prefix=str(folder / name),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    processor = spm.SentencePieceProcessor(str(folder / f"{name}.model"))
    pieces = [processor.id_to_piece(number) for number in range(processor.get_piece_size())]
    return folder / f"{name}.model", [piece for piece in pieces if piece not in ("<unk>", "<s>", "</s>")]


def _vocabulary(folder: Path, pieces: list[str], specials: list[str]) -> Path:
    names = dict.fromkeys([*specials, *pieces])
    path = folder / "vocab.json"
    path.write_text(json.dumps({name: number for number, name in enumerate(names)}), encoding="utf-8")
    return path


def _marian(folder, target):
    files, pieces = zip(*(_pieces(folder, name, texts) for name, texts in _TEXTS.items()), strict=True)
    vocabulary = _vocabulary(folder, [piece for side in pieces for piece in side], ["</s>", "<unk>", "<pad>"])
    tokenizer = tf.MarianTokenizer(*map(str, files), str(vocabulary), source_lang="en", target_lang=target)
    ends = {"pad_token_id": 2, "eos_token_id": 0, "decoder_start_token_id": 2, "forced_eos_token_id": 0}
    config = tf.MarianConfig(vocab_size=len(tokenizer), **ends, **_SIZES)
    return tokenizer, config, tf.MarianMTModel


def _all_texts() -> list[str]:
    return [text for side in _TEXTS.values() for text in side]


def _m2m_100(folder, target):
    file, pieces = _pieces(folder, "both", _all_texts())
    vocabulary = _vocabulary(folder, pieces, ["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer = tf.M2M100Tokenizer(str(vocabulary), str(file), src_lang="en", tgt_lang=target)
    config = tf.M2M100Config(vocab_size=200, **_SIZES)
    return tokenizer, config, tf.M2M100ForConditionalGeneration


def _nllb(folder, target):
    letters = [*sorted(set("".join(_all_texts())) - {" "}), "▁"]
    vocabulary = {name: number for number, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *letters])}
    tokenizer = tf.NllbTokenizer(
        vocab=vocabulary,
        merges=[],
        src_lang="eng_Latn",
        tgt_lang=target and "deu_Latn",
        extra_special_tokens=["deu_Latn", "eng_Latn"],
    )
    config = tf.M2M100Config(vocab_size=len(tokenizer), **_SIZES)
    return tokenizer, config, tf.M2M100ForConditionalGeneration


def _mbart(folder, target):
    letters = [*sorted(set("".join(_all_texts())) - {" "}), "▁"]
    names = ["<s>", "<pad>", "</s>", "<unk>", *letters]
    tokenizer = tf.MBartTokenizer(vocab=[(name, -1.0) for name in names], src_lang="en_XX", tgt_lang=target and "de_DE")
    return tokenizer, tf.MBartConfig(vocab_size=len(tokenizer), **_SIZES), tf.MBartForConditionalGeneration


def _plbart(folder, target):
    file, _ = _pieces(folder, "both", _all_texts())
    tokenizer = tf.PLBartTokenizer(str(file), src_lang="java", tgt_lang=target and "python", language_codes="base")
    return tokenizer, tf.PLBartConfig(vocab_size=len(tokenizer), **_SIZES), tf.PLBartForConditionalGeneration


_MAKERS = {"marian": _marian, "m2m_100": _m2m_100, "nllb": _nllb, "mbart": _mbart, "plbart": _plbart}
