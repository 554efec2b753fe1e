"""Measurement of a run: its stages and their order, resuming, the run folder, and shards on a cluster."""
