"""The cost of effects of heads: passes compared with the formula, and time compared with a loop of transformers hooks.

First-order estimates use the gradient of the unchanged pass: a backward pass, which counts as one more. Processor time
is also given without it.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from headscope.analyses.effects.compute import EffectsMeasurement
from headscope.analyses.effects.sums import EffectsAccumulator
from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.model.loss_source import lists_together
from headscope.attention.scan import scan
from headscope.encoding.loss_questions import Question
from headscope.encoding.segment import Segment
from headscope.models.forward_inputs import model_inputs
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare

MOST = 1.15
"""Largest ratio of passes made to passes of the formula."""
# End of transformers' name for the output projection of a layer's attention.
PROJECTIONS = {"headscope-minilm": "attention.output.dense", "headscope-decoder": "self_attn.o_proj"}


def projections_of(model: nn.Module, name: str) -> list[nn.Module]:
    """Return the output projection of each layer, by transformers' own names."""
    return [part for path, part in model.named_modules() if path.endswith(PROJECTIONS[name])]


def by_scan(source: EffectSource, parts: list[nn.Module]) -> float:
    """Measure all heads as in a run; return the passes per batch, forward and backward, in units of all layers."""
    calls, batches = [0], [0]

    def count(*_: object) -> None:
        calls[0] += 1

    def count_back(_: nn.Module, arguments: tuple[Tensor, ...], answer: Tensor) -> None:
        count()
        if answer.requires_grad:
            answer.register_hook(count)  # type: ignore[no-untyped-call]

    def next_batch(*_: object) -> None:
        batches[0] += 1

    source.after_batch = next_batch
    hooks = [part.register_forward_hook(count_back) for part in parts]
    scan(source, [EffectsAccumulator(source.layout)])
    for hook in hooks:
        hook.remove()
    return calls[0] / len(parts) / batches[0]


def by_hook(source: EffectSource, batches: list[list[Question]], parts: list[nn.Module]) -> Tensor:
    """Ablate each head in whole passes of transformers' own code; return added losses, `[layer, head, input]`."""
    (layout,) = source.layout
    source.model.set_attn_implementation("sdpa")

    def losses(questions: list[Question]) -> Tensor:
        _, inputs, _ = model_inputs([each.segment for each in questions], source.anatomy, source.vocabulary)
        logits = source.model(**inputs).logits.float()
        means = []
        for item, question in enumerate(questions):
            targets = torch.from_numpy(question.targets)
            rows = logits[item, : len(targets)]
            means.append(nn.functional.cross_entropy(rows, targets, ignore_index=-100))
        return torch.stack(means)

    def without(head: int) -> Callable[..., tuple[Tensor]]:
        def change(_: nn.Module, arguments: tuple[Tensor]) -> tuple[Tensor]:
            by_head = arguments[0].clone().unflatten(-1, (layout.heads, -1))
            by_head[..., head, :] = 0
            return (by_head.flatten(-2),)

        return change

    added = []
    with torch.inference_mode():
        before = torch.cat([losses(questions) for questions in batches])
        for part in parts:
            for head in range(layout.heads):
                hook = part.register_forward_pre_hook(without(head))
                added.append(torch.cat([losses(questions) for questions in batches]) - before)
                hook.remove()
    return torch.stack(added).unflatten(0, (layout.layers, layout.heads))


def asked_of(source: EffectSource, segments: list[Segment]) -> Iterator[list[Question]]:
    """Yield the questions of a batch."""
    questions = [source.ask(segment) for segment in segments]
    yield from lists_together([each for each in questions if each is not None], source.anatomy)


def compare(name: str, *, inputs: int) -> bool:
    """Print one model's passes and times; return True if passes are within the aim."""
    options = RunOptions(
        model=name, stages=("effects",), intervention="zero", effect_inputs=inputs, device="cpu", batch_size=4
    )
    source = EffectsMeasurement(prepare(options)).text.source()
    source.batches = list(source.batches)
    batches = [questions for segments in source.batches for questions in asked_of(source, segments)]
    parts = projections_of(source.model, name)
    (layout,) = source.layout
    formula = 1 + layout.heads * (layout.layers + 1) / 2
    began = time.process_time()
    passes = by_scan(source, parts)
    ours = time.process_time() - began
    source.backward = 0
    began = time.process_time()
    by_scan(source, parts)
    exact = time.process_time() - began
    began = time.process_time()
    by_hook(source, batches, parts)
    theirs = time.process_time() - began
    whole = 1 + layout.heads * layout.layers
    print(
        f"{name}: {layout.layers} layers of {layout.heads} heads, {inputs} inputs: {passes:.2f} passes, formula "
        f"{formula:.2f}, ratio {passes / formula:.3f} (aim {MOST}); CPU {ours:.1f} s ({exact:.1f} s without first-"
        f"order estimates), a loop with hooks ({whole} passes) {theirs:.1f} s: {theirs / ours:.2f} times",
        flush=True,
    )
    return passes <= MOST * formula


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=8, help="how many are read (8)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    within = [compare(name, inputs=arguments.inputs) for name in PROJECTIONS]
    if not all(within):
        raise SystemExit("more passes than the aim")


if __name__ == "__main__":
    main()
