"""Flex attention on a processor, as its definition says: not compiled, with all scores in memory."""

from contextlib import contextmanager
from unittest import mock

from torch.nn.attention import flex_attention as flex


@contextmanager
def flex_on_cpu():
    """Within the block flex attention computes on the CPU, and gives the largest score there, too."""
    options_of = flex._apply_kernel_options

    def with_largest(query, key, value, return_lse, kernel_options, return_aux=None):
        # torch refuses to give the largest score on a CPU, though the definition that it computes there has it.
        without = return_aux._replace(max_scores=False)
        return {**options_of(query, key, value, return_lse, kernel_options, without), "OUTPUT_MAX": True}

    with (
        mock.patch.object(flex, "_apply_kernel_options", with_largest),
        mock.patch.object(flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True),
    ):
        yield
