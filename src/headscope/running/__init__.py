"""A run measured: its stages, their order, resume, the folder that is written, and shards on a cluster."""
