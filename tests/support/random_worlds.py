"""Models with random weights, their report on 40 documents, and the same numbers by plain loops over other text."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
import transformers as tf

import headscope as hs
from headscope.installing import demo_text
from headscope.models.load_model import load_tokenizer

LAYERS, HEADS, LENGTH = 2, 4, 64
DOCUMENTS = 40
_SHAPE = {"hidden_size": 32, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": 32}
_LINES = 2  # lines of each document
_STEP = 7  # one token in `_STEP` is masked, or predicted


@dataclass(frozen=True)
class RandomWorld:
    """A model with random weights.

    Attributes:
        folder: folder for its files.
        family: `bert` or `llama`.
        seed: seed of the weights.
        spread: standard deviation of the weights: small weights give nearly uniform attention, large ones do not.
    """

    folder: Path
    family: str
    seed: int
    spread: float

    @cached_property
    def tokenizer(self):
        return load_tokenizer("headscope-minilm" if self.family == "bert" else "headscope-decoder")[0]

    @cached_property
    def model(self):
        torch.manual_seed(self.seed)
        shape = {**_SHAPE, "vocab_size": len(self.tokenizer), "max_position_embeddings": LENGTH}
        shape |= {"initializer_range": self.spread, "attn_implementation": "eager"}
        special = {name: getattr(self.tokenizer, name) for name in ("bos_token_id", "eos_token_id")}
        config = tf.BertConfig(**shape) if self.family == "bert" else tf.LlamaConfig(**shape, **special)
        make = tf.BertForMaskedLM if self.family == "bert" else tf.LlamaForCausalLM
        return make(config).eval()

    def lines(self, half: int) -> list[list[str]]:
        """Return the lines of each document: its first lines, or for the other half the lines after them."""
        documents = [text.split("\n") for text in demo_text().read_text(encoding="utf-8").strip().split("\n\n")]
        long = [document for document in documents if len(document) >= 2 * _LINES][:DOCUMENTS]
        return [document[half * _LINES : (half + 1) * _LINES] for document in long]

    def report(self, half: int):
        """Return the study of a half of the text."""
        self.model.save_pretrained(self.folder / "model")
        self.tokenizer.save_pretrained(self.folder / "model")
        text = self.folder / f"text-{half}.txt"
        text.write_text("\n\n".join("\n".join(lines) for lines in self.lines(half)) + "\n", encoding="utf-8")
        return hs.report(
            str(self.folder / "model"),
            text=str(text),
            packing="single",
            include=["effects"],
            effect_inputs=DOCUMENTS,
            joint_inputs=12,
            controls=0,
            max_length=LENGTH,
            out=self.folder / f"run-{half}",
        )

    @cached_property
    def study(self):
        return self.report(0)

    @cached_property
    def again(self):
        """Return the study of the other half: a finding on the weights must hold there, too."""
        return self.report(1)

    def inputs(self, half: int) -> list[torch.Tensor]:
        lines = [line for document in self.lines(half) for line in document]
        return [
            self.tokenizer(line, truncation=True, max_length=LENGTH, return_tensors="pt")["input_ids"] for line in lines
        ]

    def attention(self, half: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the token ids of each input, and transformers' own attention, `[layer, head, query, key]`."""
        with torch.inference_mode():
            return [
                (ids[0].numpy(), torch.stack(self.model(ids, output_attentions=True).attentions)[:, 0].double().numpy())
                for ids in self.inputs(half)
            ]

    def shares(self, half: int) -> dict[str, np.ndarray]:
        """Return the reported measures, averaged over rows and then inputs, `[layer, head]` each.

        `entropy_ratio` is relative to the entropy of uniform attention; shares that cannot occur are missing.
        """
        sums: dict[str, list[np.ndarray]] = {}
        marks = [self.tokenizer.convert_tokens_to_ids(mark) for mark in (".", ",", "Ġ.", "Ġ,")]
        for ids, weights in self.attention(half):
            n = len(ids)
            at = np.arange(n)
            seen = np.ones((n, n), bool) if self.family == "bert" else at[None] <= at[:, None]
            sep = ids == self.tokenizer.sep_token_id if self.family == "bert" else np.zeros(n, bool)
            first = at == 0
            with np.errstate(divide="ignore", invalid="ignore"):
                entropy = -np.where(weights > 0, weights * np.log(weights), 0.0).sum(-1)
            of_input = {
                "previous": (weights * (at[None] == at[:, None] - 1)).sum(-1).mean(-1),
                "current": (weights * np.eye(n)).sum(-1).mean(-1),
                "cls": weights[..., first].sum(-1).mean(-1),
                "period_comma": weights[..., np.isin(ids, marks)].sum(-1).mean(-1),
                "max_weight": weights.max(-1).mean(-1),
                "entropy": entropy.mean(-1),
                "entropy_cls": entropy[..., 0],
                "uniform": np.broadcast_to(np.log(seen.sum(1)).mean(), weights.shape[:2]),
            }
            if self.family == "bert":
                of_input["next"] = (weights * (at[None] == at[:, None] + 1)).sum(-1).mean(-1)
                of_input["sep"] = weights[..., sep].sum(-1).mean(-1)
                of_input["sep_to_sep"] = weights[..., sep, :][..., sep].sum(-1).mean(-1)
                of_input["other_to_sep"] = weights[..., ~sep, :][..., sep].sum(-1).mean(-1)
            for name, value in of_input.items():
                sums.setdefault(name, []).append(value)
        found = {name: np.mean(values, axis=0) for name, values in sums.items()}
        return found | {"entropy_ratio": found["entropy"] / found["uniform"]}

    def distances(self, half: int) -> np.ndarray:
        """Return the Jensen-Shannon divergence of each pair of heads over all rows, `[head, head]`, in layer order."""
        total, rows = np.zeros((LAYERS * HEADS,) * 2), 0
        for _, weights in self.attention(half):
            n = weights.shape[-1]
            flat = weights.reshape(LAYERS * HEADS, n, n)
            if self.family == "bert":
                flat = 0.999 * flat + 0.001 / n
            for one in range(len(flat)):
                middle = (flat[one] + flat) / 2
                with np.errstate(divide="ignore", invalid="ignore"):
                    parts = [np.where(p > 0, p * np.log(p / middle), 0.0) for p in (flat[one][None] + 0 * flat, flat)]
                total[one] += (parts[0] + parts[1]).sum((-1, -2)) / 2
            rows += n
        return total / rows

    def loss(self, half: int, without: tuple[tuple[int, int], ...] = ()) -> float:
        """Return the model's loss in nats per token with some heads, 0-based (layer, head), set to zero."""
        width = 32 // HEADS

        def silence(layer: int):
            heads = [head for at, head in without if at == layer]

            def hook(_, given):
                written = given[0].clone()
                for head in heads:
                    written[..., head * width : (head + 1) * width] = 0
                return (written, *given[1:])

            return hook

        bert = self.family == "bert"
        layers = self.model.bert.encoder.layer if bert else self.model.model.layers
        out = [layer.attention.output.dense if bert else layer.self_attn.o_proj for layer in layers]
        hooks = [module.register_forward_pre_hook(silence(number)) for number, module in enumerate(out)]
        losses = []
        with torch.inference_mode():
            for ids in self.inputs(half):
                shown = ids.clone()
                at = torch.arange(3, ids.shape[1] - 1, _STEP)
                if bert:
                    shown[0, at] = self.tokenizer.mask_token_id
                logits = self.model(shown).logits[0, at if bert else at - 1]
                losses.append(torch.nn.functional.cross_entropy(logits, ids[0, at]).item())
        for hook in hooks:
            hook.remove()
        return float(np.nanmean(losses))
