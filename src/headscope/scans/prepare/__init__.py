"""Preparation of a run: the corpora, a model or saved maps, and the signature."""
