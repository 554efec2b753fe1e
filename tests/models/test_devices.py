"""Which device is chosen where there are several, and where there is one that will not do."""

from unittest import mock

import pytest
import torch

from headscope.errors import OptionError
from headscope.models.placement import choose_device


@pytest.mark.parametrize(("cuda", "mps", "chosen"), [(0, 0, "cpu"), (0, 1, "cpu"), (1, 0, "cuda"), (1, 1, "cuda")])
def test_auto_is_a_gpu_or_the_processor_and_never_a_macs_own(cuda, mps, chosen):
    """It has no float64, in which attention is summed."""
    with (
        mock.patch.object(torch.cuda, "is_available", return_value=bool(cuda)),
        mock.patch.object(torch.backends.mps, "is_available", return_value=bool(mps)),
    ):
        assert choose_device("auto") == torch.device(chosen)


@pytest.mark.parametrize("device", ["mps", "mps:0"])
def test_a_macs_own_is_refused_with_the_reason(device):
    with pytest.raises(OptionError, match=r"^--device mps has no float64, in which attention is summed; choose cpu, "):
        choose_device(device)
