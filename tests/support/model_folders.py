"""Model folders on disk: a tiny random BERT with the embedded model's tokenizer, GPT-2 and T5 with their own."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

WHOLE = 30522  # vocabulary size of the embedded model, whose tokenizer loads more slowly than a tiny model
FEWER = 6000  # size of a shorter vocabulary: all letters and the most frequent words


def save_tiny_bert(folder: Path, *, heads: int = 2, layers: int = 2, pieces: int = FEWER) -> Path:
    """Write a whole model folder as save_pretrained does, without a task head."""
    from transformers import BertModel

    make = partial(BertModel, add_pooling_layer=False)
    return _save_bert(make, folder, heads=heads, layers=layers, pieces=pieces)


def save_tiny_masked_lm(folder: Path, *, heads: int = 2, layers: int = 2, pieces: int = FEWER) -> Path:
    """Write a whole model folder with a masked-LM head."""
    from transformers import BertForMaskedLM

    return _save_bert(BertForMaskedLM, folder, heads=heads, layers=layers, pieces=pieces)


def _save_bert(make: Callable[[Any], Any], folder: Path, *, heads: int, layers: int, pieces: int = FEWER) -> Path:
    minilm = pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    from transformers import AutoTokenizer, BertConfig

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=max(16, 2 * heads),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=16,
        vocab_size=pieces,
    )
    make(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(minilm.folder()).save_pretrained(folder)
    path = folder / "tokenizer.json"
    definition = json.loads(path.read_text(encoding="utf-8"))
    whole = definition["model"]["vocab"]
    definition["model"]["vocab"] = {piece: number for piece, number in whole.items() if number < pieces}
    path.write_text(json.dumps(definition), encoding="utf-8")
    return folder


def save_few_heads(folder: Path, model: Path, *, layers: int) -> Path:
    """Write a narrow random decoder with the configuration, heads and tokenizer of a larger one, but fewer layers."""
    import transformers as tf

    config = tf.AutoConfig.from_pretrained(
        model, num_hidden_layers=layers, hidden_size=32, head_dim=4, intermediate_size=16
    )
    torch.manual_seed(0)
    tf.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tf.AutoTokenizer.from_pretrained(model).save_pretrained(folder)
    return folder


def save_classifier(folder: Path, bare: Path, classes: Sequence[str], **settings: Any) -> Path:
    """Write a model with a folder's configuration and a random classification head, and its tokenizer."""
    import transformers as tf

    config = tf.AutoConfig.from_pretrained(bare, num_labels=len(classes))
    config.id2label = dict(enumerate(classes))
    config.label2id = {name: number for number, name in enumerate(classes)}
    config.pad_token_id = 0
    for name, value in settings.items():
        setattr(config, name, value)
    torch.manual_seed(3)
    model = tf.AutoModelForSequenceClassification.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(6)  # sharp attention, and classes far apart
    model.save_pretrained(folder)
    tf.AutoTokenizer.from_pretrained(bare).save_pretrained(folder)
    return folder


def save_tiny_gpt2(folder: Path, sentences: Sequence[str]) -> Path:
    """Write a tiny random GPT-2 with its own byte-level BPE, which adds no token to a text."""
    from transformers import GPT2Config, GPT2Model

    size = _save_bpe(folder, sentences)
    config = GPT2Config(n_embd=16, n_layer=2, n_head=2, vocab_size=size, n_positions=128)
    GPT2Model(config).save_pretrained(folder)
    return folder


def save_tiny_llama(folder: Path, sentences: Sequence[str]) -> Path:
    """Write a tiny random Llama whose heads share keys and values two by two, with the same tokenizer."""
    from transformers import LlamaConfig, LlamaModel

    size = _save_bpe(folder, sentences)
    config = LlamaConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=size,
        max_position_embeddings=128,
        initializer_range=0.5,  # large weights make its heads attend to different tokens
    )
    LlamaModel(config).save_pretrained(folder)
    return folder


def save_tiny_bloom(folder: Path, sentences: Sequence[str]) -> Path:
    """Write a tiny random BLOOM, whose attention bypasses the attention interface, with the same tokenizer."""
    from transformers import BloomConfig, BloomModel

    size = _save_bpe(folder, sentences)
    BloomModel(BloomConfig(hidden_size=16, n_layer=2, n_head=2, vocab_size=size)).save_pretrained(folder)
    return folder


def _save_bpe(folder: Path, sentences: Sequence[str]) -> int:
    """Write a byte-level BPE trained on the sentences, and return its vocabulary size."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2TokenizerFast

    torch.manual_seed(0)
    end = "<|endoftext|>"
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(sentences, vocab_size=400, special_tokens=[end], show_progress=False)
    folder.mkdir(parents=True, exist_ok=True)
    trained.save_model(str(folder))
    GPT2TokenizerFast.from_pretrained(folder).save_pretrained(folder)
    size: int = trained.get_vocab_size()
    return size


def save_tiny_t5(folder: Path, sentences: Sequence[str]) -> Path:
    """Write a tiny random T5 with its own unigram tokenizer, which ends a text with `</s>`."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast, T5Config, T5Model

    torch.manual_seed(0)
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    names = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=300, special_tokens=names, unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(sentences, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    config = T5Config(
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=2,
        num_heads=2,
        vocab_size=backend.get_vocab_size(),
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    T5Model(config).save_pretrained(folder)
    return folder
