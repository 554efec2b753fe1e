"""What heads write, along with a pass: the lengths of keys' writes, of rows' outputs and of the stream that is read."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from headscope.attention.stream import StreamNorms
from headscope.attention.tap import AttentionCall
from headscope.attention.written import Written, key_norms, output_norms
from headscope.models.anatomy import CallSite
from headscope.models.projections import Projections


class Writing:
    """What a model's heads write, while it runs.

    Args:
        model: a transformers model.
        projections: where the output of each layer's attention goes.
    """

    def __init__(self, model: nn.Module, projections: Projections) -> None:
        self.projections = projections
        self._streams = StreamNorms(model)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Watch the stream for as long as the `with` block lasts."""
        with self._streams.listening():
            yield

    def norms(self, call: AttentionCall, site: CallSite) -> Tensor | None:
        """Return how long what each head writes of each key is, `[batch, head, key]`; None where it is not known."""
        factor = self.projections.factors.get((site.kind, site.layer))
        return None if factor is None else key_norms(call.value, factor)

    def written(
        self,
        call: AttentionCall,
        site: CallSite,
        *,
        rows: slice,
        output: Tensor,
        norms: Tensor,
        statistics: Tensor | None,
    ) -> Written:
        """Return what some rows of a layer write.

        Args:
            call: of the attention function.
            site: whose layer it is.
            rows: on the query axis.
            output: of these rows, `[batch, row, head, width]`.
            norms: from `norms`.
            statistics: of what is written, where the pass made them along with its softmax.
        """
        stream = self._streams.of(call.module)
        fits = stream is not None and stream.shape == (call.query.shape[0], call.query.shape[2])
        return Written(
            keys=norms,
            outputs=output_norms(output, self.projections.factors[site.kind, site.layer]),
            stream=stream[:, rows] if stream is not None and fits else None,
            given_statistics=statistics,
        )
