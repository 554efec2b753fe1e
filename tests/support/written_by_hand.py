"""What heads write of every key, worked out from a model's own modules and nothing of headscope."""

import numpy as np
import torch

from support.inputs import eager_maps

# Where the values and the output projection of a layer are.
PARTS = {
    "bert": lambda model: [(layer.attention.self.value, layer.attention.output.dense) for layer in model.encoder.layer],
    "llama": lambda model: [(layer.self_attn.v_proj, layer.self_attn.o_proj) for layer in model.layers],
}


def lengths_by_hand(model, family, segment):
    """Attention and `|f_j|` of one segment, from transformers' own modules: each value times its head's rows of W_O.

    Args:
        model: without a head for a task; in float64 for exact numbers.
        family: of `PARTS`.
        segment: the input; its tokens alone are read.

    Returns:
        The weights of each layer, `[head, row, key]`, and the lengths, `[layer, head, key]`.
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
