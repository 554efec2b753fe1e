"""Scans: what a stage sums up, declared, and how it is run: one pass shared, shards with checkpoints, workers."""
