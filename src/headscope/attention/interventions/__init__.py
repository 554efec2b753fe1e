"""Attention heads changed while a model runs, and what the model then predicts."""
