"""Computation of a run's shards on a cluster."""
