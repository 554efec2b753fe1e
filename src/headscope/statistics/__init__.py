"""Sums over the stream of tiles, the arithmetic of their results, and the catalogs of statistics and of roles."""
