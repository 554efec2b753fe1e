"""Changes of heads in transformers' own code: hooks on output projections that are found by transformers' names."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from headscope.attention.head_id import HeadId
from headscope.attention.interventions.intervention import halves_of
from headscope.encoding.loss_questions import NO_TARGET, Question
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs
from support.inputs import CLS, SEP, vocabulary

# For each kind of attention, the endings of transformers' names for the output projection of a layer.
_PROJECTIONS = {
    "cross": ("EncDecAttention.o", "encoder_attn.out_proj"),
    "encoder": ("attention.output.dense", "attention.out_lin", "attention.dense", "attn.Wo", "SelfAttention.o",
                "self_attn.out_proj"),
    "decoder": ("attn.c_proj", "self_attn.o_proj", "attention.dense", "SelfAttention.o", "self_attn.out_proj"),
}  # fmt: skip
OutputOf = Callable[[Tensor], Tensor]
"""Map one head's output, `[batch, row, width]`, to its replacement."""


def named_projections(model: nn.Module, kind: str, *, both: bool) -> list[nn.Module]:
    """Return the modules of a kind in the order of layers, found by transformers' names alone."""
    return [
        part
        for name, part in model.named_modules()
        if name.endswith(_PROJECTIONS[kind]) and (not both or kind == "cross" or f"{kind}." in name)
    ]


@contextmanager
def hooked(model: nn.Module, anatomy: Anatomy, changes: dict[HeadId, OutputOf]) -> Iterator[None]:
    """Change the heads' slices of the inputs of the model's own output projections."""
    hooks = []
    for head, change in changes.items():
        size = next(part.heads for part in anatomy.layout if part.kind == head.kind)
        layer, number = head.position
        module = named_projections(model, head.kind, both=len(anatomy.layout) > 1)[layer]

        def before(part, arguments, number=number, size=size, change=change):
            by_head = arguments[0].clone().unflatten(-1, (size, -1))
            by_head[..., number, :] = change(by_head[..., number, :])
            return (by_head.flatten(-2),)

        hooks.append(module.register_forward_pre_hook(before))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def logs_of(model: nn.Module, anatomy: Anatomy, question: Question) -> Tensor:
    """Compute a model's log-probabilities at a question's targets, `[target, token]`: one input, unpadded, eager."""
    decoders = None if question.decoder is None else [question.decoder]
    _, inputs, _ = model_inputs([question.segment], anatomy, vocabulary(), decoders=decoders)
    model.set_attn_implementation("eager")
    with torch.no_grad():
        logits = model(**inputs).logits[0]
    return torch.log_softmax(logits.double(), dim=-1)[torch.from_numpy(question.targets) != NO_TARGET]


def effect_of(logs: Tensor, changed: Tensor, question: Question) -> tuple[float, float, float]:
    """Return the added loss, KL(p || q), and the drop of the correct token's logit relative to the mean logit."""
    right = torch.from_numpy(question.targets[question.targets != NO_TARGET])[:, None]
    added = (logs.gather(1, right) - changed.gather(1, right)).mean()
    divergence = (logs.exp() * (logs - changed)).sum(-1).mean()
    above = [(each - each.mean(-1, keepdim=True)).gather(1, right) for each in (logs, changed)]
    return float(added), float(divergence), float((above[0] - above[1]).mean())


def heads_of(anatomy):
    """Return all heads of a model."""
    return [
        HeadId.at(part.kind, layer, head)
        for part in anatomy.layout
        for layer in range(part.layers)
        for head in range(part.heads)
    ]


def classes_of(segment):
    """Return the class of each row, by definition; the made-up tokenizer has a [CLS]."""
    names = []
    for position, token in enumerate(segment.ids.tolist()):
        first = "first" if position == 0 else "other"
        names.append("cls" if token == CLS else "sep" if token == SEP else first)
    return names


def outputs_by_hook(model, anatomy, questions):
    """Return every head's output in every input, read by a hook: {(number of the question, head): [row, width]}."""
    outputs = {}
    for number, question in enumerate(questions):

        def look(head, number=number):
            def keep(slices):
                outputs[number, head] = slices.reshape(-1, slices.shape[-1]).clone()
                return slices

            return keep

        with hooked(model, anatomy, {head: look(head) for head in heads_of(anatomy)}):
            logs_of(model, anatomy, question)
    return outputs


def rows_of(question, kind):
    """Return the segment to which the rows of a kind of attention belong."""
    return question.segment if kind == "encoder" or question.decoder is None else question.decoder


def means_by_loop(questions, outputs, head, half):
    """Return one head's mean output in rows of each class, over the documents of a half."""
    halves = halves_of([question.segment.document for question in questions])
    by_class, every = {}, []
    for number, question in enumerate(questions):
        if halves[question.segment.document] != half:
            continue
        names = classes_of(rows_of(question, head.kind))
        for name, row in zip(names, outputs[number, head], strict=True):
            by_class.setdefault(name, []).append(row)
            every.append(row)
    means = {name: torch.stack(rows).mean(0) for name, rows in by_class.items()}
    return means, torch.stack(every).mean(0)
