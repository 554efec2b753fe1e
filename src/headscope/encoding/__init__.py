"""From words to subwords, and from segments to batches."""
