"""Tiny random models with a task head, and a stand-in for their tokenizer."""

from pathlib import Path

import torch
import transformers as tf

from support.inputs import CLS, PAD, SEP
from support.tiny_models import CONFIGS, VOCABULARY, shared_tiny_model

MASK = 98
SENTINELS = (97, 96, 95, 94)
CAUSAL = ("gpt2", "llama", "gpt_neox", "opt", "mistral", "qwen3", "gemma2", "phi3")
BOTH = ("t5", "bart")
TAPPED = tuple(f for f in CONFIGS if f not in ("deberta-v2", "mpnet", "bloom", "falcon"))


def loss_of_family(family: str) -> str:
    return "clm" if family in CAUSAL else "denoise" if family in BOTH else "mlm"


def tiny_task_model(family: str, *, dtype: torch.dtype = torch.float64) -> torch.nn.Module:
    """Return a family's tiny model with a task head and sharp attention, in double precision by default."""
    torch.manual_seed(1 + sum(map(ord, family)))
    auto = {"mlm": tf.AutoModelForMaskedLM, "clm": tf.AutoModelForCausalLM, "denoise": tf.AutoModelForSeq2SeqLM}[
        loss_of_family(family)
    ]
    config = CONFIGS[family]()
    config.pad_token_id = PAD
    model = auto.from_config(config).float().eval()
    base = getattr(model, "base_model", model)
    left = base.load_state_dict(shared_tiny_model(family).state_dict(), strict=False)
    assert all("pooler" in name for name in left.unexpected_keys)
    return model.to(dtype)


def linear_gpt2(favorite: int) -> torch.nn.Module:
    """Return a GPT-2 without MLPs and final norm, sure of a favorite token, so that no softmax bends the loss."""
    model = tiny_task_model("gpt2")
    model.transformer.ln_f = torch.nn.Identity()
    with torch.no_grad():
        for block in model.transformer.h:
            block.mlp.c_proj.weight.zero_()
            block.mlp.c_proj.bias.zero_()
        head = torch.nn.Linear(model.config.n_embd, model.config.vocab_size).double()
        head.bias.zero_()
        head.bias[favorite] = 80.0
    model.lm_head = head
    return model


class MadeUpTokenizer:
    """The part of a tokenizer that the questions need, over the made-up vocabulary."""

    is_fast = True
    eos_token_id = SEP

    def __init__(self, *, mask: bool = True, sentinels: bool = False):
        self.mask_token_id = MASK if mask else None
        self.names = {f"w{i}": i for i in range(VOCABULARY) if i not in SENTINELS or not sentinels}
        if sentinels:
            self.names |= {f"<extra_id_{n}>": i for n, i in enumerate(SENTINELS)}
        self.all_special_ids = [CLS, PAD, SEP, *([MASK] if mask else []), *(SENTINELS if sentinels else ())]

    def get_vocab(self):
        return self.names


def tokenizer_of(family: str) -> MadeUpTokenizer:
    """Return a tokenizer with sentinels for T5, with a mask token for BART and encoders."""
    return MadeUpTokenizer(mask=family != "t5", sentinels=family == "t5")


def save_with_head(folder: Path, bare: Path, auto: type, *, sentinels: int = 0) -> Path:
    """Write a model of a folder's configuration with a random head, and its tokenizer with T5's sentinels."""
    tokenizer = tf.AutoTokenizer.from_pretrained(bare)
    tokenizer.add_tokens([f"<extra_id_{n}>" for n in range(sentinels)], special_tokens=True)
    config = tf.AutoConfig.from_pretrained(bare)
    config.vocab_size = max(config.vocab_size, len(tokenizer))
    torch.manual_seed(5)
    auto.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
