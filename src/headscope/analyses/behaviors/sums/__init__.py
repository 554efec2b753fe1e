"""Sums of weights and of norm-weighted attention over the keys of each behavior."""
