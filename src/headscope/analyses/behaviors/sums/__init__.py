"""Sums over the keys where behaviors put weight, of weights and of what is written."""
