"""AdamW with warm-up and linear decay, and its state as named tensors."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

_MOMENTS = ("exp_avg", "exp_avg_sq")
CLIP = 1.0
DECAY = 0.01


def make_optimizer(model: nn.Module) -> torch.optim.AdamW:
    """Return AdamW over a model's parameters, with weight decay only on matrices, not on biases and norms."""
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [p for p in trainable if p.ndim > 1], "weight_decay": DECAY},
        {"params": [p for p in trainable if p.ndim <= 1], "weight_decay": 0.0},
    ]
    fused = all(parameter.device.type in ("cpu", "cuda") for parameter in trainable)
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-6, fused=fused)


def rate_at(step: int, *, steps: int, highest: float, warm_up: float) -> float:
    """Return the learning rate of a step, counted from 0.

    It rises linearly over the first `warm_up` of the steps, reaches `highest`, and falls linearly toward 0, the value
    of the step after the last.
    """
    rising = int(warm_up * steps)
    if step < rising:
        return highest * (step + 1) / (rising + 1)
    return highest * (steps - step) / (steps - rising)


def take_step(optimizer: torch.optim.AdamW, *, rate: float) -> None:
    """Clip the gradients' global norm to 1, take a step, and clear the gradients."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], CLIP)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def state_tensors(model: nn.Module, optimizer: torch.optim.AdamW) -> dict[str, Tensor]:
    """Return everything that training changes: weights, buffers, and the optimizer's moments, by name."""
    arrays = {f"weights {name}": parameter.detach() for name, parameter in model.named_parameters()}
    arrays |= {f"buffer {name}": buffer for name, buffer in model.named_buffers()}
    for name, parameter in model.named_parameters():
        state = optimizer.state.get(parameter, {})
        arrays |= {f"{moment} {name}": state[moment] for moment in (*_MOMENTS, "step") if moment in state}
    return {name: tensor.contiguous() for name, tensor in arrays.items()}


def load_state(model: nn.Module, optimizer: torch.optim.AdamW, tensors: Mapping[str, Tensor]) -> None:
    """Load the result of `state_tensors` into a model and an optimizer of the same shape."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"weights {name}"])
            if f"step {name}" in tensors:
                moments = {moment: tensors[f"{moment} {name}"].to(parameter.device, copy=True) for moment in _MOMENTS}
                optimizer.state[parameter] = {"step": tensors[f"step {name}"].clone(), **moments}
        for name, buffer in model.named_buffers():
            buffer.copy_(tensors[f"buffer {name}"])
