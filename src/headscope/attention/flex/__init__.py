"""Row statistics from torch's flex attention, which stores no scores: for accelerators and long inputs."""
