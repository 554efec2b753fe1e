"""Scans: options, corpora and model of a run, and its shared passes over the text, with checkpoints by shard."""
