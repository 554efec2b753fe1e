"""Words to sub-words, and segments to batches."""
