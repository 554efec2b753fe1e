"""What probes are trained on: sentences, attention and vectors of words, on disk and in batches."""
