"""During tests, calls whose arguments violate the annotations are refused in every module, including array shapes."""

import importlib
import inspect
import sys

import pytest
import torch
from jaxtyping import Int

from headscope.attention.row_statistics import class_indicators
from headscope.statistics.inference.confidence import resampling_weights
from support.checked_calls import checked, modules_with_shapes


def test_a_call_of_the_wrong_type_is_refused():
    assert "headscope.statistics.inference.confidence" not in modules_with_shapes()
    with pytest.raises(Exception, match="groups"):
        resampling_weights("8")


def test_an_array_of_the_wrong_shape_is_refused():
    classes = torch.zeros(2, 3, dtype=torch.int64)
    assert class_indicators(classes, dtype=torch.float32).shape[:2] == (2, 3)
    with pytest.raises(TypeError):
        class_indicators(classes[None], dtype=torch.float32)


def test_every_module_that_names_shapes_is_checked_for_them():
    """Every function with jaxtyping annotations is wrapped by the shape check."""
    seen = 0
    for name in modules_with_shapes():
        if "jaxtyping" not in inspect.getsource(module := importlib.import_module(name)):
            continue
        for own in vars(module).values():
            if inspect.isfunction(own) and own.__module__ == name and "jaxtyping" in repr(own.__annotations__):
                assert hasattr(own, "__wrapped__"), f"{name}.{own.__name__}"
                seen += 1
    assert seen > 10
    assert sys.modules["headscope.attention.row_statistics"].class_indicators is class_indicators


def test_axes_of_one_name_have_one_size():
    @checked
    def differences(
        queries: Int[torch.Tensor, "batch query"], keys: Int[torch.Tensor, "batch key"]
    ) -> Int[torch.Tensor, "batch query key"]:
        return queries[:, :, None] - keys[:, None]

    two, three = (torch.zeros(size, 4, dtype=torch.int64) for size in (2, 3))
    assert differences(two, two).shape == (2, 4, 4)
    assert differences(three, three).shape == (3, 4, 4)
    with pytest.raises(TypeError, match="keys"):
        differences(two, three)
