"""Model folders on disk: a tiny random BERT with the embedded model's tokeniser."""

from pathlib import Path

import pytest
import torch


def save_tiny_bert(folder: Path, *, heads: int = 2, layers: int = 2) -> Path:
    """Write a whole model folder as save_pretrained does."""
    minilm = pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=16,
        vocab_size=30522,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    AutoTokenizer.from_pretrained(minilm.folder()).save_pretrained(folder)
    return folder
