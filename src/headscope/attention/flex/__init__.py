"""Row statistics from torch's flex attention, which writes no scores: for accelerators and long inputs."""
