"""A run whose shards are computed on a cluster."""
