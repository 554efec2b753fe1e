"""Hooks go when their block ends, however it ends, and when one of them cannot be registered."""

import pytest
import torch
from torch import nn

from headscope.models.temporary_changes import hooked


def test_hooks_go_when_the_block_ends():
    parts, seen = [nn.Identity(), nn.Identity()], []
    with hooked(part.register_forward_hook(lambda *_: seen.append(1)) for part in parts):
        for part in parts:
            part(torch.zeros(1))
        assert len(seen) == 2
    parts[0](torch.zeros(1))
    assert len(seen) == 2


def test_they_go_after_an_error():
    part = nn.Identity()
    with pytest.raises(RuntimeError), hooked([part.register_forward_hook(lambda *_: None)]):
        raise RuntimeError
    assert not part._forward_hooks


def test_those_before_one_that_fails_go_too():
    part = nn.Identity()

    def handles():
        yield part.register_forward_hook(lambda *_: None)
        raise RuntimeError

    with pytest.raises(RuntimeError), hooked(handles()):
        pass
    assert not part._forward_hooks
