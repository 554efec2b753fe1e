"""How probes are trained: Adam whose rate falls, and Newton for attention alone."""
