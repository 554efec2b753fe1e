"""Trained read-outs: what a small classifier can read off attention and vectors (section 5 of Clark et al. 2019)."""
