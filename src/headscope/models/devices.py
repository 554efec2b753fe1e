"""Where a model computes."""

import torch

from headscope.errors import OptionError


def choose_device(device: str) -> torch.device:
    """Turn an option into a torch device.

    Raises:
        OptionError: no such device here.
    """
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise OptionError(
            f"--device {device!r} is not there ({str(error).splitlines()[0]}); "
            "choose auto, cpu, cuda, cuda:0 ... or mps"
        ) from error
    return chosen
