"""Attention and its row statistics in one pass over blocks of scores, for models that pass its self-test."""
