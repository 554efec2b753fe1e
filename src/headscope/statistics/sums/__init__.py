"""Sums over the stream of tiles: accumulators, sums by group of documents, means of segments, samples by hash."""
