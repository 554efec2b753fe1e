"""A stand-in for an accelerator on the CPU: it counts the operations that would wait for the device or copy data."""

import collections
import traceback
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode

import headscope
from headscope.attention.host_copy import HostCopy

_PACKAGE = Path(headscope.__file__).parent
_MODELS = Path(transformers.__file__).parent
# The sizes of their outputs are known only after the device has computed them.
_WAIT = {
    "aten::_local_scalar_dense",
    "aten::item",
    "aten::nonzero",
    "aten::masked_select",
    "aten::equal",
    "aten::is_nonzero",
    "aten::bincount",
    "aten::_unique2",
    "aten::unique_consecutive",
    "aten::unique_dim",
    "aten::repeat_interleave.Tensor",
}
_INDEXED = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class Transfers(TorchDispatchMode):
    """Count transfers by the line of the package that causes them.

    Attributes:
        counts: number of calls by name and line in the package: `item attention/scan.py:12`.
    """

    def __init__(self):
        super().__init__()
        self.counts = collections.Counter()

    @property
    def total(self):
        return sum(self.counts.values())

    def tell(self, what):
        """Count one operation, if the package caused it rather than a model of transformers."""
        for frame in reversed(traceback.extract_stack()):
            path = Path(frame.filename)
            if path.is_relative_to(_MODELS):
                return
            if path.is_relative_to(_PACKAGE):
                self.counts[f"{what} {path.relative_to(_PACKAGE).as_posix()}:{frame.lineno}"] += 1
                return

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        schema = func._schema.name
        if schema in _WAIT or f"{schema}.{func._overloadname}" in _WAIT:
            self.tell(schema.removeprefix("aten::"))
        elif schema in _INDEXED and any(
            isinstance(each, torch.Tensor) and each.dtype in (torch.bool, torch.uint8) for each in args[1]
        ):
            self.tell("index by marks")
        return func(*args, **(kwargs or {}))


@contextmanager
def counted_transfers():
    """Count transfers inside the block; yield the `Transfers`."""
    counted = Transfers()

    def told(name, own):
        def call(self, *args, **kwargs):
            counted.tell(name)
            return own(self, *args, **kwargs)

        return call

    def to(self, *args, **kwargs):
        device = kwargs.get("device") or next(
            (each for each in args if isinstance(each, torch.device | str | torch.Tensor)), None
        )
        if device is not None and not kwargs.get("non_blocking"):
            counted.tell("to")
        return own_to(self, *args, **kwargs)

    def made(name, own):
        def call(*args, **kwargs):
            if kwargs.get("device") is not None:
                counted.tell(name)  # the host waits while its numbers are copied
            return own(*args, **kwargs)

        return call

    own_to = torch.Tensor.to
    with ExitStack() as patches:
        for name in ("cpu", "tolist", "cuda", "__array__"):
            patches.enter_context(mock.patch.object(torch.Tensor, name, told(name, getattr(torch.Tensor, name))))
        patches.enter_context(mock.patch.object(torch.Tensor, "to", to))
        for name in ("tensor", "as_tensor"):
            patches.enter_context(mock.patch.object(torch, name, made(name, getattr(torch, name))))
        # On the CPU this has nothing to copy.
        patches.enter_context(mock.patch.object(HostCopy, "fetch", told("fetch", HostCopy.fetch)))
        patches.enter_context(counted)
        yield counted
