"""The training data of probes: sentences, attention and vectors of words, on disk and in batches."""
