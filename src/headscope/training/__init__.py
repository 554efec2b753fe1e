"""Masked-LM training of a model to look at, with checkpoints along the way."""
