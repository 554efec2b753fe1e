"""Norms of each key's part of a head's output, computed from a model's own modules without headscope."""

import numpy as np
import torch

from support.inputs import eager_maps

# The value and output projections of each layer.
PARTS = {
    "bert": lambda model: [(layer.attention.self.value, layer.attention.output.dense) for layer in model.encoder.layer],
    "llama": lambda model: [(layer.self_attn.v_proj, layer.self_attn.o_proj) for layer in model.layers],
}


def lengths_by_hand(model, family, segment):
    """Return attention and `|f_j|` of one segment: each value times its head's rows of W_O, by transformers' modules.

    Args:
        model: model without a task head; in float64 for exact numbers.
        family: family in `PARTS`.
        segment: the input; only its tokens are read.

    Returns:
        The weights of each layer, `[head, row, key]`, and the norms, `[layer, head, key]`.
    """
    values = {}
    hooks = [
        projection.register_forward_hook(lambda _, __, out, at=at: values.__setitem__(at, out[0]))
        for at, (projection, _) in enumerate(PARTS[family](model))
    ]
    maps = eager_maps(model, input_ids=torch.from_numpy(segment.ids)[None])["self"]
    for hook in hooks:
        hook.remove()
    heads = maps[0].shape[1]
    found = []
    for at, (_, output) in enumerate(PARTS[family](model)):
        matrix = output.weight.detach().numpy()  # [stream, head x width]
        width = matrix.shape[1] // heads
        groups = values[at].shape[-1] // width
        by_head = []
        for head in range(heads):
            group = head // (heads // groups)
            own = values[at][:, group * width : (group + 1) * width].numpy()
            rows = matrix[:, head * width : (head + 1) * width]
            by_head.append(np.sqrt(((own @ rows.T) ** 2).sum(1)))
        found.append(by_head)
    return [each[0].numpy() for each in maps], np.array(found)
