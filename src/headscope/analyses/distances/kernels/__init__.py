"""The divergence between all pairs of heads, as fast as the processor allows."""
