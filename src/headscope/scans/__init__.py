"""Scans: the declaration of a stage's sums, and their computation: shared passes, checkpoints by shard, workers."""
