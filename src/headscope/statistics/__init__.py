"""Accumulators over the stream of tiles, and the arithmetic of their results."""
