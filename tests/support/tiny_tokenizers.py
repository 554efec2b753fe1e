"""Tokenizers of at most 99 tokens for the tiny models: letters and a few whole words, split as by WordPiece."""

import string

from support.inputs import CLS, PAD, SEP
from support.tiny_models import VOCABULARY, shared_tiny_model

DECODERS = ("gpt2", "llama", "gpt_neox", "opt", "mistral", "qwen3", "gemma2", "phi3", "bloom", "falcon")
SEQ2SEQ = ("t5", "bart")
WORDS = ("the", "cat", "sat", "on", "mat", "play", "##ing", "dog", "##s", "and", "ran")


def tiny_tokenizer(family: str = "bert"):
    """Return a tokenizer: [CLS] A [SEP] B [SEP] for encoders, A [SEP] for encoder-decoders, plain text for decoders."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [*string.ascii_lowercase, *("##" + letter for letter in string.ascii_lowercase)]
    pieces = ["[CLS]", "[PAD]", "[SEP]", ".", ",", "[UNK]", *letters, *WORDS]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    assert len(vocabulary) <= VOCABULARY
    assert [vocabulary[name] for name in ("[CLS]", "[PAD]", "[SEP]")] == [CLS, PAD, SEP]
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=40))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    single, pair = "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1"
    if family in SEQ2SEQ:
        single, pair = "$A [SEP]", "$A [SEP] $B [SEP]"
    if family not in DECODERS:
        backend.post_processor = processors.TemplateProcessing(
            single=single, pair=pair, special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
        )
    named = {"cls_token": "[CLS]", "sep_token": "[SEP]"} if family not in (*DECODERS, *SEQ2SEQ) else {}
    ends = {"eos_token": "[SEP]"} if family in SEQ2SEQ else {}
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", **named, **ends)


def tiny_loaded(family: str, model=None):
    """Return a tiny model with a matching tokenizer."""
    from headscope.models.load_model import LoadedModel

    return LoadedModel(
        model=shared_tiny_model(family) if model is None else model,
        tokenizer=tiny_tokenizer(family),
        name=f"tiny-{family}",
    )
