"""The effect of heads on the logits of the tokens that they attend to, from weights alone (Elhage et al. 2021).

A head that attends to a token adds its `W_U W_O W_V W_E` to the logits. Where this matrix has positive eigenvalues,
tokens raise their own logits: the head copies.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.attention.model.output_path import Projection, linear_map
from headscope.attention.model.projections import Projections
from headscope.attention.model.tap import AttentionCall, Tap
from headscope.attention.model.unembedding import Unembedding
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import short_inputs
from headscope.models.temporary_changes import hooked

Layer = tuple[str, int]


def ov_copying(
    model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, projections: Projections, unembedding: Unembedding
) -> dict[Layer, Float[Tensor, " head"]] | str:
    """Return the copying score of each head: the sum of eigenvalues' real parts over the sum of their moduli, -1 to 1.

    The nonzero eigenvalues of `W_U W_O W_V W_E`, a matrix of all tokens by all tokens, are those of
    `W_O W_U W_E W_V`, which is as wide as a head. Norms on the path are ignored, except one after the projection.

    Args:
        model: a transformers model with its head.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        projections: projections of every layer.
        unembedding: unembedding of the model.

    Returns:
        The scores by kind and layer, or the reason why there are none, in words.
    """
    embedding = model.get_input_embeddings()  # type: ignore[operator]
    if not isinstance(embedding, nn.Embedding):
        return "its embeddings are not a plain table"
    if embedding.weight.shape != unembedding.weight.shape:
        return "its embeddings are not those of its unembedding's tokens, or not as wide as its stream"
    if any(each.gate != "none" or each.before is not None for each in projections.layers.values()):
        return "a gate or a norm stands between values and projection"
    exact = torch.promote_types(embedding.weight.dtype, torch.float32)
    circuit = (embedding.weight.detach().to(exact).T @ unembedding.weight.to(exact)).double().cpu().numpy()
    watch = _Values(anatomy)
    leaves = (part for part in model.modules() if not list(part.children()))
    hooks = hooked(part.register_forward_hook(watch.keep) for part in leaves)
    with hooks, Tap(model, watch.listen), torch.inference_mode():
        model(**short_inputs(model, anatomy, vocabulary))
    scores = {}
    for site in anatomy.calls:
        if site is None:
            continue
        layer = (site.kind, site.layer)
        values = watch.matrices.get(layer)
        if values is None:
            return f"layer {site.layer + 1}: no linear map makes its values"
        outputs = _output_matrices(projections.layers[layer])
        if outputs is None:
            return f"layer {site.layer + 1}: its output projection is not a linear map"
        of_layer = [copying_score(outputs[head] @ circuit.T @ values[group]) for head, group in enumerate(site.groups)]
        scores[layer] = torch.tensor(of_layer, dtype=torch.float64)
    return scores


def copying_score(matrix: NDArray[np.float64]) -> float:
    """Return the sum of the real parts of a matrix's eigenvalues over the sum of their moduli; 0 if all are 0."""
    eigenvalues = np.linalg.eigvals(matrix)
    total = float(np.abs(eigenvalues).sum())
    return float(eigenvalues.real.sum()) / total if total > 0 else 0.0


class _Values:
    """The matrices that make the values of each layer, found as output columns of a module before the attention.

    Attributes:
        matrices: matrices of each group by kind and layer, `[group, model, width]`; layers without such a module are
            left out.
    """

    def __init__(self, anatomy: Anatomy) -> None:
        self._calls = anatomy.calls
        self._seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}
        self.matrices: dict[Layer, NDArray[np.float64]] = {}

    def keep(self, part: nn.Module, arguments: tuple[Any, ...], answer: Any) -> None:
        """Keep the input and output of a module."""
        if arguments and isinstance(arguments[0], Tensor) and isinstance(answer, Tensor):
            self._seen[part] = arguments[0], answer

    def listen(self, call: AttentionCall) -> Tensor:
        """Answer as eager attention does; find the values among the outputs of modules inside the attention module."""
        site = self._calls[call.order]
        channels = call.value.transpose(1, 2).flatten(0, 1).flatten(1)  # [row, group * width]
        for part in call.module.modules():
            if site is None or part not in self._seen:
                continue
            read, answer = self._seen[part]
            columns = _columns(answer.flatten(0, -2), channels)
            if columns is not None and (matrix := linear_map(part, read.flatten(0, -2)[None])) is not None:
                of_values = matrix[:, columns].double().cpu().numpy()
                groups = call.value.shape[1]
                by_group = of_values.reshape(len(of_values), groups, -1)
                self.matrices[site.kind, site.layer] = by_group.transpose(1, 0, 2)
                break
        self._seen.clear()
        return call.eager()[0]


def _columns(answer: Tensor, channels: Tensor) -> list[int] | None:
    """Return the columns of an output that equal the channels, one by one; None if a channel is not among them."""
    if len(answer) != len(channels):
        return None
    positions = {column.tobytes(): index for index, column in enumerate(_bits(answer))}
    columns = [positions.get(channel.tobytes(), -1) for channel in _bits(channels)]
    return None if min(columns) < 0 else columns


def _bits(rows: Tensor) -> NDArray[np.float64]:
    return np.ascontiguousarray(rows.double().cpu().numpy().T)


def _output_matrices(projection: Projection) -> Float64[np.ndarray, "head width model"] | None:
    """Return the output matrix of each head, multiplied per channel by the norm after the projection."""
    heads, width = projection.factor.shape[:2]
    rows = torch.zeros(1, 2, heads * width, dtype=projection.factor.dtype, device=projection.factor.device)
    parameter = next(projection.module.parameters())
    matrix = linear_map(projection.module, rows.to(parameter.dtype))
    if matrix is None:
        return None
    exact = matrix.double()
    if projection.after is not None:
        exact = projection.after.linear(exact)
    by_head: NDArray[np.float64] = exact.cpu().numpy().reshape(heads, width, -1)
    return by_head
