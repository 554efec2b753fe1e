"""The choice of the device on which a model computes."""

import torch

from headscope.errors import OptionError


def choose_device(device: str) -> torch.device:
    """Turn an option into a torch device.

    Raises:
        OptionError: this machine does not have the device.
    """
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        # Not a Mac's GPU, which lacks float64: attention is summed in float64 on the device.
        return torch.device("cpu")
    if device.partition(":")[0] == "mps":
        raise OptionError(
            "--device mps has no float64, in which attention is summed; choose cpu, which a Mac computes on by default"
        )
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(
            f"--device {device!r} is not there ({str(error).splitlines()[0]}); choose auto, cpu, cuda or cuda:0 ..."
        ) from error
    return chosen
