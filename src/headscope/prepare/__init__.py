"""What a run measures, made ready: the corpora, a model or saved maps, and the signature."""
